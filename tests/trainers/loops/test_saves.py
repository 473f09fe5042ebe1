"""Nothing is lost: signals, disks, numbers that are none, and what a save holds."""

import asyncio
import errno
import os
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from orjson import dumps
from safetensors.torch import load_file
from torch import Tensor

from crash.killer import files_of_at_most
from crash.loops import SYNC, WARM, WORLD, Told, grpo_loop, ledger, run, sft_loop
from crash.moody import DEED, MOODY_ID, NAN_ID
from palaestra.errors import (
    CheckpointError,
    DivergedError,
    InfrastructureError,
    StoppedError,
    StorageError,
)
from palaestra.trainers.learner import Learner, LearnerConfig, LoraConfig
from palaestra.trainers.loops import GrpoLoop, SaveConfig, recorded_batches
from palaestra.trainers.loops.record import quarantined_batches
from palaestra.trainers.loops.rollouts import AskColumns, StepRollouts
from palaestra.trainers.loops.saves import Saver, StageProgress, StageSnapshot, read_progress, restore, take_snapshot
from palaestra.trainers.objectives import Metrics
from palaestra.trainers.policy import Policy, load_policy
from palaestra.trainers.rollouts.groups import RolloutGroup


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    """A policy that has seen the oracle, and makes calls, some of them right."""
    return run(sft_loop(steps=WARM), tmp_path_factory.mktemp("warm") / "sft").policy


@pytest.fixture(scope="module")
def straight(warm: Policy, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a run comes to that nobody interrupts."""
    return run(grpo_loop(warm, SYNC), tmp_path_factory.mktemp("straight") / "grpo").policy.digest()


# signals


def asked_in_rollouts(loop: GrpoLoop, number: int) -> None:
    """Have the process get a signal while the third step waits for its rollouts."""
    rollouts = loop._rollouts
    taken = rollouts.batch

    async def batch(step: int, *, asked: frozenset[str] = frozenset(), ask: AskColumns | None = None) -> StepRollouts:
        if step == 2:
            os.kill(os.getpid(), number)
        return await taken(step, asked=asked, ask=ask)

    rollouts.batch = batch  # type: ignore[method-assign]


def asked_in_training(loop: GrpoLoop, number: int) -> None:
    """Have it get the signal between two updates of the third step."""
    train = loop._train

    def trained(
        groups: Sequence[RolloutGroup],
        branches: Sequence[RolloutGroup],
        columns: Mapping[str, Tensor],
        step: int,
    ) -> Metrics:
        if step == 2:
            os.kill(os.getpid(), number)
        return train(groups, branches, columns, step)

    loop._train = trained  # type: ignore[method-assign]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize(("ask", "done"), [(asked_in_rollouts, 2), (asked_in_training, 3)])
def test_a_signal_saves_after_the_last_whole_step_and_the_run_goes_on_to_the_same_end(
    ask: Callable[[GrpoLoop, int], None], done: int, number: int, warm: Policy, straight: str, tmp_path: Path
) -> None:
    config = replace(SYNC, save=SaveConfig(every=100, minutes=None))
    loop = grpo_loop(warm, config)
    ask(loop, number)
    before = signal.getsignal(number)
    with pytest.raises(
        StoppedError, match=f"grpo stopped after step {done} and is saved in .* the same command"
    ) as told:
        run(loop, tmp_path / "grpo")
    assert told.value.signal == number
    assert signal.getsignal(number) == before
    assert read_progress(tmp_path / "grpo" / "checkpoint").step == done
    assert run(grpo_loop(warm, config), tmp_path / "grpo").policy.digest() == straight


def test_a_stage_in_another_thread_runs_without_listening_to_signals(
    warm: Policy, straight: str, tmp_path: Path
) -> None:
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(run(grpo_loop(warm, SYNC), tmp_path / "g").policy.digest()))
    thread.start()
    thread.join()
    assert found == [straight]


# numbers that are none


def test_a_reward_of_nan_is_a_fault_of_the_world_that_costs_a_try_and_nothing_else(
    warm: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DEED, f"nan:{tmp_path / 'once'}")
    (tmp_path / "once").touch()
    said: Told = []
    config = replace(SYNC, steps=1)
    run(grpo_loop(warm, config, world=replace(WORLD, env_id=MOODY_ID), said=said), tmp_path / "grpo")
    assert not (tmp_path / "once").exists(), "it did pay NaN"
    assert any("try 1 of 3 failed: the reward of turn 1 of" in text and "is nan" in text for text in said)
    run(grpo_loop(warm, config), tmp_path / "straight")
    assert ledger(tmp_path / "grpo") == ledger(tmp_path / "straight")


def test_a_world_that_pays_nan_at_every_try_gives_no_batch_and_the_run_is_not_spoilt(
    warm: Policy, straight: str, tmp_path: Path
) -> None:
    with pytest.raises(InfrastructureError, match=r"groups in a row broke.*is nan; rewards are finite"):
        run(grpo_loop(warm, SYNC, world=replace(WORLD, env_id=NAN_ID)), tmp_path / "grpo")
    assert ledger(tmp_path / "grpo") == []
    assert run(grpo_loop(warm, SYNC), tmp_path / "grpo").policy.digest() == straight


def poisoned(loop: GrpoLoop, at: int) -> GrpoLoop:
    """The loop, whose loss is NaN in step number `at`."""
    train = loop._train

    def poison(
        groups: Sequence[RolloutGroup],
        branches: Sequence[RolloutGroup],
        columns: Mapping[str, Tensor],
        step: int,
    ) -> Metrics:
        if step == at:
            with torch.no_grad():
                loop._learning._model.model.norm.weight.fill_(float("nan"))
        return train(groups, branches, columns, step)

    loop._train = poison  # type: ignore[method-assign]
    return loop


def test_a_batch_that_diverged_is_quarantined_and_left_out_when_the_run_goes_on(warm: Policy, tmp_path: Path) -> None:
    config = replace(SYNC, save=SaveConfig(every=2, minutes=None))
    with pytest.raises(DivergedError, match=r"quarantine.jsonl.*leaves the batch out"):
        run(poisoned(grpo_loop(warm, config), at=3), tmp_path / "grpo")
    [bad] = quarantined_batches(tmp_path / "grpo")
    assert (bad.step, "nan" in bad.reason, len(bad.tasks) > 0) == (3, True, True)
    said: Told = []
    result = run(grpo_loop(warm, config, said=said), tmp_path / "grpo", said=said)
    assert any("step 4: 2 groups are left out, since training on them diverged" in text for text in said)
    assert result.progress.step == config.steps
    last = list(recorded_batches(tmp_path / "grpo"))[-1]
    assert last.step == 3
    assert {group.index for group in last.groups}.isdisjoint(bad.groups)
    assert result.progress.history[-1]["rollouts/quarantined"] == 2


def test_a_second_batch_that_diverges_is_quarantined_beside_the_first(warm: Policy, tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(DivergedError):
            run(poisoned(grpo_loop(warm, SYNC), at=1), tmp_path / "grpo")
    first, second = quarantined_batches(tmp_path / "grpo")
    assert set(first.groups).isdisjoint(second.groups)
    assert run(grpo_loop(warm, SYNC), tmp_path / "grpo").progress.step == SYNC.steps


# disks


def written(saved: Path, snapshot: StageSnapshot) -> None:
    """Write a save, and wait for it."""

    async def write() -> None:
        saver = Saver(saved)
        try:
            assert saver.is_free()
            saver.begin(snapshot)
            assert not saver.is_free()
            await saver.finish()
        finally:
            saver.close()

    asyncio.run(write())


@pytest.mark.parametrize("lora", [None, LoraConfig(rank=4)])
def test_a_disk_that_is_full_at_any_file_of_a_save_is_one_error_and_the_last_save_stands(
    lora: LoraConfig | None, warm: Policy, tmp_path: Path
) -> None:
    learner = Learner(warm.copy().model, LearnerConfig(lr=1e-2, lora=lora))
    saved = tmp_path / "checkpoint"

    def snapshot(step: int) -> StageSnapshot:
        progress = StageProgress(config="any", step=step, history=[{"loss": 1.0}] * 20)
        held = {"weights": {"head": torch.ones(300)}}
        kept = dumps(["rollouts"] * 20)
        return take_snapshot(warm, learner, progress, kept=kept, held=held, copy=True, whole=lora is None)

    written(saved, snapshot(1))
    sizes = {path.stat().st_size for path in saved.rglob("*") if path.is_file()}
    for size in sorted(sizes - {0}):
        with files_of_at_most(size - 1), pytest.raises(StorageError, match="free some space"):
            written(saved, snapshot(2))
        assert restore(saved).progress.step == 1
        assert [path.name for path in tmp_path.iterdir()] == ["checkpoint"]
    assert len(sizes) >= 7
    written(saved, snapshot(2))
    assert restore(saved).progress.step == 2


def test_a_disk_that_fills_while_a_save_is_written_beside_training_ends_the_run_with_that_error(
    warm: Policy, straight: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(grpo_loop(warm, replace(SYNC, steps=1)), tmp_path / "grpo")

    def full(snapshot: StageSnapshot, directory: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(StageSnapshot, "write", full)
    with pytest.raises(StorageError, match="free some space"):
        run(grpo_loop(warm, SYNC), tmp_path / "grpo")
    monkeypatch.undo()
    assert read_progress(tmp_path / "grpo" / "checkpoint").step == 1
    assert run(grpo_loop(warm, SYNC), tmp_path / "grpo").policy.digest() == straight


# what a save holds


def test_a_save_holds_every_weight_once_and_both_moments(warm: Policy, tmp_path: Path) -> None:
    run(grpo_loop(warm, SYNC), tmp_path / "grpo")
    weights = sum(weight.numel() * 4 for weight in warm.model.parameters())
    files = {path.name: path.stat().st_size for path in (tmp_path / "grpo" / "checkpoint").iterdir() if path.is_file()}
    tensors = files["model.safetensors"] + files["optimiser.safetensors"]
    assert 3.0 <= tensors / weights <= 3.1


def test_adapters_are_saved_alone_until_the_stage_ends_and_make_a_policy_with_their_base(
    warm: Policy, tmp_path: Path
) -> None:
    lora = LearnerConfig(lr=2e-2, lora=LoraConfig(rank=4))
    config = replace(SYNC, learner=lora, save=SaveConfig(every=1, background=False))
    loop = grpo_loop(warm, config)
    asked_in_rollouts(loop, signal.SIGTERM)
    with pytest.raises(StoppedError):
        run(loop, tmp_path / "grpo")
    saved = tmp_path / "grpo" / "checkpoint"
    assert not (saved / "model.safetensors").exists()
    assert len(load_file(saved / "adapters" / "adapter_model.safetensors")) == 14
    assert load_policy(tmp_path / "grpo" / "base").digest() == warm.digest()
    half = load_policy(saved).digest()
    assert half != warm.digest()
    straight = run(grpo_loop(warm, config), tmp_path / "straight").policy
    assert run(grpo_loop(warm, config), tmp_path / "grpo").policy.digest() == straight.digest()
    assert (saved / "model.safetensors").exists()
    assert load_policy(saved).digest() == straight.digest()


def test_what_a_killed_write_of_the_base_left_is_swept(warm: Policy, tmp_path: Path) -> None:
    left = tmp_path / "grpo" / ".base.abcdefgh.tmp"
    left.mkdir(parents=True)
    config = replace(SYNC, steps=1, learner=LearnerConfig(lr=2e-2, lora=LoraConfig(rank=4)))
    run(grpo_loop(warm, config), tmp_path / "grpo")
    assert not left.exists()


def test_adapters_without_their_base_say_what_is_missing(warm: Policy, tmp_path: Path) -> None:
    config = replace(SYNC, learner=LearnerConfig(lr=2e-2, lora=LoraConfig(rank=4)))
    loop = grpo_loop(warm, config)
    asked_in_rollouts(loop, signal.SIGTERM)
    with pytest.raises(StoppedError):
        run(loop, tmp_path / "grpo")
    (tmp_path / "grpo" / "base").rename(tmp_path / "elsewhere")
    with pytest.raises(CheckpointError, match="which is not there; keep the two side by side"):
        load_policy(tmp_path / "grpo" / "checkpoint")


def test_a_frozen_base_is_shared_by_whoever_needs_it(warm: Policy) -> None:
    loop = grpo_loop(warm, replace(SYNC, learner=LearnerConfig(lr=2e-2, lora=LoraConfig(rank=4))))
    learner = Learner(loop.start().model, loop.learner)
    own = {weight.data_ptr() for name, weight in learner._model.named_parameters() if ".lora_" not in name}
    assert own == {weight.data_ptr() for weight in warm.model.parameters()}


def test_time_makes_a_save_due_however_many_steps_were_taken(warm: Policy, tmp_path: Path) -> None:
    config = replace(SYNC, save=SaveConfig(every=100, minutes=1e-9, background=False))
    with pytest.raises(DivergedError):
        run(poisoned(grpo_loop(warm, config), at=2), tmp_path / "grpo")
    assert read_progress(tmp_path / "grpo" / "checkpoint").step == 2


@pytest.mark.parametrize("change", [{"every": 0}, {"minutes": 0.0}, {"minutes": -1.0}])
def test_a_save_that_could_never_be_due_is_refused(change: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(change))):
        SaveConfig(**change)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
