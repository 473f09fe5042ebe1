"""How rollouts are doing, for the log of a run."""

import asyncio
from collections.abc import Mapping

from palaestra.record import record
from palaestra.trainers.rollouts.pool import RolloutPool


@record
class LoadReading:
    """A reading. Shares are since the one before."""

    seconds: float
    """Since the reading before."""
    engine_busy: float
    """The share of that time that the engine spent on the model."""
    tool_wait: float
    """The share of the trajectories' own time that they spent waiting for their worlds."""
    under_way: int
    """Trajectories that have a place."""
    ceiling: int
    """Trajectories that may have one."""
    pending: int
    """Groups that were begun and not taken."""
    buffered: int
    """Those of them that are complete."""
    staleness: Mapping[int, int]
    """How many groups so far were so many versions old when they were taken."""


class Meter:
    """Reads shares off running totals.

    Args:
        pool: Whose.
    """

    def __init__(self, pool: RolloutPool) -> None:
        self._pool = pool
        self._at = asyncio.get_running_loop().time()
        self._busy = pool.stats().busy_seconds
        self._spent = pool.times()

    def read(self, *, pending: int, buffered: int, staleness: Mapping[int, int]) -> LoadReading:
        """A reading, the first one since the meter was made."""
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
