"""Reports of evaluations that were really played: every figure found again, deterministic, safe, with and without
pictures.
"""

import base64
import json
import random
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluations import noise_suite, outcome, played, results, suite
from palaestra.benchmarks.evaluation.compare import compare
from palaestra.benchmarks.evaluation.metrics import observations
from palaestra.benchmarks.evaluation.outcome import EpisodeOutcome
from palaestra.benchmarks.evaluation.passes import pass_all, pass_at
from palaestra.benchmarks.evaluation.report import (
    comparison_page,
    ladder_png,
    report_json,
    report_markdown,
    report_page,
    summary_tables,
    write_report,
)
from palaestra.benchmarks.evaluation.report.findings import findings
from palaestra.benchmarks.evaluation.report.page import EPISODES_A_CELL, select_episodes
from palaestra.benchmarks.evaluation.report.plots import MISSING
from palaestra.benchmarks.evaluation.report.tables import report_tables, spread_tables
from palaestra.benchmarks.evaluation.results import Results
from palaestra.benchmarks.evaluation.suite import Ladder
from palaestra.benchmarks.statistics import (
    MeanEstimate,
    Observation,
    Unit,
    holm,
    independent_difference,
    paired_difference,
)
from palaestra.errors import ConfigError, UnknownNameError

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.fixture(scope="module")
def oracle() -> Results:
    return played(noise_suite(["cancel-order", "change-address"], tasks=2), "oracle", samples=2)


@pytest.fixture(scope="module")
def reader(oracle: Results) -> Results:
    return played(oracle.suite, "reader", samples=2)


def mean_of(values: Mapping[str, list[float]]) -> float:
    return fmean(map(fmean, values.values()))


def by_task(outcomes: list[EpisodeOutcome], value: str) -> dict[str, list[float]]:
    tasks = dict.fromkeys(one.task for one in outcomes)
    return {task: [float(getattr(one, value)) for one in outcomes if one.task == task] for task in tasks}


def points_of(results: Results, cell: str) -> list[Observation]:
    return observations([one for one in results.outcomes if one.cell == cell], lambda one: one.points)


def test_every_figure_of_the_json_is_found_again_from_the_outcomes(oracle: Results) -> None:
    document = json.loads(json.dumps(report_json(oracle)))
    assert [cell["id"] for cell in document["cells"]] == ["base", "failures/20", "failures/60", "renames"]
    for cell in document["cells"]:
        outcomes = [one for one in oracle.outcomes if one.cell == cell["id"]]
        scores, effort = cell["scores"], cell["effort"]
        assert (scores["tasks"], scores["episodes"]) == (4, 8)
        assert scores["solved"]["mean"] == pytest.approx(100 * mean_of(by_task(outcomes, "solved")))
        assert scores["points"]["mean"] == pytest.approx(mean_of(by_task(outcomes, "points")))
        assert scores["harmed"]["mean"] == pytest.approx(100 * mean_of(by_task(outcomes, "harmed")))
        for name in ("turns", "calls", "invalid", "refused"):
            assert effort[name] == pytest.approx(mean_of(by_task(outcomes, name)))
        solved = [sum(map(int, row)) for row in by_task(outcomes, "solved").values()]
        for one in cell["passes"]:
            assert one["tasks"] == 4
            assert one["pass@k"]["mean"] == pytest.approx(100 * fmean(pass_at(one["k"], 2, c) for c in solved))
            assert one["pass^k"]["mean"] == pytest.approx(100 * fmean(pass_all(one["k"], 2, c) for c in solved))
        assert sum(cell["ends"].values()) == 8
        assert cell["faults"] == cell["troubles"] == {}
    assert document["episodes"] == {"played": 32, "expected": 32}
    assert document["splits"] == [
        {
            "name": "storefront/dev",
            "cells": ["base", "failures/20", "failures/60", "renames"],
            "tasks": 4,
            "episodes": 32,
        }
    ]
    assert set(document["families"]) == {"cancel-order", "change-address"}
    for name, family in document["families"].items():
        outcomes = [one for one in oracle.outcomes if f"/{name}/" in one.task]
        assert family["points"]["mean"] == pytest.approx(mean_of(by_task(outcomes, "points")))


def test_failing_calls_cost_the_oracle_and_renamed_tools_do_not(oracle: Results) -> None:
    cells = {
        cell["id"]: cell["scores"]["solved"]["mean"] for cell in json.loads(json.dumps(report_json(oracle)))["cells"]
    }
    assert cells["base"] == cells["renames"] == 100
    assert cells["failures/60"] < cells["failures/20"] <= 100


def test_a_rung_of_the_same_tasks_is_paired_with_the_first(oracle: Results) -> None:
    first, second, third = findings(oracle).ladders["failures"]
    assert (first.points, first.how) == (None, None)
    sides = [points_of(oracle, cell) for cell in ("base", "failures/20", "failures/60")]
    assert (second.points, second.how) == (paired_difference(sides[0], sides[1], Unit.TASK), "paired")
    assert third.points == paired_difference(sides[0], sides[2], Unit.TASK)


def test_a_rung_of_other_tasks_is_compared_as_such() -> None:
    outcomes = [outcome(cell, f"w/{cell}/{t}", points=10 * t) for cell in ("base", "strong") for t in range(5)]
    ladder = Ladder(axis="family", title="Families", cells=("base", "strong"))
    cells = {cell: [f"w/{cell}/{t}" for t in range(5)] for cell in ("base", "strong")}
    found = findings(results(outcomes, suite=suite(cells, ladders=[ladder])))
    _, rung = found.ladders["family"]
    sides = [observations([one for one in outcomes if one.cell == cell], lambda one: one.points) for cell in cells]
    assert (rung.points, rung.how) == (independent_difference(sides[0], sides[1], Unit.TASK), "independent")
    (table, *_) = report_tables(found)
    assert table.rows[1][4].endswith(" *")


def test_rungs_without_an_order_are_told_by_the_worst_and_the_spread() -> None:
    shares = {"base": 4, "cards": 3, "icons": 1, "wizard": 2}
    cells = {cell: [f"w/f/{number}" for number in range(4)] for cell in shares}
    outcomes = [
        outcome(cell, task, solved=number < shares[cell])
        for cell, tasks in cells.items()
        for number, task in enumerate(tasks)
    ]
    ladder = Ladder(axis="interface", title="Interface", cells=tuple(cells), ordered=False)
    whole = results(outcomes, suite=suite(cells, ladders=[ladder, replace(ladder, axis="other", ordered=True)]))
    (table,) = spread_tables(findings(whole))
    assert table.rows == (("Interface", "3", "cell icons: 25.0", "cell cards: 75.0", "50.0"),)
    partly = replace(whole, outcomes=tuple(one for one in outcomes if one.cell == "base"))
    assert spread_tables(findings(partly)) == []


def test_a_fault_on_one_rung_leaves_its_task_out_of_the_difference(oracle: Results) -> None:
    broken = [
        outcome(one.cell, one.task, one.sample, fault="server")
        if (one.cell, one.task) == ("failures/60", oracle.suite.cells[0].tasks[0])
        else one
        for one in oracle.outcomes
    ]
    rung = findings(replace(oracle, outcomes=tuple(broken))).ladders["failures"][2]
    kept = oracle.suite.cells[0].tasks[1:]
    sides = [[one for one in points_of(oracle, cell) if one.task in kept] for cell in ("base", "failures/60")]
    assert rung.points == paired_difference(sides[0], sides[1], Unit.TASK)


def rungs(unit: Unit, lifts: Mapping[str, int]) -> Results:
    """A ladder over 10 families with 2 tasks each, whose rungs have so many points more than the first."""
    tasks = [f"w/f{number // 2}/{number}" for number in range(20)]
    ladder = Ladder(axis="family", title="Families", cells=tuple(lifts))
    made = suite(dict.fromkeys(lifts, tasks), ladders=[ladder])
    outcomes = [
        outcome(cell, task, points=number // 2 + lift * (1 + number % 3))
        for cell, lift in lifts.items()
        for number, task in enumerate(tasks)
    ]
    return results(outcomes, suite=replace(made, cells=tuple(replace(cell, unit=unit) for cell in made.cells)))


@pytest.mark.parametrize(("unit", "units"), [(Unit.TASK, 20), (Unit.FAMILY, 10)])
def test_a_rungs_difference_is_over_the_unit_of_its_claim(unit: Unit, units: int) -> None:
    found = findings(rungs(unit, {"base": 0, "strong": -4}))
    difference = found.ladders["family"][1].points
    assert difference is not None
    assert (difference.unit, difference.units) == (unit, units)
    (table, *_) = report_tables(found)
    assert table.rows[1][4].endswith(unit.format_count(units))


def test_p_values_of_rungs_are_holms_over_all_of_them() -> None:
    found = findings(rungs(Unit.FAMILY, {"base": 0, "a": -4, "b": 1, "c": 2}))
    own = found.ladders["family"][1:]
    p_values = [rung.points.p for rung in own if rung.points is not None and rung.points.p is not None]
    assert len(p_values) == 3
    assert [rung.points_corrected for rung in own] == holm(p_values)
    assert all(corrected > p for rung, p in zip(own, p_values, strict=True) if (corrected := rung.points_corrected))


def test_a_rung_of_few_worlds_lists_them_and_has_no_p_value() -> None:
    outcomes = [
        outcome(cell, f"w/f/{cell}{t}", points=10 * t, world=str(t % 3))
        for cell in ("base", "strong")
        for t in range(9)
    ]
    ladder = Ladder(axis="entities", title="Entities", cells=("base", "strong"))
    made = suite({cell: [f"w/f/{cell}{t}" for t in range(9)] for cell in ("base", "strong")}, ladders=[ladder])
    found = findings(
        results(outcomes, suite=replace(made, cells=tuple(replace(c, unit=Unit.WORLD) for c in made.cells)))
    )
    rung = found.ladders["entities"][1]
    assert rung.points is not None
    assert (rung.points.low, rung.points.p, rung.points_corrected) == (None, None, None)
    (table, *_) = report_tables(found)
    assert table.rows[1][3] == "40.0, 3 worlds: 30.0, 40.0, 50.0"


def test_the_same_results_give_the_same_bytes_in_whatever_order_they_ended(oracle: Results, tmp_path: Path) -> None:
    rng = random.Random(1)  # noqa: S311
    episodes = oracle.episodes
    shuffled = results(
        rng.sample(oracle.outcomes, k=len(oracle.outcomes)),
        agent="oracle",
        suite=oracle.suite,
        samples=2,
        episodes=rng.sample(episodes, k=len(episodes)),
    )
    write_report(oracle, tmp_path / "one")
    write_report(shuffled, tmp_path / "two")
    names = ["report.html", "report.json", "report.md"]
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == names
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert ladder_png(oracle) == ladder_png(shuffled)
    assert ladder_png(oracle).startswith(b"\x89PNG\r\n\x1a\n")


def data_of(page: str) -> dict[str, Any]:
    held = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert held is not None
    data: dict[str, Any] = json.loads(held[1])
    return data


def pictures_of(page: str) -> list[str]:
    return [base64.b64decode(one["source"].partition(",")[2]).decode() for one in data_of(page)["figures"]]


def test_the_page_holds_tables_notes_pictures_and_episodes(oracle: Results) -> None:
    data = data_of(report_page(oracle))
    assert [table["title"] for table in data["tables"]] == [table.title for table in report_tables(findings(oracle))]
    assert data["notes"] == [
        "Nothing here was tuned on.",
        "Failing calls: Calls.",
        "Names of tools: Tools go by other names.",
    ]
    assert data["lead"][0] == "32 episodes of 4 tasks in 4 cells, 2 samples of each task, seed 0."
    assert len(data["episodes"]) == len(oracle.episodes) == 16
    assert [one["cell"] for one in data["episodes"]][::4] == [cell.label for cell in oracle.suite.cells]
    (picture,) = pictures_of(report_page(oracle))
    for words in ("Failing calls", "Names of tools", "mean score", "solved, %", "dashed: none"):
        assert words in picture


def test_categories_have_a_line_each() -> None:
    outcomes = [outcome(cell, f"{cell}/{t}", solved=t % 2 == 0) for cell in ("simple", "parallel") for t in range(4)]
    (picture,) = pictures_of(report_page(results(outcomes)))
    assert "Share solved of each category" in picture
    assert "cell simple" in picture
    assert "cell parallel" in picture


def test_what_an_agent_wrote_stays_data(reader: Results) -> None:
    def marked(value: Results) -> Results:
        episodes = tuple(
            replace(
                episode,
                agent=HOSTILE,
                segments=tuple(
                    replace(segment, turns=tuple(replace(turn, text=HOSTILE) for turn in segment.turns))
                    for segment in episode.segments
                ),
            )
            for episode in value.episodes
        )
        troubled = replace(value.outcomes[0], troubles={HOSTILE: 1})
        settings = replace(value.settings, agent=HOSTILE)
        return replace(value, settings=settings, episodes=episodes, outcomes=(troubled, *value.outcomes[1:]))

    hostile = marked(reader)
    page = report_page(hostile)
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert page.count("<script") == report_page(reader).count("<script") == 2
    assert data_of(page)["episodes"][0]["agent"] == HOSTILE
    both = comparison_page(compare(hostile, reader), (hostile, reader))
    assert "<script>alert" not in both
    assert "<img src=x" not in report_markdown(hostile).split("\n## ")[0]


def test_faults_stand_apart_from_failures() -> None:
    outcomes = [outcome(task=f"w/f/{t}", solved=t == 0, fault="server" if t > 5 else None) for t in range(9)]
    outcomes[0] = replace(outcomes[0], troubles={"status 429": 3})
    made = results(outcomes)
    (table,) = [table for table in report_tables(findings(made)) if table.title.startswith("Faults")]
    assert table.columns == ("cell", "fault: server", "trouble: status 429")
    assert table.rows == (("cell base", "3", "3"),)
    (scores,) = [table for table in report_tables(findings(made)) if table.title == "Scores"]
    assert scores.rows[0][1:3] == ("6", "6")
    assert "3 episodes without a score, by faults that are not the agent's: server 3." in report_markdown(made)


def test_an_evaluation_of_faults_alone_says_so() -> None:
    made = results([outcome(fault="world"), outcome(task="w/f/1", fault="world")])
    assert "No episode has a score." in report_markdown(made)
    assert data_of(report_page(made))["figures"] == []
    assert report_json(made)["overall"]["scores"]["solved"] is None  # type: ignore[call-overload, index]
    assert summary_tables(made)[0].rows[0][3:] == ("-", "-", "-")


def test_an_unfinished_evaluation_says_so() -> None:
    made = results([outcome(task="w/f/0", solved=True)], suite=suite({"base": ["w/f/0", "w/f/1"]}), samples=2)
    assert "Not finished: 3 episodes of 4 still to be played." in report_markdown(made)


def test_known_bad_tasks_are_scored_with_and_without() -> None:
    outcomes = [outcome(task=f"w/f/{t}", solved=t > 0) for t in range(5)]
    bad = suite(
        {"base": [f"w/f/{t}" for t in range(5)]}, known_bad={"w/f/0": "its answer is wrong", "w/f/9": "not played"}
    )
    tables = {table.title: table for table in report_tables(findings(results(outcomes, suite=bad)))}
    assert [(row[0], row[1]) for row in tables["Scores"].rows] == [("cell base", "5"), ("cell base, sound tasks", "4")]
    assert tables["Scores"].rows[0][3].startswith("80.0, 5 tasks")
    assert tables["Scores"].rows[1][3].startswith("100.0, 4 tasks")
    assert tables["Tasks held to be broken"].rows == (("w/f/0", "its answer is wrong"),)


def test_sub_scores_are_shown_where_they_are_few() -> None:
    few = [outcome(task=f"w/f/{t}", criteria={"ast": True, "state": t < 1}) for t in range(4)]
    many = [outcome("many", f"w/f/{t}", criteria={f"one {n}": True for n in range(30)}) for t in range(4)]
    (table,) = [table for table in report_tables(findings(results([*few, *many]))) if table.title == "Sub-scores"]
    assert [row[:3] for row in table.rows] == [("cell base", "ast", "4"), ("cell base", "state", "4")]
    assert [row[3].split(",")[0] for row in table.rows] == ["100.0", "25.0"]


def test_tokens_and_cost_are_shown_where_somebody_counts() -> None:
    counted = [outcome(task=f"w/f/{t}", prompt_tokens=1_000, completion_tokens=100) for t in range(3)]
    (table,) = [t for t in report_tables(findings(results(counted))) if t.title == "What an episode took"]
    assert table.columns[-2:] == ("read", "written")
    assert table.rows[0][-2:] == ("1,000", "100")
    priced = results(counted, price_in=1.0, price_out=10.0)
    (table,) = [t for t in report_tables(findings(priced)) if t.title == "What an episode took"]
    assert (table.columns[-1], table.rows[0][-1]) == ("cost", "0.00200")
    assert "The evaluation cost 0.0060 in all." in table.note
    (table,) = [t for t in report_tables(findings(results([outcome()]))) if t.title == "What an episode took"]
    assert "read" not in table.columns
    assert "Nobody counts this agent's tokens." in table.note


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 2), st.booleans(), st.sampled_from([None, None, "time"])), max_size=12))
def test_any_outcomes_can_be_told(drawn: list[tuple[int, bool, Any]]) -> None:
    cells = {f"c{n}": [f"w/f{n % 2}/{t}" for t in range(12)] for n in range(3)}
    ladders = [Ladder(axis="a", title="A", cells=("c0", "c1"))]
    outcomes = [
        outcome(f"c{cell}", f"w/f{cell % 2}/{place}", solved=solved, fault=fault)
        for place, (cell, solved, fault) in enumerate(drawn)
    ]
    made = results(outcomes, suite=suite(cells, ladders=ladders))
    tables = [*summary_tables(made), *report_tables(findings(made))]
    assert all(len(row) == len(table.columns) for table in tables for row in table.rows)
    assert report_markdown(made).count("\n| ---") == len(report_tables(findings(made)))


def test_a_page_keeps_every_kind_of_episode_of_each_cell(reader: Results) -> None:
    first = reader.episodes[0]
    solved = replace(first, score=replace(first.score, passed=True))
    many = [*[first] * 40, *[solved] * 3, replace(first, valid_for_baseline=False)]
    kept = select_episodes(many)
    assert len(kept) == EPISODES_A_CELL
    assert kept.count(solved) == 3
    assert sum(not episode.valid_for_baseline for episode in kept) == 1
    assert select_episodes(reader.episodes) == list(reader.episodes)


def test_a_suite_without_axes_has_no_picture_of_them() -> None:
    with pytest.raises(ConfigError, match="suite 'made' has no axis of shift"):
        ladder_png(results([outcome()]))


@pytest.fixture
def no_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which matplotlib is not installed, as an import finds it."""

    class Missing:
        def find_spec(self, name: str, path: object = None, target: object = None) -> None:
            if name.partition(".")[0] == "matplotlib":
                raise ModuleNotFoundError(f"No module named {name!r}", name="matplotlib")

    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "palaestra.benchmarks.curves", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Missing(), *sys.meta_path])


@pytest.mark.usefixtures("no_matplotlib")
def test_without_matplotlib_the_page_has_no_pictures_and_says_so(oracle: Results) -> None:
    data = data_of(report_page(oracle))
    assert data["figures"] == []
    assert data["notes"][0] == MISSING
    assert len(data["tables"]) == len(report_tables(findings(oracle)))
    with pytest.raises(UnknownNameError, match="matplotlib is not installed"):
        ladder_png(oracle)


def test_tables_show_the_intervals_of_the_figures(oracle: Results) -> None:
    found = findings(oracle)
    (table, *_) = summary_tables(oracle)
    solved = found.cells["failures/20"].scores.solved
    assert isinstance(solved, MeanEstimate)
    assert table.rows[1][:3] == ("", "20 % of calls fail", "4")
    assert table.rows[1][6] == solved.text()
