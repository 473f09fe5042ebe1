"""Schedules decide what a step of the engine works on: free, recorded, or replayed.

The sampled tokens depend on what the engine received before each step. In live runs that depends on the speed of
worlds. A record of it, with one JSON line for each step that received something, makes a run repeatable to the bit.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Protocol

import orjson
from pydantic import TypeAdapter, ValidationError

from palaestra.errors import RecordError, ReplayError
from palaestra.record import record
from palaestra.trainers.engines.engine import InFlight
from palaestra.validation import plain_rule


@record
class TurnKey:
    """The identity of a turn in a record."""

    trajectory: str
    place: int
    """The number of tokens of its context."""
    check: int
    """A checksum of these tokens."""

    def __str__(self) -> str:
        return f"a turn of trajectory {self.trajectory!r} at place {self.place} (checksum {self.check:08x})"


@record
class Withdrawal:
    """The end of a turn that was abandoned."""

    turn: TurnKey
    late: bool
    """Whether its time-out ended it, not its caller."""


@record
class WeightUpdate:
    """New weights for the engine."""

    version: int
    in_flight: InFlight


@record
class EngineArrivals:
    """The requests that an engine may handle before its next step."""

    waiting: tuple[TurnKey, ...] = ()
    """Waiting turns, in order of arrival."""
    room: int = 0
    """How many of them fit, in order."""
    abandoned: tuple[TurnKey, ...] = ()
    """Waiting turns that were abandoned."""
    running: int = 0
    """Running turns."""
    withdrawn: tuple[Withdrawal, ...] = ()
    """Running turns that were abandoned."""
    released: tuple[str, ...] = ()
    """Trajectories that have ended."""
    update: WeightUpdate | None = None
    """The first waiting update of the weights."""
    paused: bool = False


@record
class EnginePlan:
    """The engine's next actions, in this order."""

    forgotten: tuple[TurnKey, ...] = ()
    """Abandoned turns that need not be kept any longer."""
    withdrawn: tuple[Withdrawal, ...] = ()
    released: tuple[str, ...] = ()
    update: WeightUpdate | None = None
    admitted: tuple[TurnKey, ...] = ()
    draws: bool = True
    """Whether running turns get tokens after that."""

    @property
    def idle(self) -> bool:
        """Whether it has no effect on sampled tokens."""
        return not (self.withdrawn or self.released or self.update or self.admitted)


class EngineSchedule(Protocol):
    """Called before every step, and for each new request while the engine is idle."""

    def before(self, step: int, arrived: EngineArrivals) -> EnginePlan | None:
        """The plan for step number `step`; `None` to wait for more requests.

        Raises:
            ReplayError: the requests can no longer lead to the recorded step.
        """
        ...


class FreeSchedule:
    """Handles everything at once; turns are admitted in order of arrival, as far as they fit."""

    def before(self, step: int, arrived: EngineArrivals) -> EnginePlan:
        """See `EngineSchedule`."""
        del step
        update = arrived.update
        held = update is not None and update.in_flight == "wait" and arrived.running > len(arrived.withdrawn)
        return EnginePlan(
            forgotten=arrived.abandoned,
            withdrawn=arrived.withdrawn,
            released=arrived.released,
            update=None if held else update,
            admitted=() if held or arrived.paused else arrived.waiting[: arrived.room],
            draws=not arrived.paused,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """A step of a record."""

    step: int
    plan: EnginePlan
    replica: int = 0
    """The number of the engine, if there are several."""


_LINE: TypeAdapter[_Line] = TypeAdapter(_Line)


class ScheduleRecorder:
    """Records the plans of another schedule.

    Args:
        schedule: The other schedule.
        sink: Called with each line, including its newline; if it fails, the engine fails.
        replica: The number of the engine, if several write to one record.
    """

    def __init__(self, schedule: EngineSchedule, sink: Callable[[bytes], object], *, replica: int = 0) -> None:
        self._schedule = schedule
        self._sink = sink
        self._replica = replica

    def before(self, step: int, arrived: EngineArrivals) -> EnginePlan | None:
        """See `EngineSchedule`."""
        plan = self._schedule.before(step, arrived)
        if plan is not None and not plan.idle:
            line = _Line(step=step, plan=replace(plan, forgotten=()), replica=self._replica)
            self._sink(orjson.dumps(line) + b"\n")
        return plan


class ReplaySchedule:
    """Replays a record; after its end, it continues like a free schedule.

    Every step is held until the turns admitted before it have been requested, and its weights have been given. Turns
    are withdrawn and trajectories released at the recorded step, whenever that is requested here.

    Args:
        lines: The lines of the record.
        replica: The number of this engine, if several wrote to the record.

    Raises:
        RecordError: a line cannot be read.
    """

    def __init__(self, lines: Iterable[bytes], *, replica: int = 0) -> None:
        read = [line for line in map(_read, lines, count(1)) if line.replica == replica]
        self._plans = {line.step: line.plan for line in read}
        self._end = max(self._plans, default=-1)
        self._updates = deque(line.plan.update for line in read if line.plan.update is not None)
        self._ahead: dict[str, deque[TurnKey | None]] = {}
        """The rest of each trajectory: its turns, and `None` for its release."""
        for line in read:
            for name in line.plan.released:
                self._ahead.setdefault(name, deque()).append(None)
            for turn in line.plan.admitted:
                self._ahead.setdefault(turn.trajectory, deque()).append(turn)
        self._free = FreeSchedule()

    def before(self, step: int, arrived: EngineArrivals) -> EnginePlan | None:
        """See `EngineSchedule`."""
        if step > self._end:
            return self._free.before(step, arrived)
        self._check(step, arrived)
        plan = self._plans.get(step, EnginePlan())
        here = Counter(arrived.waiting) + Counter(arrived.abandoned)
        if not Counter(plan.admitted) <= here or (plan.draws and arrived.paused):
            return None
        if plan.update is not None:
            if arrived.update is None:
                return None
            self._updates.popleft()
        for name in (*plan.released, *(turn.trajectory for turn in plan.admitted)):
            self._ahead[name].popleft()
        forgotten = (Counter(arrived.abandoned) - Counter(plan.admitted)).elements()
        return replace(plan, forgotten=tuple(turn for turn in forgotten if turn not in self._of(turn.trajectory)))

    def _of(self, trajectory: str) -> Sequence[TurnKey | None]:
        return self._ahead.get(trajectory, ())

    def _check(self, step: int, arrived: EngineArrivals) -> None:
        """Refuse requests that contradict the record; those that it does not name may wait for its end."""
        for turn in arrived.waiting:
            left = [one for one in self._of(turn.trajectory) if one is not None]
            if left and turn not in left:
                raise ReplayError(
                    f"step {step}: the record has {left[0]}, and {turn} was asked for: the run has gone another way. "
                    "Replay with the worlds, tasks, weights and settings that were recorded"
                )
        for name in arrived.released:
            coming = next(iter(self._of(name)), None)
            if coming is not None and coming not in (*arrived.waiting, *arrived.abandoned):
                raise ReplayError(
                    f"step {step}: the record has {coming}, and the trajectory was released before it: the run has "
                    "gone another way. Replay with the worlds, tasks, weights and settings that were recorded"
                )
        if arrived.update is not None and self._updates and arrived.update != self._updates[0]:
            raise ReplayError(
                f"step {step}: the record has {self._updates[0]} next, and {arrived.update} was given; "
                "replay with the learner that was recorded"
            )
        if step not in self._plans and not arrived.running:
            raise ReplayError(
                f"step {step}: turns were under way here when the run was recorded, and none is: they have ended "
                "earlier. Replay with the weights and settings that were recorded"
            )


def recorded_placements(lines: Iterable[bytes]) -> dict[str, int]:
    """The replica that sampled each trajectory, by its id.

    Args:
        lines: The lines of a record of several engines.

    Raises:
        RecordError: a line cannot be read.
    """
    read = map(_read, lines, count(1))
    return {turn.trajectory: line.replica for line in read for turn in line.plan.admitted}


def _read(line: bytes, number: int) -> _Line:
    try:
        return _LINE.validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the line"
        raise RecordError(
            f"line {number} of the schedule: {where}: {plain_rule(first['msg'])}; a line is one step as JSON"
        ) from error
