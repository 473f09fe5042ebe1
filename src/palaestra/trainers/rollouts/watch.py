"""What each trajectory under way waits for, and for how long; time-out messages and gauges read it."""

import asyncio
from collections import defaultdict
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Literal, TypeAlias

from palaestra.errors import InfrastructureError
from palaestra.trainers.rollouts.job import RolloutJob
from palaestra.trainers.rollouts.world import RolloutWorld

Waiting: TypeAlias = Literal["a place", "nothing", "a fresh world", "its world", "the engine", "a fault to pass"]
"""What a trajectory waits for; its own computations are always short."""


class RolloutStatus:
    """The status of a trajectory under way."""

    def __init__(self, job: RolloutJob) -> None:
        self.job = job
        self.waiting: Waiting = "a place"
        self.since = _now()
        self._spent: defaultdict[Waiting, float] = defaultdict(float)

    @contextmanager
    def waits(self, what: Waiting) -> Generator[None]:
        """Record that the trajectory waits for `what` inside the block."""
        before = self.waiting
        self._turn_to(what)
        try:
            yield
        finally:
            self._turn_to(before)

    def take_place(self) -> None:
        """Record that the trajectory has got its place."""
        self._turn_to("nothing")

    def _turn_to(self, what: Waiting) -> None:
        now = _now()
        self._spent[self.waiting] += now - self.since
        self.waiting, self.since = what, now

    def seconds(self, *what: Waiting) -> float:
        """The total seconds that it has waited for any of `what`."""
        current = _now() - self.since if self.waiting in what else 0.0
        return current + sum(self._spent[one] for one in what)


def waits(flights: Iterable[RolloutStatus]) -> str:
    """A text that states how many trajectories wait for each thing, and which of them has waited longest."""
    by_what: dict[Waiting, list[RolloutStatus]] = {}
    for flight in flights:
        by_what.setdefault(flight.waiting, []).append(flight)
    now = _now()
    parts: list[str] = []
    for what, waiting in by_what.items():
        longest = min(waiting, key=lambda flight: flight.since)
        verb = "waits" if len(waiting) == 1 else "wait"
        parts.append(f"{len(waiting)} {verb} for {what} ({longest.job.trajectory} for {now - longest.since:.1f} s)")
    return ", ".join(parts) or "nobody waits for anything"


class WatchedWorld:
    """A world of the pool, and whether it can still be used.

    Args:
        world: The world; players call it within `asking`.
    """

    def __init__(self, world: RolloutWorld) -> None:
        self.world = world
        self.flight: RolloutStatus | None = None
        """The trajectory that is played in the world."""
        self.fault: InfrastructureError | None = None
        """The world's failure, if it failed."""
        self.sound = True
        """Whether another episode can begin in the world: no call failed or was abandoned half-way."""

    @contextmanager
    def asking(self) -> Generator[None]:
        """Record that the world is called inside the block."""
        assert self.flight is not None, "a world is asked by whoever plays in it"
        self.sound = False
        with self.flight.waits("its world"):
            try:
                yield
            except InfrastructureError as fault:
                self.fault = fault
                raise
        self.sound = True


def _now() -> float:
    return asyncio.get_running_loop().time()
