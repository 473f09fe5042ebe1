"""Figures and tables: medians, aims, and what was not measured."""

import json

import pytest

from palaestra.benchmarks.speed.figures import MissingFigure
from palaestra.benchmarks.speed.training import (
    SpeedComparison,
    SpeedSection,
    TrainingReport,
    WorkRate,
    training_markdown,
)
from palaestra.benchmarks.speed.training.tables import figure, training_tables


def report(section: SpeedSection) -> TrainingReport:
    return TrainingReport(
        command="palaestra bench engine", machine={"cores": 2, "commit": ""}, setting={}, sections=(section,)
    )


def test_a_rate_is_the_median_of_its_rounds() -> None:
    assert WorkRate.of("native", [1.0, 100.0, 3.0]).per_second == 3.0


def test_a_rate_of_no_round_is_none() -> None:
    with pytest.raises(ValueError, match="native: nothing was measured"):
        WorkRate.of("native", [])


def test_an_aim_is_met_from_its_value_on() -> None:
    assert SpeedComparison(name="x", value=2.5, at_least=2.5).met is True
    assert SpeedComparison(name="x", value=2.49, at_least=2.5).met is False
    assert SpeedComparison(name="x", value=0.0).met is None


def test_tables_show_shares_aims_and_what_was_not_measured() -> None:
    section = SpeedSection(
        title="Drawing",
        unit="tokens",
        rates=(WorkRate.of("native", [50.0], limit=200.0), WorkRate.of("other", [20.0])),
        comparisons=(SpeedComparison(name="native, over other", value=2.5, at_least=3.0),),
        unmeasured=(MissingFigure(section="vLLM", why="not measured: there is none"),),
        note="A note.",
    )
    rates, comparisons = training_tables(report(section))
    assert rates.columns[-1] == "share of it"
    assert rates.rows == (
        ("native", "50.00", "50.00", "50.00", "200", "25%"),
        ("other", "20.00", "20.00", "20.00", "-", "-"),
    )
    assert rates.note == "A note. vLLM: not measured: there is none"
    assert comparisons.rows == (("native, over other", "2.50", "times", "3, not met"),)
    text = training_markdown(report(section))
    assert text.startswith("Measured by `palaestra bench engine` on one machine:\n\n| machine | value |\n")
    assert "| cores | 2 |" in text
    assert "| native, over other | 2.50 | times | 3, not met |" in text


def test_without_limits_and_comparisons_there_are_no_columns_and_no_table_for_them() -> None:
    (rates,) = training_tables(report(SpeedSection(title="T", unit="tokens", rates=(WorkRate.of("a", [1.0]),))))
    assert rates.columns == ("who", "tokens a second", "slowest round", "fastest round")


def test_a_report_is_plain_json() -> None:
    made = report(SpeedSection(title="T", unit="tokens", rates=(WorkRate.of("a", [1.0, 2.0]),)))
    read = json.loads(json.dumps(made.as_json()))
    assert read["sections"][0]["rates"][0] == {
        "name": "a",
        "per_second": 1.5,
        "rounds": [1.0, 2.0],
        "limit": None,
        "per_processor_second": None,
    }


def test_rates_per_processor_second_have_a_column_where_any_was_measured() -> None:
    measured = WorkRate.of("a", [10.0, 20.0, 30.0], per_processor_second=[4.0, 5.0, 9.0])
    (rates,) = training_tables(
        report(SpeedSection(title="T", unit="tokens", rates=(measured, WorkRate.of("b", [1.0]))))
    )
    assert rates.columns[-1] == "tokens a processor second"
    assert [row[-1] for row in rates.rows] == ["5.00", "-"]


@pytest.mark.parametrize(
    ("value", "shown"), [(0.0, "0.00"), (1.24e-5, "1.2e-05"), (0.5, "0.50"), (99.994, "99.99"), (12345.6, "12,346")]
)
def test_figures_have_about_three_digits(value: float, shown: str) -> None:
    assert figure(value) == shown
