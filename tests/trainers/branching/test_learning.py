"""Where a long chain is needed, branching learns from fewer tokens. The learner counts what was kept."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cache

import pytest

from palaestra.agents.hosted import WorldSpec
from palaestra.trainers.branching import Brancher, BranchingConfig, is_solved, with_branches
from palaestra.trainers.engines.engine import TurnRequest
from palaestra.trainers.engines.noise import noise_at
from palaestra.trainers.loops.examples import ExampleStore
from palaestra.trainers.loops.imitation_config import KeepConfig
from palaestra.trainers.rollouts.budget import PlayConfig
from palaestra.trainers.rollouts.fork import PivotRule
from palaestra.trainers.rollouts.groups import RolloutGroup, TaskPlan
from palaestra.trainers.rollouts.job import RolloutJob
from palaestra.trainers.rollouts.play_all import play_all
from palaestra.trainers.rollouts.pool import PoolConfig, RolloutPool
from palaestra.trainers.rollouts.worlds import LocalWorlds
from palaestra.trajectory import Episode, Tokens
from pooled.clock import run
from rollouts.engine import ScriptedEngine
from rollouts.library import codec
from worlds.chain import CHAIN_ID, WORDS, register

TASKS = [f"chain/guess/{n:04d}" for n in range(2)]
PLAY = PlayConfig(context=4096, turn=20)
GROUP, MOST = 4, 6_000


@cache
def turns() -> tuple[tuple[int, ...], ...]:
    """Each word as a turn."""
    return tuple((*codec().encode([word]), codec().end_id) for word in WORDS)


class CountingPolicy:
    """Writes the word that was kept most often at its chain and place, and now and then another."""

    def __init__(self) -> None:
        self._counts: defaultdict[tuple[str, str], Counter[tuple[int, ...]]] = defaultdict(Counter)

    def imitate(self, examples: Sequence[Tokens]) -> None:
        """Count anew."""
        self._counts.clear()
        for tokens in examples:
            for span in tokens.spans:
                if span.kind == "turn" and tokens.sampled[span.start]:
                    self._counts[_place(tokens.ids[: span.start])][tokens.ids[span.start : span.end]] += 1

    def __call__(self, request: TurnRequest) -> Sequence[int]:
        """See `Writer`."""
        counts = self._counts[_place(request.context)]
        weights = [1 + 5 * counts[turn] for turn in turns()]
        point = noise_at(request.noise, len(request.context)) * sum(weights)
        for turn, weight in zip(turns(), weights, strict=True):
            point -= weight
            if point < 0:
                return turn
        return turns()[-1]


def _place(context: Sequence[int]) -> tuple[str, str]:
    """The chain, and the place in it."""
    found: list[tuple[str, str]] = re.findall(r"chain (\d+) link (\d+)", "".join(codec().decode(context[-24:])))
    return found[-1]


def tokens_until_solved(branching: BranchingConfig | None, seed: int) -> int:
    """Tokens that expert iteration draws, continuations included, until it has a solution of every chain."""
    register()
    policy, store = CountingPolicy(), ExampleStore(KeepConfig())
    plan = TaskPlan(TASKS, size=GROUP, seed=seed)
    brancher = None if branching is None else Brancher(branching, names=("chain", seed))

    async def main() -> int:
        worlds = LocalWorlds(WorldSpec(env_id=CHAIN_ID, action_format="compact"))
        pool = RolloutPool(ScriptedEngine(policy), worlds, codec(), PLAY, PoolConfig(agents=64))
        drawn, solved, step = 0, set[str](), 0
        while len(solved) < len(TASKS) and drawn < MOST:
            numbers = range(step * len(TASKS), (step + 1) * len(TASKS))
            groups = [group_of(index, step, await play(pool, plan.group(index))) for index in numbers]
            branches = list[RolloutGroup]()
            for one in brancher.plan(groups, step) if brancher is not None else ():
                branches.append(one.branch(await play(pool, one.jobs), version=step))
            whole = with_branches(groups, branches)
            if brancher is not None:
                brancher.observe(branches)
            store.add(whole)
            policy.imitate([one.tokens for own in store.families.values() for one in own])
            solved |= {group.task for group in whole if is_solved(group)}
            drawn += sum(sum(tokens_of(episode).sampled) for group in whole for episode in group.episodes)
            step += 1
        await pool.close()
        await worlds.close()
        return drawn

    return run(main())


async def play(pool: RolloutPool, jobs: Sequence[RolloutJob]) -> list[Episode]:
    found = [one.episode for one in await play_all(pool, jobs, patience=100.0)]
    episodes = [episode for episode in found if episode is not None]
    assert len(episodes) == len(jobs)
    return episodes


def group_of(index: int, version: int, episodes: Sequence[Episode]) -> RolloutGroup:
    task = episodes[0].task.id
    return RolloutGroup(index=index, version=version, task=task, episodes=tuple(episodes), failed=0, straggled=0)


def tokens_of(episode: Episode) -> Tokens:
    tokens = episode.segments[0].tokens
    assert tokens is not None
    return tokens


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("pivot", ["best", "recoverable"])
def test_a_long_chain_is_solved_from_fewer_tokens(seed: int, pivot: PivotRule) -> None:
    """Seeds 0 to 2: 994, 602 and 1626 tokens with `best`, 16,666, 19,078 and 16,528 without branching."""
    branched = tokens_until_solved(BranchingConfig(pivots=(pivot,)), seed)
    assert branched < MOST / 3 if pivot == "best" else branched < MOST
    assert plain(seed) >= MOST, "it has no solution yet"


@cache
def plain(seed: int) -> int:
    return tokens_until_solved(None, seed)
