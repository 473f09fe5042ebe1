"""The command takes checkpoints and runs, and refuses what is neither."""

from pathlib import Path

import numpy as np
import orjson
import pytest
from typer.testing import CliRunner

from palaestra.benchmarks.credit import CreditConfig, CreditReading, ScoredTurns, score_method
from palaestra.cli.app import app
from palaestra.cli.credit import named_checkpoints
from palaestra.errors import CheckpointError, ConfigError


def write_run(directory: Path, *saved: str) -> Path:
    """A run with two stages, of which some were saved."""
    directory.mkdir(parents=True)
    (directory / "config.json").write_bytes(orjson.dumps({"seed": 0, "stages": ["sft", "grpo"], "sft": {}, "grpo": {}}))
    for stage in saved:
        checkpoint = directory / stage / "checkpoint"
        checkpoint.mkdir(parents=True)
        (checkpoint / "progress.json").write_bytes(orjson.dumps({"step": 1, "seconds": 1.0, "history": []}))
    return directory


def test_of_a_run_the_last_saved_stage_is_taken(tmp_path: Path) -> None:
    both, first = write_run(tmp_path / "both", "sft", "grpo"), write_run(tmp_path / "first", "sft")
    assert named_checkpoints([both, first]) == {
        "both": both / "grpo" / "checkpoint",
        "first": first / "sft" / "checkpoint",
    }


def test_a_checkpoint_is_taken_as_it_is(tmp_path: Path) -> None:
    checkpoint = tmp_path / "policy"
    checkpoint.mkdir()
    (checkpoint / "palaestra.json").write_text("{}")
    assert named_checkpoints([checkpoint]) == {"policy": checkpoint}


def test_a_run_without_a_save_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="without a saved stage"):
        named_checkpoints([write_run(tmp_path / "run")])


def test_a_folder_that_is_neither_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="neither a checkpoint nor a run"):
        named_checkpoints([tmp_path])


def test_two_folders_of_one_name_are_refused(tmp_path: Path) -> None:
    folders = [write_run(tmp_path / place / "run", "sft") for place in ("a", "b")]
    with pytest.raises(ConfigError, match="have the same name"):
        named_checkpoints(folders)


def test_figures_are_written_where_they_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    turns = ScoredTurns(exact=(1.0, -1.0), errors=(0.1, 0.1), tasks=("a", "b"), families=("x", "y"))
    score = score_method(turns, np.array([[[0.5, 0.7], [0.6, 0.6]], [[-0.5, -0.7], [-0.6, -0.6]]]))
    seen: list[tuple[CreditConfig, Path, str]] = []

    def measure(policy: object, config: CreditConfig, directory: Path, *, name: str, **_: object) -> CreditReading:
        assert policy == "policy"
        seen.append((config, directory, name))
        return CreditReading(
            policy=name, weights="", tasks=2, families=2, turns=2, episodes=9, size=1.0, error=0.1, decided=2,
            methods={"grpo": score}, critics={},
        )  # fmt: skip

    def load(folder: Path) -> str:
        return "policy"

    monkeypatch.setattr("palaestra.benchmarks.credit.measure_credit", measure)
    monkeypatch.setattr("palaestra.trainers.load_policy", load)
    files = {
        flag: tmp_path / name for flag, name in (("--json", "a.json"), ("--markdown", "a.md"), ("--plot", "a.svg"))
    }
    words = ["--tasks", "2", "--seed", "3", "--family", "order-status", "--out", str(tmp_path / "out")]
    words += [str(word) for pair in files.items() for word in pair]
    result = CliRunner().invoke(
        app, ["bench", "credit", str(write_run(tmp_path / "run", "sft")), *words], catch_exceptions=False
    )
    assert result.exit_code == 0
    assert "near-exact advantages: run" in result.output
    [(config, directory, name)] = seen
    assert (config.tasks, config.seed, config.world.families) == (2, 3, ("order-status",))
    assert (directory, name) == (tmp_path / "out" / "run", "run")
    assert orjson.loads(files["--json"].read_bytes())["policies"][0]["methods"]["grpo"]["figures"]["scale"] > 0
    assert "| grpo |" in files["--markdown"].read_text()
    assert "<svg" in files["--plot"].read_text()


def test_a_picture_of_another_kind_is_refused_before_anything_is_played(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["bench", "credit", str(tmp_path), "--plot", "credit.gif"])
    assert isinstance(result.exception, ConfigError)
    assert "ends in .png or .svg" in str(result.exception)
