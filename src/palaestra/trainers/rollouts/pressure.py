"""The number of trajectories under way at once: as many as the engine carries, estimated from its statistics.

Too many trajectories evict each other's keys and values, or wait and grow stale; too few leave the engine idle. The
right number depends on the length of trajectories and the speed of their worlds, which are not known in advance. So the
pool adapts a ceiling once per round; a round is as many turns as there are trajectories under way. The ceiling doubles
until a round in which the engine was mostly overloaded. From then on it rises by a step after every round that the
engine carried, and falls to three quarters after every other round (additive increase, multiplicative decrease: Chiu
and Jain 1989, as in TCP). No clock is read: equal turns with equal statistics give equal ceilings.
"""

import asyncio
from collections import deque
from collections.abc import Callable

from palaestra.record import record
from palaestra.trainers.engines.engine import EngineStats

_FIRST = 16
"""The initial ceiling."""
_HIGH_WATER = 0.9
"""The share of the engine's memory that trajectories may take; the rest is for their growth."""
_QUEUE = 0.25
"""The allowed number of waiting turns per running turn: a short queue keeps the engine full, a long one only waits."""
_CUT = 0.75
_RISE = 32
"""A step is the maximum number of places divided by this number."""


@record
class PressureState:
    """The state of the search for the ceiling."""

    ceiling: int
    probing: bool
    """Whether the ceiling still doubles."""
    turns: int
    """The number of turns in this round."""
    overloaded: int
    """The number of these turns after which the engine was overloaded."""


class Pressure:
    """The search for the ceiling.

    Args:
        agents: The maximum ceiling.
    """

    def __init__(self, agents: int) -> None:
        self._agents = agents
        self.ceiling = min(agents, _FIRST)
        self._probing = True
        self._turns = 0
        self._overloaded = 0
        self._lifted = False

    def lift(self) -> None:
        """Set the ceiling to its maximum for good, since something else limits the turns, such as a record."""
        self.ceiling, self._lifted = self._agents, True

    def state(self) -> PressureState:
        """The state of the search, for `restore`."""
        return PressureState(
            ceiling=self.ceiling, probing=self._probing, turns=self._turns, overloaded=self._overloaded
        )

    def restore(self, state: PressureState) -> None:
        """Continue from a state."""
        if self._lifted:
            return
        self.ceiling = min(self._agents, state.ceiling)
        self._probing, self._turns, self._overloaded = state.probing, state.turns, state.overloaded

    def turn(self, stats: EngineStats, under_way: int) -> None:
        """Count a sampled turn, with the engine's statistics after it."""
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
        """Whether another trajectory may begin; the first always may."""
        if under_way == 0:
            return True
        if self._lifted:
            return under_way < self.ceiling
        return under_way < self.ceiling and not _is_overloaded(stats, stats.resident / under_way)


def _is_overloaded(stats: EngineStats, more: float) -> bool:
    """Whether the engine would be overloaded if `more` tokens were added."""
    full = 0 < stats.capacity * _HIGH_WATER < stats.resident + more
    return full or stats.waiting > _QUEUE * stats.running


class AdmissionQueue:
    """The queue in which trajectories wait for a place, first in, first out.

    Args:
        agents: The maximum number of places.
        stats: Returns the engine's current statistics.
    """

    def __init__(self, agents: int, stats: Callable[[], EngineStats]) -> None:
        self.pressure = Pressure(agents)
        self._stats = stats
        self.inside = 0
        self._line: deque[asyncio.Future[None]] = deque()
        self._onlookers: list[asyncio.Future[None]] = []

    def queue(self) -> "asyncio.Future[None]":
        """Join the queue; the future is done once the caller has the place, and cancelling it leaves the queue."""
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._line.append(place)
        self._admit()
        return place

    async def room(self) -> None:
        """Wait until a newcomer would get a place at once."""
        seen: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._onlookers.append(seen)
        self._admit()
        await seen

    def leave(self, place: "asyncio.Future[None]") -> None:
        """Give the place back, or leave the queue."""
        if place.done() and not place.cancelled():
            self.inside -= 1
        place.cancel()
        self._admit()

    def turn(self) -> None:
        """Count a sampled turn, and admit trajectories if there is room now."""
        self.pressure.turn(self._stats(), self.inside)
        self._admit()

    def _admit(self) -> None:
        while self._line and (self._line[0].done() or self._has_room()):
            place = self._line.popleft()
            if not place.done():  # a cancelled future has left the queue
                self.inside += 1
                place.set_result(None)
        if self._onlookers and self._has_room():  # then the queue is empty
            onlookers, self._onlookers = self._onlookers, []
            for seen in onlookers:
                if not seen.done():
                    seen.set_result(None)

    def _has_room(self) -> bool:
        return self.pressure.room(self._stats(), self.inside)
