"""The checks of a first contact run on a processor too; what fails is told, and costs nothing else."""

import sys
from collections.abc import Iterator
from math import isnan
from pathlib import Path

import orjson
import pytest
import torch

from palaestra.benchmarks.gpu import (
    CHECKS,
    CheckResult,
    ContactFigure,
    ContactReport,
    contact,
    contact_markdown,
    contact_tables,
    run_check,
    run_contact,
)
from palaestra.benchmarks.gpu.scale import ContactScale
from palaestra.cli import main
from palaestra.errors import UnknownNameError

CPU = torch.device("cpu")


@pytest.mark.parametrize("name", CHECKS)
def test_every_check_passes_on_a_processor(name: str) -> None:
    result = run_check(name, CPU)
    assert result.error == ""
    assert result.figures
    assert result.passed, [figure for figure in result.figures if not figure.within]


def test_figures_before_an_error_are_kept_and_the_error_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(device: torch.device, scale: ContactScale) -> Iterator[ContactFigure]:
        yield ContactFigure(name="first", value=1.0, unit="")
        raise RuntimeError(f"{device} with {scale.rows} rows is out of order")

    monkeypatch.setattr(contact, "CHECKS", {"broken": broken})
    result = run_check("broken", CPU)
    assert [figure.name for figure in result.figures] == ["first"]
    assert "cpu with 4 rows is out of order" in result.error
    assert not result.passed
    report = ContactReport(machine={}, results=(result,))
    assert "error: RuntimeError: cpu with 4 rows is out of order" in contact_tables(report)[0].rows[0][1]


def test_a_process_that_takes_too_long_is_ended_and_the_next_check_runs(tmp_path: Path) -> None:
    kept: list[int] = []
    report = run_contact(CPU, names=["attention", "attention"], seconds=0.5, keep=lambda r: kept.append(len(r.results)))
    assert kept == [1, 2]
    assert all("ended after 0.5 s" in result.error for result in report.results)


@pytest.mark.parametrize(
    ("value", "at_most", "at_least", "within"),
    [(1.0, 1.0, None, True), (1.1, 1.0, None, False), (1.0, None, 2.0, False), (float("nan"), 1.0, None, False)],
)
def test_a_figure_is_held_to_its_bounds(
    value: float, at_most: float | None, at_least: float | None, within: bool
) -> None:
    figure = ContactFigure(name="x", value=value, unit="", at_most=at_most, at_least=at_least)
    assert figure.within is within
    result = CheckResult(name="one", seconds=1.0, figures=(figure,))
    assert result.passed is within
    if not isnan(value):
        assert CheckResult.from_json(orjson.loads(orjson.dumps(result.as_json()))) == result


def test_the_command_runs_a_check_apart_and_writes_both_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    json, markdown = tmp_path / "gpu.json", tmp_path / "gpu.md"
    words = ["bench", "gpu", "--device", "cpu", "--only", "formats", "--json", str(json), "--markdown", str(markdown)]
    monkeypatch.setattr(sys, "argv", ["palaestra", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    (check,) = orjson.loads(json.read_bytes())["checks"]
    assert check["passed"]
    assert "| formats | passed |" in markdown.read_text()
    assert "formats" in capsys.readouterr().out


def test_a_check_that_does_not_exist_is_told_before_any_runs() -> None:
    with pytest.raises(UnknownNameError, match="speed"):
        run_contact(CPU, names=["parity", "speed"], keep=lambda _: pytest.fail("nothing runs"))
    with pytest.raises(UnknownNameError, match="speed"):
        run_check("speed", CPU)


def test_the_document_has_the_machine_and_missed_bounds() -> None:
    figure = ContactFigure(name="off", value=3.0, unit="nats", at_most=0.1)
    report = ContactReport(
        machine={"accelerator": "X"}, results=(CheckResult(name="parity", seconds=2.0, figures=(figure,)),)
    )
    text = contact_markdown(report)
    assert "| accelerator | X |" in text
    assert "at most 0.1, missed" in text
    assert "out of bounds: off" in text
