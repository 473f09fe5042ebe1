"""A diagnosis of a run that was trained: whole, interrupted in several ways, by stage; and of folders without a run."""

import shutil
from pathlib import Path

import orjson
import pytest
from typer.testing import CliRunner, Result

from palaestra.benchmarks.diagnosis import diagnose, diagnosis_tables, find_causes, headline
from palaestra.benchmarks.diagnosis.reading import read_records
from palaestra.cli.app import app
from palaestra.errors import RecordError
from palaestra.trainers import recorded_batches
from worlds.training import library_settings

SETTINGS = library_settings(
    """
[sft]
steps = 4
batch = 4
learner = { lr = 0.02 }

[grpo]
steps = 3
group_size = 4
limits = { per_step = 2 }
play = { context = 400, turn = 24 }
pool = { agents = 8 }
save = { background = false }    # every step has its save, also where the disk is slow
""",
    trackers=["jsonl"],
)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a supervised stage and of a policy gradient."""
    folder = tmp_path_factory.mktemp("trained")
    (folder / "run.toml").write_text(SETTINGS)
    told = CliRunner().invoke(app, ["train", str(folder / "run.toml"), "--out", str(folder / "run")])
    assert told.exit_code == 0, told.output
    return folder / "run"


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    """A copy of it, to be damaged."""
    return Path(shutil.copytree(trained, tmp_path / "run"))


def command(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["diagnose", *arguments], env={"COLUMNS": "160"})


def test_every_recorded_episode_is_counted_and_the_share_solved_is_that_of_the_metrics(run: Path) -> None:
    found = diagnose(run)
    (stage,) = found.stages
    episodes = [one for batch in recorded_batches(run / "grpo") for group in batch.groups for one in group.episodes]
    assert stage.whole.whole.episodes == len(episodes) == 24
    rows = [orjson.loads(line) for line in (run / "grpo" / "metrics.jsonl").read_bytes().splitlines()]
    figures = [row for row in rows if "event" not in row]
    assert [value for _, value in stage.curves["points"]] == pytest.approx([row["reward/mean"] for row in figures])
    assert [value for _, value in stage.curves["solved"]] == pytest.approx([100 * row["solved"] for row in figures])
    assert [value for _, value in stage.curves["unfinished"]] == pytest.approx(
        [100 * row["unfinished"] for row in figures]
    )
    assert sum(stage.variations.values()) == 6
    assert (stage.steps, stage.planned, stage.saved) == (3, 3, 3)
    assert (found.silent, found.missing) == (["sft"], ())
    assert {change.stage: change.distance is None for change in found.weight_changes if change.is_whole_stage} == {
        "sft": True,  # its first weights are not saved
        "grpo": False,
    }


def test_the_command_prints_sentences_before_tables_and_writes_page_and_figures(run: Path, tmp_path: Path) -> None:
    told = command(str(run), "--json", str(tmp_path / "figures.json"))
    assert told.exit_code == 0, told.output
    findings = find_causes(diagnose(run))
    assert told.output.index("1. ") < told.output.index("grpo: families")
    assert findings
    document = orjson.loads((tmp_path / "figures.json").read_bytes())
    assert [one["sentence"] for one in document["findings"]] == [one.sentence for one in findings]
    assert document["summary"] == headline(diagnose(run))
    assert document["stages"][0]["whole"]["whole"]["episodes"] == 24
    page = (run / "diagnosis.html").read_text()
    assert page.startswith("<!doctype html>")
    assert orjson.dumps(findings[0].remedy).decode().translate({ord("<"): "\\u003c"}) in page
    assert "image/svg+xml" in page


def test_a_page_goes_where_it_is_asked_to(run: Path, tmp_path: Path) -> None:
    assert command(str(run), "--out", str(tmp_path / "there.html")).exit_code == 0
    assert (tmp_path / "there.html").exists()
    assert not (run / "diagnosis.html").exists()


def test_a_stage_is_diagnosed_by_itself(run: Path) -> None:
    found = diagnose(run / "grpo")
    assert [stage.name for stage in found.stages] == ["grpo"]
    assert found.stages[0].planned == 3, "the settings are those of its run"
    (run / "config.json").unlink()
    assert diagnose(run / "grpo").stages[0].planned is None


@pytest.mark.parametrize("limit", ["tokens", "cpu_seconds"])
def test_a_stage_that_ends_by_tokens_or_time_is_not_called_incomplete_by_its_steps(run: Path, limit: str) -> None:
    settings = orjson.loads((run / "config.json").read_bytes())
    settings["grpo"] |= {"steps": 16, limit: 5}
    (run / "config.json").write_bytes(orjson.dumps(settings))
    found = diagnose(run)
    assert found.stages[0].planned is None
    assert len(headline(found)) == 1


def test_a_run_that_was_killed_in_a_step_is_read_up_to_its_last_whole_line(run: Path) -> None:
    """The last batch was being written, its step has no metrics, and the save is of an earlier step."""
    batches, metrics = run / "grpo" / "batches.jsonl", run / "grpo" / "metrics.jsonl"
    batches.write_bytes(batches.read_bytes()[:-200])
    metrics.write_bytes(metrics.read_bytes()[:-20])
    shutil.rmtree(run / "grpo" / "checkpoint")
    (stage,) = diagnose(run).stages
    assert stage.whole.whole.episodes == 16
    assert (stage.steps, stage.saved) == (2, 2)
    assert "grpo has 2 of 3 steps, the last save holds 2" in headline(diagnose(run))[1]
    assert command(str(run)).exit_code == 0


def test_a_run_before_its_first_save_and_without_metrics_says_what_is_not_recorded(run: Path) -> None:
    for name in ("checkpoint", "checkpoint.previous"):
        shutil.rmtree(run / "grpo" / name)
    (run / "grpo" / "metrics.jsonl").unlink()
    (run / "sft" / "metrics.jsonl").unlink()
    shutil.rmtree(run / "sft" / "checkpoint")
    shutil.rmtree(run / "sft" / "checkpoint.previous", ignore_errors=True)
    found = diagnose(run)
    assert {change.missing for change in found.weight_changes} == {"the stage has no save yet"}
    cells = [
        cell for table in diagnosis_tables(found) if table.title == "Entropy" for row in table.rows for cell in row
    ]
    assert "not recorded" in cells
    assert found.missing == ("sft",)


def test_a_run_without_a_tracker_has_the_figures_of_its_last_save(run: Path) -> None:
    (run / "grpo" / "metrics.jsonl").unlink()
    records = read_records(run)
    assert [row["step"] for row in records.stages[-1].history] == [1, 2, 3]


def test_a_step_that_was_recorded_twice_counts_once(run: Path) -> None:
    batches = run / "grpo" / "batches.jsonl"
    lines = batches.read_bytes().splitlines(keepends=True)
    batches.write_bytes(b"".join([*lines, lines[-1]]))
    assert diagnose(run).stages[0].whole.whole.episodes == 24


def test_a_supervised_stage_alone_is_a_run_without_rollouts(run: Path) -> None:
    shutil.rmtree(run / "grpo")
    told = command(str(run))
    assert told.exit_code == 0, told.output
    assert "No rollouts are recorded (sft so far)" in told.output
    assert "grpo has not begun" in told.output


def test_a_folder_without_a_run_is_refused_with_the_rule_and_the_way_out(run: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(RecordError, match=r"is no run: it has no config.json with stages.*palaestra train --out"):
        diagnose(empty)
    with pytest.raises(RecordError, match="is no run"):
        diagnose(tmp_path / "nowhere")
    with pytest.raises(RecordError, match=rf"is no run.*give {run}"):
        diagnose(tmp_path)
    (empty / "config.json").write_text("{}")
    with pytest.raises(RecordError, match="is no run"):
        diagnose(empty)
    (empty / "config.json").write_text("{")
    with pytest.raises(RecordError, match="cannot be read"):
        diagnose(empty)
