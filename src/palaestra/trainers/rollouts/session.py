"""Many jobs played to their ends and no more: evaluations, and whoever just wants episodes."""

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
    """Play every job with our own engine.

    Args:
        policy: Who plays.
        worlds: Opens the worlds.
        jobs: What to play.
        config: How each is played.
        pool: How many at once.
        engine: How turns are drawn.
        progress: Told the task of each job that has ended.
        say: Told of every fault.

    Returns:
        What came of each, in the order of `jobs`.

    Raises:
        InfrastructureError: the engine failed. A world that fails costs its own job alone.
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
        finally:  # closing the pool ends those that are under way
            await playing.close()
            await drawing.close()
            await opened.close()

    return asyncio.run(session())
