"""Many jobs at once, in a call: what came of each in its place, and nothing left open whatever happens."""

from collections.abc import Callable

import pytest
import torch

from palaestra.errors import EngineError
from palaestra.trainers.engines.native import NativeConfig
from palaestra.trainers.model.checkpoint import fresh
from palaestra.trainers.model.shape import DecoderShape
from palaestra.trainers.policy import Policy
from palaestra.trainers.rollouts.budget import PlayConfig
from palaestra.trainers.rollouts.faults import Backoff
from palaestra.trainers.rollouts.pool import PoolConfig, RolloutResult
from palaestra.trainers.rollouts.session import play_jobs
from palaestra.trainers.rollouts.worlds import LocalWorlds
from rollouts.library import codec, jobs, library

PLAY = PlayConfig(context=300, turn=6)
POOL = PoolConfig(agents=3, engine=Backoff(retries=0, first=0.0))
JOBS = jobs(8)


class Watched(LocalWorlds):
    """Says whether it was closed."""

    closed = False

    async def close(self) -> None:
        await super().close()
        self.closed = True


@pytest.fixture(scope="module")
def policy() -> Policy:
    """One that babbles."""
    shape = DecoderShape(
        vocabulary=len(codec().tokenizer), hidden=32, layers=1, heads=1, kv_heads=1, head_dim=32, mlp=32, context=512
    )
    return Policy(model=fresh(shape, seed=0), codec=codec())


def played(
    policy: Policy, worlds: LocalWorlds, *, progress: Callable[[str], None] = lambda _: None, rows: int = 2
) -> list[RolloutResult]:
    return play_jobs(policy, lambda: worlds, JOBS, PLAY, pool=POOL, engine=NativeConfig(rows=rows), progress=progress)


def test_what_came_of_each_job_stands_in_its_place_and_everything_is_closed(policy: Policy) -> None:
    worlds, told = Watched(library()), list[str]()
    found = played(policy, worlds, progress=told.append)
    assert [one.job for one in found] == JOBS
    assert [one.episode and one.episode.id for one in found] == [job.trajectory for job in JOBS]
    assert sorted(told) == sorted(job.task for job in JOBS)
    assert worlds.closed


def test_equal_jobs_come_to_equal_episodes(policy: Policy) -> None:
    first, second = (played(policy, LocalWorlds(library())) for _ in range(2))
    assert [one.episode for one in first] == [one.episode for one in second]


def test_an_engine_that_fails_is_told_as_itself_and_everything_is_closed(policy: Policy) -> None:
    broken, worlds = policy.copy(), Watched(library())
    torch.nn.init.constant_(broken.model.lm_head.weight, torch.nan)
    with pytest.raises(EngineError, match="no finite numbers"):
        played(broken, worlds)
    assert worlds.closed


def test_whoever_interrupts_is_told_as_themselves_and_everything_is_closed(policy: Policy) -> None:
    def interrupt(task: str) -> None:
        raise KeyError(task)

    worlds = Watched(library())
    with pytest.raises(KeyError, match="library/"):
        played(policy, worlds, progress=interrupt)
    assert worlds.closed
