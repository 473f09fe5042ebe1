"""Loops come to the same end whenever they begin alike, go on where they stopped, and say when they cannot."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from crash.loops import (
    ASYNC,
    CONFIGS,
    SFT,
    SYNC,
    WARM,
    WORLD,
    Stopped,
    Told,
    figures,
    grpo_loop,
    ledger,
    run,
    sft_loop,
    stopped,
)  # fmt: skip
from crash.moody import DEED, MOODY_ID, RAISING_ID
from palaestra.errors import CheckpointError, DivergedError, EngineError, InfrastructureError, ReplayError
from palaestra.trainers.learner import LearnerConfig, LoraConfig
from palaestra.trainers.loops import GrpoConfig, RecordedRun, StageResult, recorded_batches
from palaestra.trainers.objectives import Metrics
from palaestra.trainers.policy import Policy, load_policy
from palaestra.trainers.rollouts.faults import Backoff
from palaestra.trainers.rollouts.groups import RolloutGroup
from palaestra.trainers.rollouts.staleness import Staleness
from palaestra.trainers.rollouts.worlds import Timeouts
from palaestra.trajectory import Episode


def played(directory: Path) -> list[list[Episode]]:
    """What each step was trained on, token by token."""
    return [[episode for group in batch.groups for episode in group.episodes] for batch in recorded_batches(directory)]


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    """A policy that has seen the oracle, and makes calls, some of them right."""
    return run(sft_loop(steps=WARM), tmp_path_factory.mktemp("warm") / "sft").policy


@pytest.fixture(scope="module", params=["sync", "async"])
def config(request: pytest.FixtureRequest) -> GrpoConfig:
    return CONFIGS[request.param]


@pytest.fixture(scope="module")
def whole(warm: Policy, config: GrpoConfig, tmp_path_factory: pytest.TempPathFactory) -> tuple[StageResult, Path]:
    """A run that nobody interrupted."""
    directory = tmp_path_factory.mktemp("whole") / "grpo"
    return run(grpo_loop(warm, config), directory), directory


# learning is learning


def test_supervised_learning_learns(tmp_path: Path) -> None:
    history = run(sft_loop(), tmp_path / "sft").progress.history
    assert history[-1]["loss"] < 0.7 * history[0]["loss"]


def test_what_grpo_draws_differs_and_it_learns_from_it(whole: tuple[StageResult, Path], warm: Policy) -> None:
    result, _ = whole
    assert any(row["gradient_norm"] > 0 for row in result.progress.history if "gradient_norm" in row)
    assert result.policy.digest() != warm.digest()


def test_the_checkpoint_is_the_policy(whole: tuple[StageResult, Path]) -> None:
    result, directory = whole
    assert load_policy(directory / "checkpoint").digest() == result.policy.digest()


def test_the_policy_that_a_run_begins_with_is_left_alone(warm: Policy, tmp_path: Path) -> None:
    before = warm.digest()
    run(grpo_loop(warm, replace(SYNC, steps=1)), tmp_path / "grpo")
    assert warm.digest() == before


# sameness


def test_equal_synchronous_runs_have_equal_tokens_rewards_and_weights(warm: Policy, tmp_path: Path) -> None:
    first, second = (run(grpo_loop(warm, SYNC), tmp_path / name) for name in ("first", "second"))
    assert first.policy.digest() == second.policy.digest()
    assert figures(first) == figures(second)
    assert list(recorded_batches(tmp_path / "first")) == list(recorded_batches(tmp_path / "second"))


def test_another_seed_is_another_run(warm: Policy, tmp_path: Path) -> None:
    first, second = (run(grpo_loop(warm, replace(SYNC, steps=1), seed=n), tmp_path / str(n)) for n in (0, 1))
    assert first.policy.digest() != second.policy.digest()


def test_a_run_replays_from_its_record_to_equal_weights(
    whole: tuple[StageResult, Path], warm: Policy, config: GrpoConfig, tmp_path: Path
) -> None:
    result, directory = whole
    again = run(grpo_loop(warm, config, replay=RecordedRun.of(directory)), tmp_path / "again")
    assert again.policy.digest() == result.policy.digest()
    assert played(tmp_path / "again") == played(directory)


def test_a_stage_that_ends_by_time_ends_with_the_step_that_reaches_it_and_its_replay_takes_as_many(
    warm: Policy, tmp_path: Path
) -> None:
    short = run(grpo_loop(warm, replace(SYNC, cpu_seconds=1e-6)), tmp_path / "short")
    assert short.progress.step == 1
    whole = run(grpo_loop(warm, replace(SYNC, steps=2)), tmp_path / "whole")
    replay = RecordedRun.of(tmp_path / "whole")
    again = run(grpo_loop(warm, replace(SYNC, cpu_seconds=1e-6), replay=replay), tmp_path / "again")
    assert again.progress.step == 2
    assert again.policy.digest() == whole.policy.digest()


def test_a_replay_with_other_weights_is_told(
    whole: tuple[StageResult, Path], config: GrpoConfig, tmp_path: Path
) -> None:
    other = run(sft_loop(steps=2), tmp_path / "sft").policy
    with pytest.raises(ReplayError, match="with another seed, other tasks, another beginning"):
        run(grpo_loop(other, config, replay=RecordedRun.of(whole[1])), tmp_path / "again")


def test_an_interrupted_run_has_no_replay(warm: Policy, tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        run(stopped(grpo_loop(warm, SYNC), 2), tmp_path / "grpo")
    run(grpo_loop(warm, SYNC), tmp_path / "grpo")
    with pytest.raises(ReplayError, match="was interrupted"):
        RecordedRun.of(tmp_path / "grpo")


# going on


@pytest.mark.parametrize("at", [1, 17, 30])
def test_interrupted_supervised_learning_goes_on_to_the_same_weights(tmp_path: Path, at: int) -> None:
    straight = run(sft_loop(steps=40), tmp_path / "straight")
    with pytest.raises(Stopped):
        run(stopped(sft_loop(steps=40), at), tmp_path / "broken")
    said: Told = []
    again = run(sft_loop(steps=40), tmp_path / "broken", said=said)
    assert again.policy.digest() == straight.policy.digest()
    assert figures(again) == figures(straight)
    saved = at // SFT.save.every * SFT.save.every
    assert [line for line in said if "goes on" in line] == ([f"sft: goes on from step {saved}"] if saved else [])


@pytest.mark.parametrize("at", [1, 3])
def test_an_interrupted_synchronous_run_goes_on_to_the_same_weights(warm: Policy, tmp_path: Path, at: int) -> None:
    straight = run(grpo_loop(warm, SYNC), tmp_path / "straight")
    with pytest.raises(Stopped):
        run(stopped(grpo_loop(warm, SYNC), at), tmp_path / "broken")
    again = run(grpo_loop(warm, SYNC), tmp_path / "broken")
    assert again.policy.digest() == straight.policy.digest()
    assert figures(again) == figures(straight)
    assert ledger(tmp_path / "broken") == ledger(tmp_path / "straight")


def test_an_interrupted_asynchronous_run_counts_every_episode_once(warm: Policy, tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        run(stopped(grpo_loop(warm, ASYNC), 2), tmp_path / "grpo")
    before = list(recorded_batches(tmp_path / "grpo"))
    result = run(grpo_loop(warm, ASYNC), tmp_path / "grpo")
    after = list(recorded_batches(tmp_path / "grpo"))
    assert after[:2] == before
    assert [batch.step for batch in after] == list(range(ASYNC.steps))
    trained = [episode.id for batch in after for group in batch.groups for episode in group.episodes]
    assert len(set(trained)) == len(trained) == ASYNC.steps * ASYNC.limits.per_step * ASYNC.group_size
    counts = result.progress.history[-1]
    assert counts["rollouts/handed"] == len(trained)


def test_what_was_rolled_out_since_the_last_save_is_trained_on_again_to_equal_weights(
    whole: tuple[StageResult, Path], warm: Policy, config: GrpoConfig, tmp_path: Path
) -> None:
    result, directory = whole
    shutil.copytree(directory, tmp_path / "grpo")
    for name in ("checkpoint", "checkpoint.previous"):
        shutil.rmtree(tmp_path / "grpo" / name)
    again = run(grpo_loop(warm, config), tmp_path / "grpo")
    assert again.policy.digest() == result.policy.digest()
    assert ledger(tmp_path / "grpo") == ledger(directory), "nothing was rolled out anew"


def test_a_run_may_be_made_longer(warm: Policy, tmp_path: Path) -> None:
    run(grpo_loop(warm, replace(SYNC, steps=2)), tmp_path / "grpo")
    longer = run(grpo_loop(warm, SYNC), tmp_path / "grpo")
    straight = run(grpo_loop(warm, SYNC), tmp_path / "straight")
    assert longer.policy.digest() == straight.policy.digest()


def test_a_run_that_is_done_is_read(whole: tuple[StageResult, Path], warm: Policy, config: GrpoConfig) -> None:
    result, directory = whole
    said: Told = []
    again = run(grpo_loop(warm, config), directory, said=said)
    assert said == [f"grpo: done before, {config.steps} steps"]
    assert again.policy.digest() == result.policy.digest()


def test_adapters_are_trained_saved_and_gone_on_with(warm: Policy, tmp_path: Path) -> None:
    config = replace(SYNC, steps=3, learner=LearnerConfig(lr=2e-2, lora=LoraConfig(rank=4)))
    straight = run(grpo_loop(warm, config), tmp_path / "straight")
    assert straight.policy.digest() != warm.digest()
    run(grpo_loop(warm, replace(config, steps=2)), tmp_path / "grpo")
    again = run(grpo_loop(warm, config), tmp_path / "grpo")
    assert again.policy.digest() == straight.policy.digest()
    assert load_policy(tmp_path / "grpo" / "checkpoint").digest() == straight.policy.digest()
    assert (tmp_path / "grpo" / "checkpoint" / "adapters" / "adapter_model.safetensors").is_file()


def test_figures_are_told_by_how_old_the_weights_were(whole: tuple[StageResult, Path], config: GrpoConfig) -> None:
    names = {name for row in whole[0].progress.history for name in row}
    assert {"ess/turn/0", "policy/ess", "policy/kl", "policy/entropy", "staleness/max"} <= names
    lags = {name for name in names if name.startswith("ess/lag/")}
    if config.limits.staleness:  # whether a group of the first step has anything to learn is up to which came first
        assert "ess/lag/1" in lags
    else:
        assert lags == {"ess/lag/0"}


def test_other_settings_do_not_go_on(warm: Policy, tmp_path: Path) -> None:
    run(grpo_loop(warm, replace(SYNC, steps=1)), tmp_path / "grpo")
    other = replace(SYNC, learner=LearnerConfig(lr=1e-5))
    with pytest.raises(CheckpointError, match=r"grpo.learner.lr: 0.002 -> 1e-05 \(trajectory\); give --amend"):
        run(grpo_loop(warm, other), tmp_path / "grpo")


def test_a_damaged_save_falls_back_to_the_one_before(warm: Policy, tmp_path: Path) -> None:
    straight = run(grpo_loop(warm, SYNC), tmp_path / "straight")
    run(grpo_loop(warm, replace(SYNC, steps=3)), tmp_path / "grpo")
    (tmp_path / "grpo" / "checkpoint" / "optimiser.safetensors").write_bytes(b"torn")
    said: Told = []
    again = run(grpo_loop(warm, SYNC), tmp_path / "grpo", said=said)
    assert "is damaged, the save before it is whole" in said[0]
    assert again.policy.digest() == straight.policy.digest()


# staleness


def sampled_versions(episode: Episode) -> list[int]:
    tokens = episode.segments[0].tokens
    assert tokens is not None
    return [version for version, own in zip(tokens.versions, tokens.sampled, strict=True) if own]


def test_no_token_is_older_than_the_bound_and_some_are_old(whole: tuple[StageResult, Path], config: GrpoConfig) -> None:
    lags = [
        batch.step - version
        for batch in recorded_batches(whole[1])
        for group in batch.groups
        for episode in group.episodes
        for version in sampled_versions(episode)
    ]
    assert min(lags) >= 0
    assert max(lags) <= config.limits.bound
    assert (max(lags) > 0) == (config.limits.staleness > 0)


DRAIN = replace(SYNC, steps=6, limits=Staleness(per_step=2, staleness=3), in_flight="drain")


def lags(directory: Path) -> dict[int, set[int]]:
    """By step: how many versions older the weights were that drew its tokens."""
    return {
        batch.step: {
            batch.step - version
            for group in batch.groups
            for episode in group.episodes
            for version in sampled_versions(episode)
        }
        for batch in recorded_batches(directory)
    }


def test_drained_rollouts_are_exactly_so_old_and_come_to_the_same_again(warm: Policy, tmp_path: Path) -> None:
    whole = run(grpo_loop(warm, DRAIN), tmp_path / "whole")
    assert lags(tmp_path / "whole") == {step: {min(step, 3)} for step in range(6)}
    for row in whole.progress.history:
        if "staleness/mean" in row:  # there is none where no group of a step differs
            assert row["staleness/mean"] == row["staleness/max"] == min(row["step"] - 1, 3)
    again = run(grpo_loop(warm, DRAIN), tmp_path / "again")
    replayed = run(grpo_loop(warm, DRAIN, replay=RecordedRun.of(tmp_path / "whole")), tmp_path / "replayed")
    assert again.policy.digest() == replayed.policy.digest() == whole.policy.digest()
    assert played(tmp_path / "again") == played(tmp_path / "replayed") == played(tmp_path / "whole")


@pytest.mark.parametrize("saved", [1, 3])
def test_a_drained_run_that_loses_steps_draws_them_anew_and_as_old(warm: Policy, tmp_path: Path, saved: int) -> None:
    whole = run(grpo_loop(warm, DRAIN), tmp_path / "whole")
    rarely = replace(DRAIN, save=replace(DRAIN.save, every=saved, minutes=None))
    with pytest.raises(Stopped):
        run(stopped(grpo_loop(warm, rarely), 5), tmp_path / "broken")
    resumed = run(grpo_loop(warm, rarely), tmp_path / "broken")
    assert resumed.policy.digest() == whole.policy.digest()
    assert lags(tmp_path / "broken") == lags(tmp_path / "whole")


def test_a_drained_run_has_no_window() -> None:
    with pytest.raises(ValueError, match=r"limits\.window=2: a step waits for every group"):
        replace(DRAIN, limits=Staleness(per_step=2, staleness=3, window=2))


# faults


def test_a_loss_that_is_no_number_is_one_error_and_the_last_save_stands(warm: Policy, tmp_path: Path) -> None:
    result = run(grpo_loop(warm, replace(SYNC, steps=2)), tmp_path / "grpo")
    loop = grpo_loop(warm, SYNC)
    train = loop._train

    def poisoned(
        groups: Sequence[RolloutGroup],
        branches: Sequence[RolloutGroup],
        columns: Mapping[str, Tensor],
        step: int,
    ) -> Metrics:
        with torch.no_grad():
            loop._learning._model.model.norm.weight.fill_(float("nan"))
        return train(groups, branches, columns, step)

    loop._train = poisoned  # type: ignore[method-assign]
    with pytest.raises(DivergedError, match="nan"):
        run(loop, tmp_path / "grpo")
    assert load_policy(tmp_path / "grpo" / "checkpoint").digest() == result.policy.digest()


def test_weights_that_are_no_numbers_are_an_error_of_the_engine(warm: Policy, tmp_path: Path) -> None:
    broken = warm.copy()
    with torch.no_grad():
        broken.model.model.norm.weight.fill_(float("nan"))
    config = replace(SYNC, pool=replace(SYNC.pool, engine=Backoff(retries=1, first=0.01)))
    with pytest.raises(EngineError, match="no finite numbers"):
        run(grpo_loop(broken, config), tmp_path / "grpo")


def test_a_world_that_always_fails_is_told_and_no_reward_is_invented(warm: Policy, tmp_path: Path) -> None:
    said: Told = []
    world = replace(WORLD, env_id=RAISING_ID)
    with pytest.raises(InfrastructureError, match=r"groups in a row broke.*the disk is gone"):
        run(grpo_loop(warm, SYNC, world=world, said=said), tmp_path / "grpo")
    assert ledger(tmp_path / "grpo") == []
    assert any("try 3 of 3 failed" in text for text in said)


@pytest.mark.parametrize("deed", ["raise", "die", "hang"])
def test_a_world_that_fails_once_costs_a_try_and_nothing_else(
    warm: Policy, tmp_path: Path, deed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In worker processes; the same episodes are trained on as in a run in which no world failed."""
    monkeypatch.setenv(DEED, f"{deed}:{tmp_path / 'once'}")
    (tmp_path / "once").touch()
    said: Told = []
    world = replace(WORLD, env_id=MOODY_ID, where="processes", workers=2, timeouts=Timeouts(step=3.0))
    config = replace(SYNC, steps=1)
    result = run(grpo_loop(warm, config, world=world, said=said), tmp_path / "grpo")
    assert not (tmp_path / "once").exists(), "it did fail"
    assert any("try 1 of 3 failed" in text for text in said)
    run(grpo_loop(warm, config), tmp_path / "straight")
    assert ledger(tmp_path / "grpo") == ledger(tmp_path / "straight")
    counts = result.progress.history[-1]
    assert counts["rollouts/retried"] >= 1
    assert (counts["rollouts/failed"], counts["faults"]) == (0, 0)
    assert [[e.episode_return for g in b.groups for e in g.episodes] for b in recorded_batches(tmp_path / "grpo")] == [
        [e.episode_return for g in b.groups for e in g.episodes] for b in recorded_batches(tmp_path / "straight")
    ]
