"""Two chains of words, played in the pool by a policy that learns after each step, with or without branching."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Protocol

from palaestra.agents.hosted import WorldSpec
from palaestra.trainers.branching import Brancher, BranchingConfig
from palaestra.trainers.engines.engine import TurnRequest
from palaestra.trainers.engines.noise import noise_at
from palaestra.trainers.rollouts.budget import PlayConfig
from palaestra.trainers.rollouts.groups import RolloutGroup, TaskPlan
from palaestra.trainers.rollouts.job import RolloutJob
from palaestra.trainers.rollouts.play_all import play_all
from palaestra.trainers.rollouts.pool import PoolConfig, RolloutPool
from palaestra.trainers.rollouts.worlds import LocalWorlds
from palaestra.trajectory import Episode
from pooled.clock import run
from rollouts.engine import ScriptedEngine
from rollouts.library import codec
from worlds.chain import CHAIN_ID, WORDS, register

TASKS = [f"chain/guess/{n:04d}" for n in range(2)]
PLAY = PlayConfig(context=4096, turn=20)
GROUP = 4


class ChainPolicy(Protocol):
    """Writes words, and learns which."""

    def __call__(self, request: TurnRequest) -> Sequence[int]:
        """See `Writer`."""
        ...

    def learn(self, groups: Sequence[RolloutGroup], branches: Sequence[RolloutGroup]) -> None:
        """Take in a step's groups, and the continuations of those that solved nothing."""
        ...

    def is_done(self) -> bool:
        """Whether there is nothing left to learn."""
        ...


@cache
def turns() -> tuple[tuple[int, ...], ...]:
    """Each word as a turn."""
    return tuple((*codec().encode([word]), codec().end_id) for word in WORDS)


def place_of(context: Sequence[int]) -> tuple[int, int]:
    """The chain that a turn is in, and the place in it."""
    found: list[tuple[str, str]] = re.findall(r"chain (\d+) link (\d+)", "".join(codec().decode(context[-24:])))
    chain, place = found[-1]
    return int(chain), int(place)


def draw_turn(request: TurnRequest, weights: Sequence[float]) -> tuple[int, ...]:
    """One of the words, by the noise of the request."""
    point = noise_at(request.noise, len(request.context)) * sum(weights)
    for turn, weight in zip(turns(), weights, strict=True):
        point -= weight
        if point < 0:
            return turn
    return turns()[-1]


def tokens_until_done(policy: ChainPolicy, branching: BranchingConfig | None, seed: int, *, most: int) -> int:
    """Tokens that are drawn, continuations included, until the policy is done; from `most` on it learns no further."""
    register()
    plan = TaskPlan(TASKS, size=GROUP, seed=seed)
    brancher = None if branching is None else Brancher(branching, names=("chain", seed))

    async def main() -> int:
        worlds = LocalWorlds(WorldSpec(env_id=CHAIN_ID, action_format="compact"))
        pool = RolloutPool(ScriptedEngine(policy), worlds, codec(), PLAY, PoolConfig(agents=64))
        drawn, step = 0, 0
        while not policy.is_done() and drawn < most:
            numbers = range(step * len(TASKS), (step + 1) * len(TASKS))
            groups = [_group_of(index, step, await _play(pool, plan.group(index))) for index in numbers]
            branches = list[RolloutGroup]()
            for one in brancher.plan(groups, step) if brancher is not None else ():
                branches.append(one.branch(await _play(pool, one.jobs), version=step))
            if brancher is not None:
                brancher.observe(branches)
            policy.learn(groups, branches)
            drawn += sum(map(_drawn_tokens, (e for group in (*groups, *branches) for e in group.episodes)))
            step += 1
        await pool.close()
        await worlds.close()
        return drawn

    return run(main())


async def _play(pool: RolloutPool, jobs: Sequence[RolloutJob]) -> list[Episode]:
    found = [one.episode for one in await play_all(pool, jobs, patience=100.0)]
    episodes = [episode for episode in found if episode is not None]
    assert len(episodes) == len(jobs)
    return episodes


def _group_of(index: int, version: int, episodes: Sequence[Episode]) -> RolloutGroup:
    task = episodes[0].task.id
    return RolloutGroup(index=index, version=version, task=task, episodes=tuple(episodes), failed=0, straggled=0)


def _drawn_tokens(episode: Episode) -> int:
    tokens = episode.segments[0].tokens
    assert tokens is not None
    return sum(tokens.sampled)
