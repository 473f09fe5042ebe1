"""Trackers: what was logged can be read again, and after a resume no step is there twice."""

import sys
from pathlib import Path
from typing import Any

import pytest
import wandb
from tensorboard.backend.event_processing.event_accumulator import (  # type: ignore[import-untyped]
    EventAccumulator,
)

from palaestra.errors import ConfigError, RecordError, StorageError
from palaestra.records import JsonObject
from palaestra.trainers.monitors import JsonLinesTracker, Tracker, read_log, tracker_named
from palaestra.trainers.monitors.tensorboard import TensorBoardTracker
from palaestra.trainers.monitors.tracker import LOG
from palaestra.trainers.monitors.wandb import WandbTracker
from palaestra.trainers.objectives import Metrics


def test_what_is_logged_stands_in_the_file_at_once(tmp_path: Path) -> None:
    tracker = JsonLinesTracker(tmp_path / "run", 0)
    tracker.log(1, {"reward/mean": 0.25})
    tracker.event(1, "KL jump", "look")
    assert read_log(tmp_path / "run" / LOG) == [
        {"step": 1, "reward/mean": 0.25},
        {"step": 1, "event": "KL jump", "text": "look"},
    ]
    tracker.close()
    tracker.close()


def test_a_run_that_goes_on_from_an_older_save_takes_later_steps_back(tmp_path: Path) -> None:
    first = JsonLinesTracker(tmp_path, 0)
    for step in range(1, 6):
        first.log(step, {"reward/mean": float(step)})
        first.event(step, "alarm", "look")
    first.close()
    second = JsonLinesTracker(tmp_path, 3)
    second.log(4, {"reward/mean": 40.0})
    second.close()
    rows = read_log(tmp_path / LOG)
    assert [(row["step"], row.get("reward/mean")) for row in rows if "event" not in row] == [
        (1, 1.0),
        (2, 2.0),
        (3, 3.0),
        (4, 40.0),
    ]
    assert [row["step"] for row in rows if "event" in row] == [1, 2, 3]


def test_a_line_that_a_kill_cut_short_is_left_out_and_the_next_stands_alone(tmp_path: Path) -> None:
    (tmp_path / LOG).write_bytes(b'{"step":1,"loss":2.0}\n{"step":2,"lo')
    tracker = JsonLinesTracker(tmp_path, 2)
    tracker.log(3, {"loss": 1.0})
    tracker.close()
    assert read_log(tmp_path / LOG) == [{"step": 1, "loss": 2.0}, {"step": 3, "loss": 1.0}]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b'{"step":1}\n{"st\n{"step":3}\n', "line 2: no JSON"),
        (b"[1]\n", "line 1: no step"),
        (b'{"step":"1"}\n', "line 1: no step"),
    ],
)
def test_a_file_of_somebody_elses_is_not_touched(tmp_path: Path, text: bytes, says: str) -> None:
    (tmp_path / LOG).write_bytes(text)
    with pytest.raises(RecordError, match=says):
        JsonLinesTracker(tmp_path, 0)
    assert (tmp_path / LOG).read_bytes() == text


def test_a_log_that_cannot_be_opened_is_told(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("a file where the folder should be")
    with pytest.raises(StorageError, match="could not write"):
        JsonLinesTracker(tmp_path / "run", 0)


def test_a_full_disk_is_told_with_the_way_out() -> None:
    tracker = JsonLinesTracker.__new__(JsonLinesTracker)
    tracker._path = Path("/dev/full")
    with Path("/dev/full").open("wb", buffering=0) as full:
        tracker._file = full
        with pytest.raises(StorageError, match=r"No space left.*goes on from its last save"):
            tracker.log(1, {})


def scalars(directory: Path) -> dict[str, list[tuple[int, float]]]:
    found: Any = EventAccumulator(str(directory / "tensorboard"))
    found.Reload()
    return {tag: [(event.step, event.value) for event in found.Scalars(tag)] for tag in found.Tags()["scalars"]} | {
        tag: [] for tag in found.Tags()["tensors"]
    }


def test_tensorboard_reads_what_was_logged(tmp_path: Path) -> None:
    tracker = TensorBoardTracker(tmp_path, 0, {})
    tracker.log(1, {"reward/mean": 0.25, "solved": 0.5})
    tracker.log(2, {"reward/mean": 0.75, "solved": 1.0})
    tracker.event(2, "KL jump", "look")
    tracker.close()
    tracker.close()
    assert scalars(tmp_path) == {
        "reward/mean": [(1, 0.25), (2, 0.75)],
        "solved": [(1, 0.5), (2, 1.0)],
        "KL jump/text_summary": [],
        "settings/text_summary": [],
    }


def test_tensorboard_forgets_steps_that_are_taken_back(tmp_path: Path) -> None:
    first = TensorBoardTracker(tmp_path, 0, {})
    for step in range(1, 6):
        first.log(step, {"loss": float(step)})
    first.close()
    second = TensorBoardTracker(tmp_path, 3, {})
    second.log(4, {"loss": 40.0})
    second.close()
    assert scalars(tmp_path)["loss"] == [(1, 1.0), (2, 2.0), (3, 3.0), (4, 40.0)]


def test_wandb_keeps_a_run_offline_and_goes_on_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"MODE": "offline", "SILENT": "true", "CONSOLE": "off"}.items():
        monkeypatch.setenv(f"WANDB_{name}", value)
    first = WandbTracker(tmp_path, 0, {})
    first.log(1, {"reward/mean": 0.25})
    first.event(1, "KL jump", "look at it")
    first.close()
    first.close()
    begun = (tmp_path / "wandb-id.txt").read_text()
    second = WandbTracker(tmp_path, 1, {})
    second.log(2, {"reward/mean": 0.625})
    second.close()
    wandb.teardown()  # as at the process's end: its own process writes what is left
    assert (tmp_path / "wandb-id.txt").read_text() == begun
    kept = b"".join(path.read_bytes() for path in sorted((tmp_path / "wandb").glob(f"*/run-{begun}.wandb")))
    assert kept.count(b"reward/mean") >= 2
    assert b"0.25" in kept
    assert b"0.625" in kept
    assert b"look at it" in kept


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("jsonl", JsonLinesTracker),
        ("tensorboard", TensorBoardTracker),
        ("wandb", WandbTracker),
        (f"{__name__}:Listed", None),
    ],
)
def test_each_tracker_can_be_opened_by_its_name(
    name: str, kind: type[Tracker] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_MODE", "disabled")
    tracker = tracker_named(name)(tmp_path, 0, {"seed": 1})
    tracker.close()
    assert type(tracker) is (kind or Listed)


def test_wandb_that_is_not_installed_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    monkeypatch.delitem(sys.modules, "palaestra.trainers.monitors.wandb")
    with pytest.raises(ConfigError, match="pip install wandb"):
        tracker_named("wandb")(tmp_path, 0, {})


class Listed(Tracker):
    """A tracker of a user's, that lists what it is told."""

    def __init__(self, directory: Path, done: int, settings: JsonObject) -> None:
        self.told: list[object] = [directory.name, done, settings]

    def log(self, step: int, metrics: Metrics) -> None:
        self.told.append((step, metrics))

    def event(self, step: int, name: str, text: str) -> None:
        self.told.append((step, name, text))

    def close(self) -> None:
        self.told.append("closed")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("tensorbord", "did you mean 'tensorboard'"),
        ("no_such_module:Tracker", "cannot be loaded .*write module:name"),
        (f"{__name__}:Nothing", "cannot be loaded"),
        (f"{__name__}:__name__", "is to be called"),
    ],
)
def test_a_tracker_that_is_none_is_refused_with_the_way_out(name: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        tracker_named(name)
