"""Playing a list of jobs to their ends, for evaluations and for callers that only need episodes."""

import asyncio
from collections.abc import Callable, Sequence

from palaestra.trainers.engines.native import NativeConfig, NativeEngine
from palaestra.trainers.policy import Policy
from palaestra.trainers.rollouts.budget import PlayConfig
from palaestra.trainers.rollouts.job import RolloutJob
from palaestra.trainers.rollouts.pool import PoolConfig, RolloutPool, RolloutResult
from palaestra.trainers.rollouts.world import RolloutWorlds


def play_jobs(
    policy: Policy,
    worlds: Callable[[], RolloutWorlds],
    jobs: Sequence[RolloutJob],
    config: PlayConfig,
    *,
    pool: PoolConfig | None = None,
    engine: NativeConfig | None = None,
    progress: Callable[[str], None] = lambda _: None,
    say: Callable[[str], None] = print,
) -> list[RolloutResult]:
    """Play every job with the native engine.

    Args:
        policy: The policy that plays.
        worlds: Opens the source of worlds.
        jobs: The jobs.
        config: How each job is played.
        pool: The settings of the pool, such as the number of trajectories at once.
        engine: The settings of the engine.
        progress: Called with the task of each job that has ended.
        say: Called with a sentence about each fault.

    Returns:
        The result of each job, in the order of `jobs`.

    Raises:
        InfrastructureError: the engine failed. A failed world affects only its own job.
    """

    async def session() -> list[RolloutResult]:
        drawing = NativeEngine(policy.model, engine or NativeConfig())
        opened = worlds()
        playing = RolloutPool(drawing, opened, policy.codec, config, pool or PoolConfig(), say=say)

        async def one(job: RolloutJob) -> RolloutResult:
            played = await playing.play(job)
            progress(job.task)
            return played

        try:
            return await asyncio.gather(*map(one, jobs))
        finally:  # closing the pool ends the jobs under way
            await playing.close()
            await drawing.close()
            await opened.close()

    return asyncio.run(session())
