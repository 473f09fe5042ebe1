"""What each trajectory under way is waiting for, and for how long it has: what a time-out says, and a gauge adds up."""

import asyncio
from collections import defaultdict
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Literal, TypeAlias

from palaestra.errors import InfrastructureError
from palaestra.trainers.rollouts.job import RolloutJob
from palaestra.trainers.rollouts.world import RolloutWorld

Waiting: TypeAlias = Literal["a place", "nothing", "a fresh world", "its world", "the engine", "a fault to pass"]
"""What a trajectory waits for; it is itself never busy for long."""


class RolloutStatus:
    """A trajectory under way, as it looks from outside."""

    def __init__(self, job: RolloutJob) -> None:
        self.job = job
        self.waiting: Waiting = "a place"
        self.since = _now()
        self._spent: defaultdict[Waiting, float] = defaultdict(float)

    @contextmanager
    def waits(self, what: Waiting) -> Generator[None]:
        """It waits for this meanwhile."""
        before = self.waiting
        self._turn_to(what)
        try:
            yield
        finally:
            self._turn_to(before)

    def take_place(self) -> None:
        """It has got its place."""
        self._turn_to("nothing")

    def _turn_to(self, what: Waiting) -> None:
        now = _now()
        self._spent[self.waiting] += now - self.since
        self.waiting, self.since = what, now

    def seconds(self, *what: Waiting) -> float:
        """How long it has waited for these, all together."""
        current = _now() - self.since if self.waiting in what else 0.0
        return current + sum(self._spent[one] for one in what)


def waits(flights: Iterable[RolloutStatus]) -> str:
    """Who waits for what, in words: how many trajectories for each thing, and the longest of them by name."""
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
    """A world of the pool, and whether it is still of use.

    Args:
        world: What answers; whoever plays in it asks it within `asked`.
    """

    def __init__(self, world: RolloutWorld) -> None:
        self.world = world
        self.flight: RolloutStatus | None = None
        """Who plays in it."""
        self.fault: InfrastructureError | None = None
        """How it failed."""
        self.sound = True
        """Whether another episode can begin in it: no call failed, or was given up half-way."""

    @contextmanager
    def asking(self) -> Generator[None]:
        """It is being asked for something."""
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
