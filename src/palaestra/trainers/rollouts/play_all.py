"""Jobs that are all waited for, among whatever else their pool plays."""

import asyncio
from collections.abc import Sequence

from palaestra.errors import WaitError
from palaestra.trainers.rollouts.job import RolloutJob
from palaestra.trainers.rollouts.pool import RolloutPool, RolloutResult


async def play_all(pool: RolloutPool, jobs: Sequence[RolloutJob], *, patience: float | None) -> list[RolloutResult]:
    """Play every job to its end; those under way are ended where one cannot be.

    Args:
        pool: What plays them, in the order in which they are given.
        jobs: Which.
        patience: Seconds that may pass without any of them ending; `None` waits on.

    Returns:
        What came of each, in the order of `jobs`.

    Raises:
        WaitError: they did; the message says who waited for what.
        EngineError: the engine did not recover from a fault.
        InfrastructureError: the pool is closed.
    """
    tasks = [pool.submit(job) for job in jobs]
    left = set(tasks)
    try:
        while left:
            done, left = await asyncio.wait(left, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                raise WaitError(
                    f"for {patience:g} s none of {len(left)} trajectories ended; of those under way, {pool.waits()}"
                )
            for task in done:
                task.result()
    finally:
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left)
    return [task.result() for task in tasks]
