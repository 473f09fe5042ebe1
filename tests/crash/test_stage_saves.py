"""The saves of a training stage, and the acceptance of settings, at a kill or a fault of any operation on the disk."""

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

import orjson
import pytest
import torch

from crash.killer import Killed, failing_at, killed_after
from crash.loops import POLICY, demonstrations
from palaestra.durable import sweep
from palaestra.errors import StorageError
from palaestra.trainers.folder import BASE
from palaestra.trainers.learner import Learner, LearnerConfig, LoraConfig
from palaestra.trainers.lineage import read_lineage
from palaestra.trainers.loops import TrainConfig, initial_policy, read_config
from palaestra.trainers.loops.changes import accept_settings, flat_document
from palaestra.trainers.loops.saves import Saver, StageProgress, restore, save_base, take_snapshot
from palaestra.trainers.loops.setting_classes import flat_settings
from palaestra.trainers.policy import Policy, load_policy

Write: TypeAlias = Callable[[int], None]
LORA = LoraConfig(rank=2)


@pytest.fixture(scope="module")
def policy() -> Policy:
    return initial_policy(POLICY, list(demonstrations()), seed=0)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the disk's own fsync does is not what is tested."""

    def fsync(descriptor: int) -> None:
        del descriptor

    monkeypatch.setattr(os, "fsync", fsync)


def writer(policy: Policy, saved: Path, lora: LoraConfig | None) -> Write:
    """Writes save number `step` of a stage, all kinds of its files included."""
    learner = Learner(policy.copy().model, LearnerConfig(lr=1e-2, lora=lora))
    saver = Saver(saved)

    def write(step: int) -> None:
        progress = StageProgress(config="any", step=step, history=[{"loss": 1.0}])
        held = {"weights": {"head": torch.full((3,), float(step))}}
        kept = orjson.dumps([step])
        saver._write(take_snapshot(policy, learner, progress, kept=kept, held=held, copy=False, whole=lora is None))

    return write


def step_of(saved: Path) -> int:
    """The number of the save that is found, every file of which is of that save."""
    found = restore(saved)
    assert orjson.loads(found.kept) == [found.progress.step]
    assert float(found.held["weights"]["head"][0]) == found.progress.step
    return found.progress.step


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("lora", [None, LORA], ids=["weights", "adapters"])
def test_a_save_that_is_killed_at_any_operation_leaves_it_or_the_one_before_whole(
    lora: LoraConfig | None, policy: Policy, tmp_path: Path
) -> None:
    saved = tmp_path / "checkpoint"
    write = writer(policy, saved, lora)
    write(0)
    died, step, found = True, 0, set[int]()
    while died:
        step += 1
        try:
            with killed_after(step):
                write(step)
            died = False
        except Killed:
            died = True
        sweep(saved)
        behind = step - step_of(saved)
        assert {path.name for path in tmp_path.iterdir()} <= {"checkpoint", "checkpoint.previous"}
        found.add(behind)
        write(step)
    assert found == {0, 1}
    assert step > 15


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("lora", [None, LORA], ids=["weights", "adapters"])
def test_a_disk_that_is_full_at_any_operation_of_a_save_is_one_error_and_a_save_stands(
    lora: LoraConfig | None, policy: Policy, tmp_path: Path
) -> None:
    saved = tmp_path / "checkpoint"
    write = writer(policy, saved, lora)
    write(0)
    reached, step = True, 0
    while reached:
        step += 1
        told = False
        with failing_at(step, errno.ENOSPC, for_good=True) as came:
            try:
                write(step)
            except StorageError as error:
                told = error.errno == errno.ENOSPC
            reached = came()
        assert step - step_of(saved) in ({0, 1} if told else {0})
        write(step)
    assert step > 25


@pytest.mark.usefixtures("quick")
def test_the_policy_under_adapters_is_whole_or_not_there_after_a_kill(policy: Policy, tmp_path: Path) -> None:
    died, operations = True, 0
    while died:
        directory = tmp_path / str(operations)
        directory.mkdir()
        try:
            with killed_after(operations):
                save_base(policy, directory)
            died = False
        except Killed:
            assert not (directory / BASE).exists() or load_policy(directory / BASE).digest() == policy.digest()
            save_base(policy, directory)
        assert load_policy(directory / BASE).digest() == policy.digest()
        operations += 1
    assert operations > 5


# settings


def settled(lr: float) -> TrainConfig:
    return read_config({"grpo": {"learner": {"lr": lr}}})


def begun(folder: Path) -> Path:
    """A run with old settings."""
    (folder / "grpo").mkdir(parents=True)
    accept_settings(folder, settled(1e-3), amend=False)
    return folder


def check_settings(folder: Path) -> bool:
    """Whether the new settings stand; both files are whole, and no change is without its line."""
    flat = flat_settings(orjson.loads((folder / "config.json").read_bytes()))
    assert flat in (flat_document(settled(1e-3)), flat_document(settled(1e-4)))
    new = flat["grpo.learner.lr"] == 1e-4
    lines = [entry.setting for entry in read_lineage(folder)]
    assert lines == ["grpo.learner.lr"] if new else lines in ([], ["grpo.learner.lr"])
    return new


@pytest.mark.usefixtures("quick")
def test_new_settings_are_accepted_whole_or_not_at_all_and_are_never_without_their_lineage(tmp_path: Path) -> None:
    died, operations = True, 0
    while died:
        folder = begun(tmp_path / str(operations))
        try:
            with killed_after(operations):
                accept_settings(folder, settled(1e-4), amend=True)
            died = False
        except Killed:
            check_settings(folder)
        accept_settings(folder, settled(1e-4), amend=True)
        assert check_settings(folder)
        operations += 1
    assert operations > 3


@pytest.mark.usefixtures("quick")
def test_a_full_disk_refuses_new_settings_and_the_old_ones_stand(tmp_path: Path) -> None:
    reached, operation = True, 0
    while reached:
        folder = begun(tmp_path / str(operation))
        with failing_at(operation, errno.ENOSPC, for_good=True) as came:
            with suppress(StorageError):
                accept_settings(folder, settled(1e-4), amend=True)
            reached = came()
        check_settings(folder)
        operation += 1
    assert operation > 5
