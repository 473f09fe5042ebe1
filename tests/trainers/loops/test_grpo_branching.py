"""Policy gradient with continuations: they change the weights, replay, and are refused where not right."""

import shutil
from dataclasses import replace
from pathlib import Path
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
from palaestra.trainers.loops import GrpoConfig, RecordedRun, StageResult, read_config, recorded_batches
from palaestra.trainers.monitors.rollouts import DRAWN
from palaestra.trainers.objectives import ObjectiveConfig
from palaestra.trainers.policy import Policy

BRANCHING = GrpoBranchingConfig(continuations=4, pivots=("best", "recoverable"))
PLAIN = {
    kind: replace(base, steps=3, group_size=2, limits=replace(base.limits, per_step=6))
    for kind, base in (("sync", SYNC), ("async", ASYNC))
}
CONFIGS = {kind: replace(config, branching=BRANCHING) for kind, config in PLAIN.items()}


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    """A policy that has seen the oracle, and solves few tasks."""
    return run(sft_loop(steps=60), tmp_path_factory.mktemp("warm") / "sft").policy


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


def test_continuations_change_the_weights_and_more_so_with_another_weight(warm: Policy, tmp_path: Path) -> None:
    """The first step draws the same groups in all three runs; what they learn differs.

    The entropy of all drawn tokens is learnt from, so that it does not matter whether continuations earn the same.
    """
    objective = ObjectiveConfig(parts={"regularisers": [{"part": "entropy", "coefficient": 0.01}]})
    one = replace(CONFIGS["sync"], steps=1, objective=objective)
    heavy = replace(one, branching=replace(BRANCHING, weight=4.0))
    plain = replace(one, branching=None)
    found = {
        name: run(grpo_loop(warm, settings), tmp_path / name).policy.digest()
        for name, settings in (("one", one), ("heavy", heavy), ("plain", plain))
    }
    (batch,) = recorded_batches(tmp_path / "one")
    assert batch.branches
    assert ledger(tmp_path / "one") == ledger(tmp_path / "heavy") == ledger(tmp_path / "plain")
    assert len(set(found.values())) == 3


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
    assert stage.branching == GrpoBranchingConfig(pivots=("best",), weight=0.5)
    assert stage.branching.describe().endswith("4 continuations of each; their loss weighs 0.5")


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
