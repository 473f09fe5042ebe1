"""The simulation: the claim that intervals hold the truth 93 to 99 times in 100, quickly, and the command."""

from pathlib import Path

import orjson
import pytest
from typer.testing import CliRunner

from palaestra.benchmarks.statistics import CoverageScale, simulate_coverage
from palaestra.cli.app import app

QUICKLY = CoverageScale(samples=200, sizes=(8, 21))
NEAR_0 = ("5 %", "10 %")
"""Where intervals are exact or nearly so, they hold the truth more often than in 99 of 100."""


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    rows = simulate_coverage(QUICKLY)
    assert {row.units for row in rows} == {8, 21}
    for row in rows:
        # 200 draws at 93 % have a standard error of 1.8 points: 88 is three below.
        assert row.covered >= 88, row
        assert row.width > 0
    middle = [row for row in rows if not row.population.endswith(NEAR_0)]
    assert 93 <= sum(row.covered for row in middle) / len(middle) <= 99


def test_more_units_give_narrower_intervals() -> None:
    rows = simulate_coverage(CoverageScale(samples=60, sizes=(8, 63)))
    for few, many in zip(rows[::2], rows[1::2], strict=True):
        assert (few.method, few.population) == (many.method, many.population)
        assert many.width < few.width


def test_equal_seeds_give_equal_rows() -> None:
    scale = CoverageScale(samples=5, sizes=(8,))
    assert simulate_coverage(scale, seed=1) == simulate_coverage(scale, seed=1) != simulate_coverage(scale, seed=2)


def test_the_command_writes_the_table(tmp_path: Path) -> None:
    json, markdown = tmp_path / "intervals.json", tmp_path / "intervals.md"
    asked = ["bench", "intervals", "--quick", "--samples", "3", "--json", str(json), "--markdown", str(markdown)]
    done = CliRunner().invoke(app, asked, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    rows = orjson.loads(json.read_bytes())
    assert {"method", "population", "units", "truth", "covered", "width"} == set(rows[0])
    assert markdown.read_text().startswith("| method | population | units | true value | covered, % |")
    assert len(markdown.read_text().splitlines()) == len(rows) + 4


@pytest.mark.parametrize("samples", ["0", "-1"])
def test_no_samples_are_refused(samples: str) -> None:
    assert CliRunner().invoke(app, ["bench", "intervals", "--samples", samples]).exit_code == 2
