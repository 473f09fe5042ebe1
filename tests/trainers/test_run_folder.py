"""Runs as their folders tell them."""

from pathlib import Path

import orjson
import pytest
from typer.testing import CliRunner

from palaestra.cli.app import app
from palaestra.errors import RecordError
from palaestra.trainers.lineage import LineageEntry, append_lineage, read_lineage
from palaestra.trainers.run_folder import LINEAGE, differing_settings, find_runs, read_run, size_of

RUNNER = CliRunner()


def write_run(directory: Path, *, lr: float, steps: int = 20, previous: bool = False) -> Path:
    """The folder of a run with one stage."""
    (directory / "grpo").mkdir(parents=True)
    settings = {"seed": 0, "grpo": {"learner": {"lr": lr}}}
    (directory / "config.json").write_bytes(orjson.dumps(settings))
    for name in ("checkpoint", *(["checkpoint.previous"] if previous else [])):
        save = directory / "grpo" / name
        save.mkdir()
        history = [{"reward/mean": float(step), "solved": step / 100} for step in range(steps)]
        progress = {"config": "any", "step": steps, "seconds": 120.0, "history": history}
        (save / "progress.json").write_bytes(orjson.dumps(progress))
        (save / "model.safetensors").write_bytes(bytes(1000))
    return directory


def test_a_run_has_the_stages_that_were_saved_and_their_recent_means(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path / "a", lr=0.1))
    [stage] = run.stages
    assert (stage.name, stage.steps, stage.seconds) == ("grpo", 20, 120.0)
    assert stage.recent("reward/mean") == 14.5, "of the last ten steps"
    assert stage.recent("policy/kl") is None
    assert run.size == size_of(tmp_path / "a")


def test_the_save_before_is_read_where_the_last_one_is_gone(tmp_path: Path) -> None:
    directory = write_run(tmp_path / "a", lr=0.1, previous=True)
    (directory / "grpo" / "checkpoint" / "progress.json").unlink()
    assert read_run(directory).stages[0].steps == 20


def test_runs_are_found_at_any_depth_and_other_folders_are_not(tmp_path: Path) -> None:
    write_run(tmp_path / "a", lr=0.1)
    write_run(tmp_path / "deep" / "b", lr=0.1)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    assert [run.directory.name for run in find_runs(tmp_path)] == ["a", "b"]


def test_only_settings_that_differ_are_compared(tmp_path: Path) -> None:
    runs = [read_run(write_run(tmp_path / name, lr=lr)) for name, lr in (("a", 0.1), ("b", 0.2))]
    assert differing_settings(runs) == [("grpo.learner.lr", [0.1, 0.2])]


def test_pruning_deletes_the_save_before_the_last_and_says_what_it_freed(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a", lr=0.1, previous=True)
    spare = size_of(run / "grpo" / "checkpoint.previous")
    told = RUNNER.invoke(app, ["runs", "prune", str(run)])
    assert "would delete" in told.output
    assert (run / "grpo" / "checkpoint.previous").exists()
    assert read_run(run).prune() == spare
    assert [path.name for path in (run / "grpo").iterdir()] == ["checkpoint"]


@pytest.mark.parametrize("text", [b"", b"[1]", b"{"])
def test_a_folder_that_holds_no_run_is_refused_with_the_way_out(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes(text)
    with pytest.raises(RecordError, match="give the folder of a run"):
        read_run(tmp_path)


def test_the_command_shows_which_settings_were_changed_at_which_step(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a", lr=0.1)
    entries = [
        LineageEntry(
            stage="grpo",
            step=7,
            setting="grpo.learner.lr",
            before=0.2,
            after=0.1,
            kind="trajectory",
            ends_replay=True,
        ),
        LineageEntry(
            stage="grpo",
            step=7,
            setting="grpo.patience",
            before=None,
            after=9.0,
            kind="operational",
            ends_replay=False,
        ),
    ]
    append_lineage(run, entries[:1])
    append_lineage(run, entries)  # what stands there already is not repeated
    assert read_lineage(run) == entries
    assert [*orjson.loads((run / LINEAGE).read_bytes().splitlines()[0])] == [
        "stage",
        "step",
        "setting",
        "from",
        "to",
        "class",
        "ends_replay",
    ]
    told = RUNNER.invoke(app, ["runs", "show", str(run)]).output
    rows = [line.split() for line in told.splitlines() if line.split()[:2] == ["grpo", "7"]]
    assert rows == [
        ["grpo", "7", "grpo.learner.lr", "0.2", "0.1", "trajectory", "ends", "here"],
        ["grpo", "7", "grpo.patience", "-", "9.0", "operational", "goes", "on"],
    ]


@pytest.mark.parametrize("line", [b"[]", b"{}", b'{"stage": "grpo"}'])
def test_a_line_that_is_no_change_is_refused_with_its_number(line: bytes, tmp_path: Path) -> None:
    (tmp_path / LINEAGE).write_bytes(line + b"\n")
    with pytest.raises(RecordError, match=r"lineage.jsonl, line 1: no change of a setting"):
        read_lineage(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["list"], ["grpo 20", "14.500", "14.5 %", "2 min"]),
        (["show", "a"], ["20 steps in 2.0 min", "reward/mean", "19.000"]),
        (["compare", "a", "b", "--markdown"], ["| grpo.learner.lr | 0.1 | 0.2 |", "grpo: reward/mean"]),
    ],
)
def test_the_command_shows_runs(arguments: list[str], shown: list[str], tmp_path: Path) -> None:
    write_run(tmp_path / "a", lr=0.1)
    write_run(tmp_path / "b", lr=0.2)
    verb, *names = arguments
    places = [name if name.startswith("--") else str(tmp_path / name) for name in names] or [str(tmp_path)]
    told = RUNNER.invoke(app, ["runs", verb, *places])
    assert told.exit_code == 0, told.output
    assert all(text in told.output for text in shown), told.output
