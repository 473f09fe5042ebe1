"""Playing a list of jobs in a pool and waiting for all of them; the pool may play others too."""

import asyncio
from collections.abc import Sequence

from palaestra.errors import WaitError
from palaestra.trainers.rollouts.job import RolloutJob
from palaestra.trainers.rollouts.pool import RolloutPool, RolloutResult


async def play_all(pool: RolloutPool, jobs: Sequence[RolloutJob], *, patience: float | None) -> list[RolloutResult]:
    """Play every job to its end; if a job fails, those under way are cancelled.

    Args:
        pool: The pool that plays the jobs, in the given order.
        jobs: The jobs.
        patience: The maximum seconds without any job ending; `None` waits without limit.

    Returns:
        The result of each job, in the order of `jobs`.

    Raises:
        WaitError: no job ended for `patience` seconds; the message states which trajectories wait for what.
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
