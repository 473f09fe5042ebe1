"""`palaestra compare` as a person uses it: what it prints, what it writes, and one sentence for each mistake."""

import sys
from pathlib import Path
from statistics import fmean

import orjson
import pytest

from evaluations import noise_suite, played, write_evaluation
from palaestra.benchmarks.evaluation.results import SETTINGS, read_results
from palaestra.cli import main


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The oracle and an agent that only reads, on the same tasks."""
    suite = noise_suite(["cancel-order", "change-address", "refund-damaged-item"], tasks=2)
    folder = tmp_path_factory.mktemp("runs")
    oracle, reader = (write_evaluation(played(suite, agent), folder / agent) for agent in ("oracle", "reader"))
    return oracle, reader


def called(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> int:
    monkeypatch.setattr(sys, "argv", ["palaestra", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_a_comparison_prints_its_table_and_what_it_means(
    runs: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert called(monkeypatch, "compare", *runs) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "oracle against reader on Noise: solved, %" in told
    # One sample of each task in each cell, so that the share of tasks is the share of episodes.
    lead = [fmean(100.0 * one.solved for one in read_results(run).outcomes) for run in runs]
    assert f"oracle solves {lead[0] - lead[1]:.1f} points more than reader over all cells (of each task: " in told
    assert "(one test; 6 tasks): significant at 5 %." in told


def test_markdown_can_be_pasted_and_a_page_be_read(
    runs: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert called(monkeypatch, "compare", *runs, "--measure", "score", "--markdown", "--html", page) == 0
    told = capsys.readouterr()
    assert told.out.startswith("## oracle against reader on Noise: mean score\n\n| cell | tasks | oracle | reader |")
    assert "\n- oracle scores " in told.out
    assert told.err == f"page: {page}\n"
    assert page.read_text().startswith("<!doctype html>")


def test_a_run_against_itself_is_told_by_its_folder(
    runs: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert called(monkeypatch, "compare", runs[0], runs[0], "--markdown") == 0
    told = capsys.readouterr().out
    assert f"oracle ({runs[0]})" in told
    assert told.count("No difference can be told") == 5


def test_runs_of_different_suites_are_one_sentence_and_exit_code_1(
    runs: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = orjson.loads((runs[1] / SETTINGS).read_bytes())
    settings["suite"]["name"] = "other"
    other = write_evaluation(read_results(runs[1]), tmp_path / "other")
    (other / SETTINGS).write_bytes(orjson.dumps(settings))
    assert called(monkeypatch, "compare", runs[0], other) == 1
    assert "error: the runs are of suites 'noise' and 'other'" in capsys.readouterr().err


def test_a_folder_without_an_evaluation_is_one_sentence(
    runs: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert called(monkeypatch, "compare", runs[0], tmp_path) == 1
    assert "settings.json: cannot be read" in capsys.readouterr().err
