"""Expert iteration and rejection sampling learn, go on where they stopped to equal weights, and replay to the bit."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest

from crash.loops import (
    BRANCHING,
    EXPERT,
    IMITATING,
    REJECTION,
    Stopped,
    Told,
    branch_ledger,
    figures,
    imitating_loop,
    ledger,
    run,
    sft_loop,
    stopped,
)  # fmt: skip
from palaestra.errors import CheckpointError, TaskError
from palaestra.trainers.choice import ChoiceConfig
from palaestra.trainers.learner import Learner
from palaestra.trainers.loops import ExpertConfig, RecordedRun, RejectionConfig, StageResult, recorded_batches, rollouts
from palaestra.trainers.loops.imitation_config import KeepConfig
from palaestra.trainers.monitors import RolloutAlarmConfig, sampled_tokens
from palaestra.trainers.objectives import Metrics, PreparedStep
from palaestra.trainers.policy import Policy, load_policy
from palaestra.trainers.rollouts.job import RolloutJob
from palaestra.trainers.rollouts.play_all import play_all
from palaestra.trainers.rollouts.pool import PoolConfig, RolloutPool, RolloutResult
from palaestra.trainers.rollouts.staleness import Staleness


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    """A policy that has seen the oracle, and solves some tasks."""
    return run(sft_loop(steps=60), tmp_path_factory.mktemp("warm") / "sft").policy


@pytest.fixture(scope="module", params=["expert", "rejection", "branching"])
def config(request: pytest.FixtureRequest) -> ExpertConfig | RejectionConfig:
    return IMITATING[request.param]


@pytest.fixture(scope="module")
def whole(
    warm: Policy, config: ExpertConfig | RejectionConfig, tmp_path_factory: pytest.TempPathFactory
) -> tuple[StageResult, Path]:
    """A run that nobody interrupted."""
    directory = tmp_path_factory.mktemp("whole") / "stage"
    return run(imitating_loop(warm, config), directory), directory


def steps_of(config: ExpertConfig | RejectionConfig) -> int:
    return config.steps + (config.rounds if isinstance(config, RejectionConfig) else 0)


# learning is learning


def test_expert_iteration_learns_what_supervised_steps_had_not_taught(tmp_path: Path) -> None:
    begun = run(sft_loop(steps=40), tmp_path / "sft").policy
    more = replace(EXPERT, steps=8, updates=8, limits=Staleness(per_step=8), pool=PoolConfig(agents=24))
    history = run(imitating_loop(begun, more), tmp_path / "expert").progress.history
    before, after = (fmean(row["solved"] for row in rows) for rows in (history[:2], history[-2:]))
    assert after > before + 0.15


def test_all_of_a_stage_s_steps_are_taken_and_the_policy_is_its_checkpoint(
    whole: tuple[StageResult, Path], warm: Policy, config: ExpertConfig | RejectionConfig
) -> None:
    result, directory = whole
    assert result.progress.step == steps_of(config)
    assert load_policy(directory / "checkpoint").digest() == result.policy.digest() != warm.digest()


def test_rejection_sampling_draws_all_rounds_with_the_weights_that_it_begins_with(warm: Policy, tmp_path: Path) -> None:
    """Rounds of expert iteration that train nothing draw the same tokens."""
    result = run(imitating_loop(warm, REJECTION), tmp_path / "rejection")
    history = result.progress.history
    assert ["loss" in row for row in history] == [False] * REJECTION.rounds + [True] * REJECTION.steps
    assert len(list(recorded_batches(tmp_path / "rejection"))) == REJECTION.rounds
    longer = replace(REJECTION, steps=1)
    run(imitating_loop(warm, longer), tmp_path / "longer")
    assert list(recorded_batches(tmp_path / "longer")) == list(recorded_batches(tmp_path / "rejection"))


def test_trained_tokens_of_a_round_are_those_of_all_its_steps(
    warm: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[float] = []
    step = Learner.step

    def count(self: Learner, prepared: PreparedStep, *, lr: float | None = None) -> Metrics:
        metrics = step(self, prepared, lr=lr)
        counts.append(metrics["tokens"])
        return metrics

    monkeypatch.setattr(Learner, "step", count)
    (row,) = run(imitating_loop(warm, replace(EXPERT, steps=1)), tmp_path / "expert").progress.history
    assert len(counts) == EXPERT.updates
    assert row["tokens"] == sum(counts)


@pytest.mark.parametrize(
    ("config", "shares"),
    [
        (replace(EXPERT, steps=2, updates=4), [1.0, 0.775, 0.55, 0.325] * 2),
        # Of 2 rounds and 3 steps, two fifths are done when the first step is taken.
        (replace(REJECTION, rounds=2, steps=3), [0.64, 0.46, 0.28]),
    ],
    ids=["expert", "rejection"],
)
def test_the_learning_rate_falls_within_each_round_or_over_the_stage(
    config: ExpertConfig | RejectionConfig,
    shares: list[float],
    warm: Policy,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rates: list[float] = []
    step = Learner.step

    def recorded(self: Learner, prepared: PreparedStep, *, lr: float) -> Metrics:
        rates.append(lr)
        return step(self, prepared, lr=lr)

    monkeypatch.setattr(Learner, "step", recorded)
    run(imitating_loop(warm, config), tmp_path / "stage")
    assert rates == pytest.approx([share * config.learner.lr for share in shares])


def test_figures_say_what_is_kept_and_what_came_of_each_round(whole: tuple[StageResult, Path]) -> None:
    result, directory = whole
    batches = {batch.step: batch for batch in recorded_batches(directory)}
    for row in result.progress.history:
        if (batch := batches.get(int(row["step"]) - 1)) is not None:
            solved = [any(e.score.passed for e in group.episodes) for group in batch.groups]
            assert row["groups/solved"] == fmean(solved)
            drawn = [episode for group in (*batch.groups, *(batch.branches or ())) for episode in group.episodes]
            assert row["tokens/drawn"] == sum(map(sampled_tokens, drawn))
        assert row["kept/solved"] + row["kept/prefixes"] > 0


def test_without_demonstrations_there_are_none_to_mix_in_and_that_is_said(warm: Policy) -> None:
    loop = imitating_loop(warm, replace(EXPERT, demonstration_share=0.0))
    assert loop.fingerprint() != imitating_loop(warm, EXPERT).fingerprint()
    with pytest.raises(TaskError, match=r"expert has no demonstrations; .* expert.demonstration_share=0"):
        type(loop)(EXPERT, tasks=["a/b/0000"], worlds=lambda: None, seed=0, start=warm)  # type: ignore[arg-type, return-value]


# sameness


def test_expert_iteration_that_ends_by_time_ends_with_a_round_and_its_replay_takes_as_many(
    warm: Policy, tmp_path: Path
) -> None:
    short = run(imitating_loop(warm, replace(EXPERT, cpu_seconds=1e-6)), tmp_path / "short")
    assert short.progress.step == 1
    whole = run(imitating_loop(warm, replace(EXPERT, steps=2)), tmp_path / "whole")
    replay = RecordedRun.of(tmp_path / "whole")
    again = run(imitating_loop(warm, replace(EXPERT, cpu_seconds=1e-6), replay=replay), tmp_path / "again")
    assert again.progress.step == 2
    assert again.policy.digest() == whole.policy.digest()


def test_a_run_replays_from_its_record_to_equal_weights(
    whole: tuple[StageResult, Path], warm: Policy, config: ExpertConfig | RejectionConfig, tmp_path: Path
) -> None:
    result, directory = whole
    again = run(imitating_loop(warm, config, replay=RecordedRun.of(directory)), tmp_path / "again")
    assert again.policy.digest() == result.policy.digest()
    assert list(recorded_batches(tmp_path / "again")) == list(recorded_batches(directory))
    assert figures(again) == figures(result)


def test_another_seed_is_another_run(warm: Policy, tmp_path: Path) -> None:
    one = replace(EXPERT, steps=1)
    first, second = (run(imitating_loop(warm, one, seed=n), tmp_path / str(n)) for n in (0, 1))
    assert first.policy.digest() != second.policy.digest()


# going on


@pytest.mark.parametrize("at", [1, 2, 5])
def test_an_interrupted_run_goes_on_to_the_same_weights(
    whole: tuple[StageResult, Path], warm: Policy, config: ExpertConfig | RejectionConfig, tmp_path: Path, at: int
) -> None:
    """Rejection sampling is stopped between rounds, between rounds and imitation, and in the middle of that."""
    if at >= steps_of(config):
        at = steps_of(config) - 1
    result, directory = whole
    with pytest.raises(Stopped):
        run(stopped(imitating_loop(warm, config), at), tmp_path / "broken")
    again = run(imitating_loop(warm, config), tmp_path / "broken")
    assert again.policy.digest() == result.policy.digest()
    assert figures(again) == figures(result)
    assert ledger(tmp_path / "broken") == ledger(directory)


def test_what_was_rolled_out_since_the_last_save_is_imitated_again_to_equal_weights(
    whole: tuple[StageResult, Path], warm: Policy, config: ExpertConfig | RejectionConfig, tmp_path: Path
) -> None:
    result, directory = whole
    shutil.copytree(directory, tmp_path / "stage")
    for name in ("checkpoint", "checkpoint.previous"):
        shutil.rmtree(tmp_path / "stage" / name)
    again = run(imitating_loop(warm, config), tmp_path / "stage")
    assert again.policy.digest() == result.policy.digest()
    assert ledger(tmp_path / "stage") == ledger(directory), "nothing was rolled out anew"


def test_rollouts_ahead_of_training_count_once_after_a_stop(warm: Policy, tmp_path: Path) -> None:
    ahead = replace(EXPERT, limits=Staleness(per_step=4, staleness=1, window=2), pool=PoolConfig(agents=24))
    with pytest.raises(Stopped):
        run(stopped(imitating_loop(warm, ahead), 2), tmp_path / "stage")
    result = run(imitating_loop(warm, ahead), tmp_path / "stage")
    trained = [e.id for b in recorded_batches(tmp_path / "stage") for g in b.groups for e in g.episodes]
    assert len(set(trained)) == len(trained) == ahead.steps * ahead.limits.per_step * ahead.group_size
    assert result.progress.history[-1]["rollouts/handed"] == len(trained)


def test_other_settings_do_not_go_on(warm: Policy, tmp_path: Path) -> None:
    run(imitating_loop(warm, replace(EXPERT, steps=1)), tmp_path / "stage")
    with pytest.raises(CheckpointError, match=r"expert.updates: 4 -> 5 \(trajectory\); give --amend"):
        run(imitating_loop(warm, replace(EXPERT, updates=5)), tmp_path / "stage")
    with pytest.raises(CheckpointError, match=r"expert.group_size: 3 -> 2 \(identity\)"):
        run(imitating_loop(warm, replace(EXPERT, group_size=2)), tmp_path / "stage")


def test_expert_iteration_may_be_made_longer(warm: Policy, whole: tuple[StageResult, Path], tmp_path: Path) -> None:
    result, _ = whole
    if result.progress.step != EXPERT.steps:
        result = run(imitating_loop(warm, EXPERT), tmp_path / "straight")
    run(imitating_loop(warm, replace(EXPERT, steps=2)), tmp_path / "stage")
    said: Told = []
    longer = run(imitating_loop(warm, EXPERT, said=said), tmp_path / "stage", said=said)
    assert longer.policy.digest() == result.policy.digest()
    assert said[0] == "expert: goes on from step 2"


# branching


AHEAD = replace(BRANCHING, limits=Staleness(per_step=4, staleness=1, window=2), pool=PoolConfig(agents=24))


def check_branches(directory: Path) -> None:
    """Every group without a solution was gone on from before any harm, and each continuation is of its own turns."""
    seen: set[str] = set()
    for batch in recorded_batches(directory):
        unsolved = {group.index for group in batch.groups if not any(e.score.passed for e in group.episodes)}
        members = {episode.id: episode for group in batch.groups for episode in group.episodes}
        assert batch.branches is not None
        assert {branch.index for branch in batch.branches} <= unsolved
        for branch in batch.branches:
            assert branch.fork is not None
            parent = members[branch.fork.parent]
            shared = list(parent.turns)[: branch.fork.turns]
            assert not any(turn.violated for turn in shared)
            for episode in branch.episodes:
                assert list(episode.turns)[: branch.fork.turns] == shared
                tokens = episode.segments[0].tokens
                assert tokens is not None
                assert tokens.shared_turns == branch.fork.turns
                seen.add(episode.id)
        assert not seen & members.keys()
    assert seen


def test_groups_without_a_solution_are_gone_on_from(whole: tuple[StageResult, Path], config: ExpertConfig) -> None:
    result, directory = whole
    if config.branching is None:
        assert all(batch.branches is None for batch in recorded_batches(directory))
        assert not any(name.startswith("branching/") for row in result.progress.history for name in row)
        return
    check_branches(directory)
    batches = list(recorded_batches(directory))
    for row, batch in zip(result.progress.history, batches, strict=True):
        played = [episode for branch in batch.branches or () for episode in branch.episodes]
        assert row["branching/continuations"] == len(played)
        sampled = sum(sum(tokens.sampled) for e in played if (tokens := e.segments[0].tokens) is not None)
        assert row["branching/tokens_drawn"] == sampled
        assert (row["branching/tokens_shared"] > 0) == bool(played), "a round may solve every group"


def test_continuations_that_were_not_played_yet_are_played_when_the_run_goes_on(
    warm: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rollouts run ahead, so the groups of a step that is broken off there are recorded without their continuations."""
    count = 0

    async def breaks(pool: RolloutPool, jobs: Sequence[RolloutJob], *, patience: float | None) -> list[RolloutResult]:
        nonlocal count
        count += 1
        if count == 2:
            raise Stopped
        return await play_all(pool, jobs, patience=patience)

    monkeypatch.setattr(rollouts, "play_all", breaks)
    with pytest.raises(Stopped):
        run(imitating_loop(warm, AHEAD), tmp_path / "stage")
    assert [batch.branches is None for batch in recorded_batches(tmp_path / "stage")] == [False, True]
    result = run(imitating_loop(warm, AHEAD), tmp_path / "stage")
    batches = {batch.step: batch for batch in recorded_batches(tmp_path / "stage")}
    assert result.progress.step == len(batches) == AHEAD.steps
    assert all(batch.branches is not None for batch in batches.values())
    trained = [e.id for batch in batches.values() for group in batch.groups for e in group.episodes]
    assert len(set(trained)) == len(trained) == AHEAD.steps * AHEAD.limits.per_step * AHEAD.group_size


def test_a_run_with_continuations_that_runs_ahead_replays(warm: Policy, tmp_path: Path) -> None:
    result = run(imitating_loop(warm, AHEAD), tmp_path / "stage")
    check_branches(tmp_path / "stage")
    recorded = RecordedRun.of(tmp_path / "stage")
    again = run(imitating_loop(warm, AHEAD, replay=recorded), tmp_path / "again")
    assert again.policy.digest() == result.policy.digest()
    assert branch_ledger(tmp_path / "again") == branch_ledger(tmp_path / "stage")


# PACED's buffer


@pytest.mark.parametrize("kind", ["expert", "rejection"])
def test_what_surprised_is_kept_again_when_a_run_goes_on(kind: str, warm: Policy, tmp_path: Path) -> None:
    """What was expected at each step follows from the record; rejection sampling is stopped while it imitates."""
    config = replace(
        IMITATING[kind],
        choice=ChoiceConfig(rule="paced"),
        keep=KeepConfig(per_task=1, per_family=1, order="surprising"),
    )
    result = run(imitating_loop(warm, config), tmp_path / "whole")
    with pytest.raises(Stopped):
        run(stopped(imitating_loop(warm, config), steps_of(config) - 1), tmp_path / "broken")
    again = run(imitating_loop(warm, config), tmp_path / "broken")
    assert again.policy.digest() == result.policy.digest()
    assert figures(again) == figures(result)


# alarms


def test_expert_iteration_reports_episodes_that_run_out_of_tokens_once_also_when_it_is_resumed(
    warm: Policy, tmp_path: Path
) -> None:
    short = replace(
        EXPERT, play=replace(EXPERT.play, context=200), alarms=RolloutAlarmConfig(window=2, token_budget=0.001)
    )
    said = Told()
    with pytest.raises(Stopped):
        run(stopped(imitating_loop(warm, short, said=said), 2), tmp_path / "expert")
    history = run(imitating_loop(warm, short, said=said), tmp_path / "expert").progress.history
    assert all(row["end/token_budget"] > 0.001 for row in history)
    assert [row["alarms"] for row in history] == [0.0, 1.0, 1.0]
    assert ["expert step 2: alarm, token exhaustion" in text for text in said].count(True) == 1
