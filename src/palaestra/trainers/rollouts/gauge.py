"""The load of rollouts, for the log of a run."""

import asyncio
from collections.abc import Mapping

from palaestra.record import record
from palaestra.trainers.rollouts.pool import RolloutPool


@record
class LoadReading:
    """A reading of the load; shares refer to the time since the previous reading."""

    seconds: float
    """Seconds since the previous reading."""
    engine_busy: float
    """The share of this time that the engine spent on the model."""
    tool_wait: float
    """The share of the trajectories' playing time that they spent waiting for their worlds."""
    under_way: int
    """The number of trajectories that have a place."""
    ceiling: int
    """The maximum number of trajectories that may have a place."""
    pending: int
    """The number of groups that were begun and not taken."""
    buffered: int
    """The number of pending groups that are complete."""
    staleness: Mapping[int, int]
    """The number of groups taken so far, by their age in versions when they were taken."""


class Meter:
    """Computes shares from running totals.

    Args:
        pool: The pool to measure.
    """

    def __init__(self, pool: RolloutPool) -> None:
        self._pool = pool
        self._at = asyncio.get_running_loop().time()
        self._busy = pool.stats().busy_seconds
        self._spent = pool.times()

    def read(self, *, pending: int, buffered: int, staleness: Mapping[int, int]) -> LoadReading:
        """Take a reading; the first covers the time since the meter was created."""
        now, busy, spent = asyncio.get_running_loop().time(), self._pool.stats().busy_seconds, self._pool.times()
        gauge = LoadReading(
            seconds=now - self._at,
            engine_busy=_share(busy - self._busy, now - self._at),
            tool_wait=_share(spent.world - self._spent.world, spent.played - self._spent.played),
            under_way=self._pool.under_way,
            ceiling=self._pool.ceiling,
            pending=pending,
            buffered=buffered,
            staleness=dict(staleness),
        )
        self._at, self._busy, self._spent = now, busy, spent
        return gauge


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
