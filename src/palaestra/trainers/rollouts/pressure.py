"""How many trajectories are under way at once: as many as the engine carries, found out from how it is doing.

Too many evict each other's keys and values, or stand in line and grow stale; too few leave it idle. What it can carry
depends on how long trajectories become and how long their worlds take, which nobody knows beforehand. So there is a
ceiling, which moves once a round, a round being as many turns as there are trajectories under way: it doubles until a
round in which the engine was mostly overloaded, and from then on rises by a step after every round that it carried, and
falls to three quarters after every one that it did not (additive increase, multiplicative decrease: Chiu and Jain 1989,
as in TCP). No clock is read: equal turns with equal statistics give equal ceilings.
"""

import asyncio
from collections import deque
from collections.abc import Callable

from palaestra.record import record
from palaestra.trainers.engines.engine import EngineStats

_FIRST = 16
"""The ceiling to begin with."""
_HIGH_WATER = 0.9
"""The share of the engine's memory that trajectories may take; the rest is for how they grow."""
_QUEUE = 0.25
"""Turns that may stand in line for each that is drawn: a short line keeps the engine full, a longer one only waits."""
_CUT = 0.75
_RISE = 32
"""One in so many of all places is a step."""


@record
class PressureState:
    """Where the search for the ceiling stands."""

    ceiling: int
    probing: bool
    """Whether it still doubles."""
    turns: int
    """Of this round."""
    overloaded: int
    """Those of them behind which the engine was."""


class Pressure:
    """The ceiling.

    Args:
        agents: What it never exceeds.
    """

    def __init__(self, agents: int) -> None:
        self._agents = agents
        self.ceiling = min(agents, _FIRST)
        self._probing = True
        self._turns = 0
        self._overloaded = 0
        self._lifted = False

    def lift(self) -> None:
        """Let as many be under way as may ever be: something else holds turns back, such as a record."""
        self.ceiling, self._lifted = self._agents, True

    def state(self) -> PressureState:
        """For `restore`."""
        return PressureState(
            ceiling=self.ceiling, probing=self._probing, turns=self._turns, overloaded=self._overloaded
        )

    def restore(self, state: PressureState) -> None:
        """Go on from there."""
        if self._lifted:
            return
        self.ceiling = min(self._agents, state.ceiling)
        self._probing, self._turns, self._overloaded = state.probing, state.turns, state.overloaded

    def turn(self, stats: EngineStats, under_way: int) -> None:
        """A turn was drawn, and this is how the engine is doing behind it."""
        if self._lifted:
            return
        self._turns += 1
        self._overloaded += _is_overloaded(stats, 0)
        if self._turns < under_way:
            return
        if 2 * self._overloaded > self._turns:
            self.ceiling = max(1, int(_CUT * min(self.ceiling, under_way)))
            self._probing = False
        elif under_way >= self.ceiling:
            step = self.ceiling if self._probing else max(1, self._agents // _RISE)
            self.ceiling = min(self._agents, self.ceiling + step)
        self._turns = self._overloaded = 0

    def room(self, stats: EngineStats, under_way: int) -> bool:
        """Whether one more trajectory may begin; the first always may."""
        if under_way == 0:
            return True
        if self._lifted:
            return under_way < self.ceiling
        return under_way < self.ceiling and not _is_overloaded(stats, stats.resident / under_way)


def _is_overloaded(stats: EngineStats, more: float) -> bool:
    """Whether the engine has more than it can do, were `more` tokens added."""
    full = 0 < stats.capacity * _HIGH_WATER < stats.resident + more
    return full or stats.waiting > _QUEUE * stats.running


class AdmissionQueue:
    """Where trajectories wait for a place, first come, first served.

    Args:
        agents: Places there are at most.
        stats: How the engine is doing now.
    """

    def __init__(self, agents: int, stats: Callable[[], EngineStats]) -> None:
        self.pressure = Pressure(agents)
        self._stats = stats
        self.inside = 0
        self._line: deque[asyncio.Future[None]] = deque()
        self._onlookers: list[asyncio.Future[None]] = []

    def queue(self) -> "asyncio.Future[None]":
        """Stand in line; the future is done once the place is yours, and cancelling it leaves the line."""
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._line.append(place)
        self._admit()
        return place

    async def room(self) -> None:
        """Wait until somebody who came now would get a place at once."""
        seen: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._onlookers.append(seen)
        self._admit()
        await seen

    def leave(self, place: "asyncio.Future[None]") -> None:
        """Give the place back, or leave the line."""
        if place.done() and not place.cancelled():
            self.inside -= 1
        place.cancel()
        self._admit()

    def turn(self) -> None:
        """A turn was drawn: there may be room now."""
        self.pressure.turn(self._stats(), self.inside)
        self._admit()

    def _admit(self) -> None:
        while self._line and (self._line[0].done() or self._has_room()):
            place = self._line.popleft()
            if not place.done():  # who was cancelled has left the line
                self.inside += 1
                place.set_result(None)
        if self._onlookers and self._has_room():  # nobody is in line, then
            onlookers, self._onlookers = self._onlookers, []
            for seen in onlookers:
                if not seen.done():
                    seen.set_result(None)

    def _has_room(self) -> bool:
        return self.pressure.room(self._stats(), self.inside)
