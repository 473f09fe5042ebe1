"""Policy gradient with continuations: they change the weights, replay, and are refused where not right."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from crash.loops import (
    ASYNC,
    SYNC,
    Stopped,
    branch_ledger,
    figures,
    grpo_loop,
    ledger,
    run,
    sft_loop,
    stopped,
)  # fmt: skip
from palaestra.errors import ConfigError
from palaestra.trainers.branching import GrpoBranchingConfig
from palaestra.trainers.learner import Learner
from palaestra.trainers.loops import GrpoConfig, RecordedRun, StageResult, read_config, recorded_batches
from palaestra.trainers.loops.rollouts import AskColumns, StepRollouts
from palaestra.trainers.monitors.rollouts import DRAWN
from palaestra.trainers.policy import Policy
from palaestra.trainers.rollouts.groups import RolloutGroup
from palaestra.trajectory import Episode

BRANCHING = GrpoBranchingConfig(continuations=4, pivots=("best", "recoverable"))
PLAIN = {
    kind: replace(base, steps=3, group_size=2, limits=replace(base.limits, per_step=6))
    for kind, base in (("sync", SYNC), ("async", ASYNC))
}
CONFIGS = {kind: replace(config, branching=BRANCHING) for kind, config in PLAIN.items()}
ONE_STEP = replace(CONFIGS["sync"], steps=1)


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    """A policy that has seen the oracle, and solves few tasks."""
    return run(sft_loop(steps=30), tmp_path_factory.mktemp("warm") / "sft").policy


@pytest.fixture(scope="module", params=["sync", "async"])
def config(request: pytest.FixtureRequest) -> GrpoConfig:
    return CONFIGS[request.param]


@pytest.fixture(scope="module")
def whole(warm: Policy, config: GrpoConfig, tmp_path_factory: pytest.TempPathFactory) -> tuple[StageResult, Path]:
    """A run that nobody interrupted."""
    directory = tmp_path_factory.mktemp("whole") / "grpo"
    return run(grpo_loop(warm, config), directory), directory


def test_groups_without_a_solution_are_continued_and_their_tokens_are_counted(
    whole: tuple[StageResult, Path],
) -> None:
    result, directory = whole
    forks = 0
    for row, batch in zip(result.progress.history, recorded_batches(directory), strict=True):
        unsolved = {group.index for group in batch.groups if not any(e.score.passed for e in group.episodes)}
        assert batch.branches is not None
        assert {branch.index for branch in batch.branches} <= unsolved
        played = [e for group in (*batch.groups, *batch.branches) for e in group.episodes]
        assert row[DRAWN] == sum(sum(own.sampled) for e in played if (own := e.segments[0].tokens) is not None)
        for branch in batch.branches:
            assert len({episode.group for episode in branch.episodes}) == 1
        forks += len(batch.branches)
    assert forks


# what they teach


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """What members of the first step return, in place of what the world paid them."""

    whole: float
    """Every whole trajectory."""
    same: float
    """Continuations that wrote what the first one of their fork did."""
    others: float

    def apply(self, came: StepRollouts) -> StepRollouts:
        """The step's groups and continuations, so paid."""
        return replace(
            came,
            groups=[pay_members(group, [self.whole] * len(group.episodes)) for group in came.groups],
            branches=[pay_members(branch, self._of_branch(branch)) for branch in came.branches or ()],
        )

    def _of_branch(self, branch: RolloutGroup) -> list[float]:
        written = [written_tokens(episode) for episode in branch.episodes]
        return [self.same if one == written[0] else self.others for one in written]


def written_tokens(episode: Episode) -> list[int]:
    """The tokens that it drew."""
    tokens = episode.segments[0].tokens
    assert tokens is not None
    return [token for token, own in zip(tokens.ids, tokens.sampled, strict=True) if own]


def pay_members(group: RolloutGroup, returns: Sequence[float]) -> RolloutGroup:
    """The group, whose members are paid at their last turn alone."""
    episodes: list[Episode] = []
    for episode, amount in zip(group.episodes, returns, strict=True):
        (segment,) = episode.segments
        *before, last = segment.turns
        turns = (*(replace(turn, reward=0.0) for turn in before), replace(last, reward=amount))
        episodes.append(replace(episode, segments=(replace(segment, turns=turns),)))
    return replace(group, episodes=tuple(episodes))


def train_once(warm: Policy, payment: Payment, directory: Path) -> tuple[Policy, list[RolloutGroup]]:
    """The policy after one step that was so paid, and the step's continuations."""
    loop = grpo_loop(warm, ONE_STEP)
    taken, branches = loop._rollouts.batch, list[RolloutGroup]()

    async def batch(step: int, *, asked: frozenset[str] = frozenset(), ask: AskColumns | None = None) -> StepRollouts:
        came = payment.apply(await taken(step, asked=asked, ask=ask))
        branches.extend(came.branches or ())
        return came

    loop._rollouts.batch = batch  # type: ignore[method-assign]
    return run(loop, directory).policy, branches


def logprobs(policy: Policy, branch: RolloutGroup) -> list[float]:
    """Of the tokens that each continuation drew, under the policy."""
    batch = branch.batch()
    learner = Learner(policy.copy().model, ONE_STEP.learner)
    logp_T = learner.columns(batch, ["logp"], temperature=ONE_STEP.play.temperature)["logp"]
    own_T = batch.trained_T
    return [float(logp_T[own_T & (batch.trajectory_T == one)].sum()) for one in range(batch.trajectories)]


def test_a_policy_prefers_the_continuations_of_a_fork_that_earned_more_than_their_siblings(
    warm: Policy, tmp_path: Path
) -> None:
    """Two policies learn from equal tokens; the continuations that one is paid for are those that the other is not.

    Whole trajectories return the same and have no gradient.
    """
    first, branches = train_once(warm, Payment(whole=0.0, same=10.0, others=0.0), tmp_path / "first")
    second, again = train_once(warm, Payment(whole=0.0, same=0.0, others=10.0), tmp_path / "second")
    assert [[e.id for e in branch.episodes] for branch in again] == [[e.id for e in b.episodes] for b in branches]
    gains: list[float] = []
    for branch in branches:
        written = [written_tokens(episode) for episode in branch.episodes]
        prefers = [one - two for one, two in zip(logprobs(first, branch), logprobs(second, branch), strict=True)]
        same = [value for value, own in zip(prefers, written, strict=True) if own == written[0]]
        others = [value for value, own in zip(prefers, written, strict=True) if own != written[0]]
        if others:
            gains.append(fmean(same) - fmean(others))
    assert len(gains) >= 2, "forks whose continuations differ"
    assert min(gains) > 0


def test_continuations_that_earn_the_same_teach_nothing_whatever_their_parents_earned(
    warm: Policy, tmp_path: Path
) -> None:
    equal, branches = train_once(warm, Payment(whole=0.0, same=10.0, others=10.0), tmp_path / "equal")
    assert branches
    assert equal.digest() == warm.digest()
    one, _ = train_once(warm, Payment(whole=0.0, same=10.0, others=0.0), tmp_path / "one")
    rich, _ = train_once(warm, Payment(whole=70.0, same=10.0, others=0.0), tmp_path / "rich")
    assert one.digest() == rich.digest() != warm.digest()


def test_the_weight_of_continuations_changes_what_is_learnt_beside_whole_trajectories(
    warm: Policy, tmp_path: Path
) -> None:
    """The first step draws the same groups in all three runs; what they learn differs."""
    heavy = replace(ONE_STEP, branching=replace(BRANCHING, weight=4.0))
    found = {
        name: run(grpo_loop(warm, settings), tmp_path / name).policy.digest()
        for name, settings in (("one", ONE_STEP), ("heavy", heavy), ("plain", replace(ONE_STEP, branching=None)))
    }
    (batch,) = recorded_batches(tmp_path / "one")
    returns = [set(branch.batch().return_R.tolist()) for branch in batch.branches or ()]
    assert any(len(own) > 1 for own in returns), "otherwise nothing is to be learnt from the continuations"
    assert ledger(tmp_path / "one") == ledger(tmp_path / "heavy") == ledger(tmp_path / "plain")
    assert len(set(found.values())) == 3


# going on and replay


def test_a_run_with_continuations_replays(
    whole: tuple[StageResult, Path], warm: Policy, config: GrpoConfig, tmp_path: Path
) -> None:
    result, directory = whole
    again = run(grpo_loop(warm, config, replay=RecordedRun.of(directory)), tmp_path / "again")
    assert again.policy.digest() == result.policy.digest()
    assert branch_ledger(tmp_path / "again") == branch_ledger(directory)


def test_an_interrupted_synchronous_run_goes_on_to_the_same_weights(warm: Policy, tmp_path: Path) -> None:
    config = CONFIGS["sync"]
    straight = run(grpo_loop(warm, config), tmp_path / "straight")
    with pytest.raises(Stopped):
        run(stopped(grpo_loop(warm, config), 2), tmp_path / "broken")
    again = run(grpo_loop(warm, config), tmp_path / "broken")
    assert again.policy.digest() == straight.policy.digest()
    assert figures(again) == figures(straight)
    assert branch_ledger(tmp_path / "broken") == branch_ledger(tmp_path / "straight")


def test_recorded_continuations_are_trained_on_again_to_equal_weights(
    whole: tuple[StageResult, Path], warm: Policy, config: GrpoConfig, tmp_path: Path
) -> None:
    result, directory = whole
    shutil.copytree(directory, tmp_path / "grpo")
    for name in ("checkpoint", "checkpoint.previous"):
        shutil.rmtree(tmp_path / "grpo" / name)
    again = run(grpo_loop(warm, config), tmp_path / "grpo")
    assert again.policy.digest() == result.policy.digest()
    assert branch_ledger(tmp_path / "grpo") == branch_ledger(directory), "nothing was played anew"


# settings


def test_a_section_turns_it_on() -> None:
    assert read_config({"grpo": {}}).grpo == GrpoConfig()
    stage = read_config({"grpo": {"branching": {"pivots": ["best"], "weight": 0.5}}}).grpo
    assert stage is not None
    branching = GrpoBranchingConfig(pivots=("best",), weight=0.5)
    assert stage.branching == branching
    assert branching.describe().endswith("4 continuations of each; weight of their loss: 0.5")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"branching": {"continuations": 1}}, "one alone gives no gradient; give 2 or more"),
        ({"branching": {"continuations": 0}}, "continuations=0: at least 1"),
        ({"branching": {"weight": 0.0}}, "weight=0.0: a finite number above 0"),
        ({"branching": {"weight": float("nan")}}, "weight=nan: a finite number above 0"),
        ({"branching": {"pivots": ["best"], "depth": 3.0}}, "depth=3.0: only the pivot rule"),
        ({"objective": {"parts": {"advantage": "gae"}}}, "branching does not go with advantage gae"),
        ({"objective": {"parts": {"advantage": "hiper"}}}, "branching does not go with advantage hiper"),
        ({"objective": {"parts": {"advantage": "gigpo"}}}, "branching does not go with advantage gigpo"),
        ({"objective": {"parts": {"advantage": "reinforce-pp"}}}, "branching does not go with advantage reinforce-pp"),
        (
            {"objective": {"parts": {"rewards": [{"part": "bounded", "least": 0.0}]}}},
            "branching does not go with reward bounded: a continuation is paid for what came behind its fork",
        ),
        (
            {"objective": {"parts": {"filters": [{"part": "rank", "keep": 2}]}}},
            "branching does not go with filter rank",
        ),
        ({"objective": {"parts": {"rates": ["ess"], "ratio": {"anchor": "old"}}}}, "branching does not go with rate"),
        (
            {"objective": {"parts": {"filters": ["mixed"], "refill": 2}}},
            "branching does not go with refill=2: groups that solved nothing would be replaced",
        ),
        ({"objective": {"preset": "introllm"}}, "branching does not go with temperature introllm"),
        ({"objective": {"preset": "dpo"}}, "branching does not go with whole dpo"),
        ({"objective": {"preset": "seeupo"}}, "branching does not go with schedule=turns"),
    ],
)
def test_what_cannot_learn_from_continuations_is_refused(settings: dict[str, Any], says: str) -> None:
    table = {"branching": {}, **settings}
    with pytest.raises(ConfigError, match=says):
        read_config({"grpo": table})
