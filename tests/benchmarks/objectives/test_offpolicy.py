"""The comparison off policy: its intervals, its tables, and what has to be equal in it."""

import json
import struct
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from palaestra.benchmarks import objectives
from palaestra.benchmarks.objectives.bandit import Bandit
from palaestra.benchmarks.objectives.copying import Copying
from palaestra.benchmarks.objectives.offpolicy import (
    CONTROL,
    FULL,
    METHODS,
    QUICK,
    TOYS,
    OffPolicyReport,
    bench_objectives,
)
from palaestra.benchmarks.objectives.report import objectives_markdown, objectives_panels, objectives_tables
from palaestra.benchmarks.objectives.training import ToyTraining, train_toy
from palaestra.benchmarks.statistics import FEWEST
from palaestra.cli import main
from palaestra.trainers.objectives import presets

TINY = replace(QUICK, stalenesses=(1, 4), rates=(0.05, 0.1), steps=4, measure_every=2, measured=8)


@pytest.fixture(scope="module")
def report() -> OffPolicyReport:
    return bench_objectives(scale=TINY)


def test_every_method_is_a_preset_and_the_grid_is_one_for_all() -> None:
    assert set(METHODS.values()) <= set(presets())
    assert FULL.stalenesses == (1, 4, 16, 64)
    assert FULL.steps >= 2 * max(FULL.stalenesses)


def test_there_is_a_cell_for_every_toy_method_and_staleness(report: OffPolicyReport) -> None:
    cells = [(cell.toy, cell.method, cell.staleness) for cell in report.cells]
    assert cells == [(t.name, m, s) for t in TOYS for m in (*METHODS, CONTROL) for s in (1, 4)]


def test_cells_hold_together(report: OffPolicyReport) -> None:
    for cell in report.cells:
        assert cell.tried[f"{cell.rate:g}"] == max(cell.tried.values())
        assert set(cell.tried) == {"0.05", "0.1"}
        assert len(cell.success) == TINY.seeds
        assert 0 <= cell.mean <= 1
        assert 0 <= cell.speed <= 1
        assert 0 < cell.ess <= 1
        assert cell.staleness > 1 or cell.ess == 1


def test_on_policy_all_that_only_correct_staleness_are_one(report: OffPolicyReport) -> None:
    for toy in TOYS:
        on = {cell.method: cell.success for cell in report.cells if cell.toy == toy.name and cell.staleness == 1}
        alike = [on[method] for method in ("GRPO", "SAPO", "decoupled PPO", "TIS", "VESPO", CONTROL)]
        assert all(success == pytest.approx(alike[0], abs=0.1) for success in alike)


def test_a_reported_seed_is_a_training_that_anybody_can_repeat(report: OffPolicyReport) -> None:
    cell = next(
        cell for cell in report.cells if (cell.toy, cell.method, cell.staleness) == ("noisy copying", "OAPL", 4)
    )
    training = ToyTraining(
        groups=3, lr=cell.rate, staleness=4, measure_every=TINY.measure_every, measured=TINY.measured
    )
    toy = Copying(tasks=3, length=4, letters=2, good=80, other=20, name="noisy copying")
    assert train_toy(toy, "oapl", steps=TINY.steps, seed=TINY.choosing, training=training).final == cell.success[0]


def test_too_few_seeds_have_no_interval_and_are_listed(report: OffPolicyReport) -> None:
    cell = report.cells[0]
    assert (cell.low, cell.high) == (None, None)
    (row, *_) = objectives_tables(report)[0].rows
    assert row[3] == ", ".join(f"{value:.2f}" for value in cell.success)


def test_eight_seeds_have_an_interval_and_it_says_so(report: OffPolicyReport) -> None:
    cells = tuple(replace(cell, success=(0.5,) * 8, low=0.4, high=0.6) for cell in report.cells)
    (row, *_) = objectives_tables(replace(report, cells=cells))[0].rows
    assert row[3] == "0.40 to 0.60, 8 seeds"
    assert FULL.seeds == FEWEST == 8


def test_tables_pictures_and_documents_show_every_cell(report: OffPolicyReport) -> None:
    assert [len(table.rows) for table in objectives_tables(report)] == [16, 16]
    assert [len(panel.estimates) for panel in objectives_panels(report)] == [14] * 6
    told = objectives_markdown(report)
    assert told.count("| OAPL |") == 2
    assert "staleness 4" in told


def test_the_verb_writes_figures_tables_and_a_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(objectives, "QUICK", replace(TINY, stalenesses=(2,), rates=(0.1,), steps=2))
    found = {kind: tmp_path / f"found.{kind}" for kind in ("json", "markdown", "plot")}
    options = [word for kind, path in found.items() for word in (f"--{kind}", str(path))]
    monkeypatch.setattr(sys, "argv", ["palaestra", "bench", "objectives", "--quick", *options])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert "VESPO" in capsys.readouterr().out
    assert len(json.loads(found["json"].read_text())["cells"]) == 16
    assert "**noisy copying**" in found["markdown"].read_text()
    picture = found["plot"].read_bytes()
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">I", picture[16:20]) == (2280,)


def test_the_toys_of_the_comparison_are_not_solved_by_guessing() -> None:
    assert isinstance(TOYS[0], Bandit)
    for toy in TOYS:
        assert train_toy(toy, "grpo", steps=0, seed=0).final < 0.3
