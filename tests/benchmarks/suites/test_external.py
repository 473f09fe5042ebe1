"""A benchmark from outside as a suite: its cells, what is said of them, and an evaluation on it."""

from dataclasses import replace
from pathlib import Path

import pytest

from outside import TOY, TOY_ID
from palaestra.benchmarks.evaluation.agents import AgentOptions, evaluated_agent_of
from palaestra.benchmarks.evaluation.journal import Journal
from palaestra.benchmarks.evaluation.play import PlayOptions, evaluate, settings_of
from palaestra.benchmarks.evaluation.results import Results
from palaestra.benchmarks.evaluation.suite import Suite
from palaestra.benchmarks.external import BENCHMARKS, ExternalEnv
from palaestra.benchmarks.suites import SuiteOptions, suite_of
from palaestra.errors import ConfigError, TaskError, UnknownNameError

pytestmark = pytest.mark.usefixtures("toy")
TWO, FOUR, SIX = "toy/count/two", "toy/count/four", "toy/count/six"


def play(agent: str, suite: Suite, folder: Path, *, say: list[str] | None = None) -> Results:
    with (
        evaluated_agent_of(agent, AgentOptions()) as evaluated_agent,
        Journal(folder, settings_of(evaluated_agent, suite, samples=2, seed=0)) as journal,
    ):
        return evaluate(
            evaluated_agent, journal, PlayOptions(concurrency=2), say=(say if say is not None else []).append
        )


def test_a_cell_is_a_category_of_a_split() -> None:
    made = suite_of("toy", SuiteOptions())
    assert [(cell.id, cell.env_id, cell.split, cell.tasks) for cell in made.cells] == [
        ("count", TOY_ID, "toy/test", (TWO, FOUR, SIX))
    ]
    assert (made.name, made.title) == ("toy", "Toy, test")
    assert made.notes == (
        "Toy, version 1; licence Apache-2.0; these tests.",
        "Split test (to be measured on): all 3 tasks.",
    )
    whole = suite_of("toy", SuiteOptions(split="all"))
    assert [(cell.id, cell.label, cell.split) for cell in whole.cells] == [
        ("count/test", "count, test", "toy/test"),
        ("drill/train", "drill, train", "toy/train"),
    ]


def test_a_category_a_limit_and_options_stand_in_what_is_said() -> None:
    made = suite_of("toy/count", SuiteOptions(limit=2, options={"goldless": "four"}))
    (cell,) = made.cells
    assert made.name == "toy/count"
    assert (cell.tasks, cell.switches) == ((TWO, FOUR), {"goldless": "four"})
    assert "Split test (to be measured on): 2 of 3 tasks, evenly taken." in made.notes
    assert "Options: goldless=four." in made.notes


def test_the_version_that_is_installed_stands_in_the_notes_with_the_proved_one_where_it_is_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(BENCHMARKS._entries, "toy", replace(TOY, version="0.9"))
    first = "Toy, version 1 (the adapter was proved with 0.9); licence Apache-2.0; these tests."
    assert suite_of("toy", SuiteOptions()).notes[0] == first


def test_a_run_is_not_gone_on_with_under_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play("oracle", suite_of("toy", SuiteOptions()), tmp_path / "run")

    def updated(_self: ExternalEnv) -> str:
        return "2"

    monkeypatch.setattr(ExternalEnv, "installed_version", updated)
    with pytest.raises(ConfigError, match=r"other settings: suite\.notes: others"):
        play("oracle", suite_of("toy", SuiteOptions()), tmp_path / "run")


def test_versions_and_broken_tasks_are_those_that_are_played(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"count/two": "it is too easy", "toy/count/six": "it is too long"}
    odd = replace(TOY, versions=r"(toy/)count/(two|four)", known_bad=known, notes="Mind the gap.")
    monkeypatch.setitem(BENCHMARKS._entries, "toy", odd)
    made = suite_of("toy", SuiteOptions(limit=2))
    assert made.known_bad == {TWO: "it is too easy"}
    assert made.versions == {TWO: "toy/two", FOUR: "toy/four"}
    assert made.notes[-1] == "Mind the gap."


@pytest.mark.parametrize(
    ("name", "options", "error", "said"),
    [
        ("toys", SuiteOptions(), UnknownNameError, "did you mean 'toy'"),
        ("toy/counts", SuiteOptions(), UnknownNameError, "did you mean 'count'"),
        ("toy", SuiteOptions(split="tests"), UnknownNameError, "did you mean 'test'"),
        ("toy", SuiteOptions(options={"goldles": "two"}), UnknownNameError, "did you mean 'goldless'"),
        ("toy", SuiteOptions(options={"category": "count"}), UnknownNameError, "unknown option of toy 'category'"),
        ("toy", SuiteOptions(options={"max_turns": "abc"}), UnknownNameError, "unknown option of toy 'max_turns'"),
        ("toy", SuiteOptions(options={"seconds": 1}), UnknownNameError, "unknown option of toy 'seconds'"),
        ("toy", SuiteOptions(options={"max_episode_steps": 1}), UnknownNameError, "toy 'max_episode_steps'"),
        ("babyai", SuiteOptions(options={"category": "GoToObj"}), UnknownNameError, "unknown option of babyai"),
        ("toy", SuiteOptions(axes=("noise",)), ConfigError, "--axis: the suite toy has no such choice"),
        ("toy", SuiteOptions(switches={"surface": "generic"}), ConfigError, "--surface, --handbook and --noise"),
        ("toy/drill", SuiteOptions(), TaskError, "the split test lists no task; its splits are test, train, all"),
    ],
)
def test_what_there_is_not_is_told(name: str, options: SuiteOptions, error: type[Exception], said: str) -> None:
    with pytest.raises(error) as told:
        suite_of(name, options)
    assert said in str(told.value)


def test_agents_play_it_and_a_task_without_a_solution_is_no_zero(tmp_path: Path) -> None:
    suite = suite_of("toy", SuiteOptions(options={"goldless": "four"}))
    oracle = play("oracle", suite, tmp_path / "oracle")
    assert [(one.task, one.solved, one.fault and one.fault.kind) for one in oracle.outcomes] == [
        (task, task != FOUR, "gold" if task == FOUR else None) for task in (TWO, FOUR, SIX) for _ in range(2)
    ]
    idle = play("finish-at-once", suite, tmp_path / "idle")
    assert [(one.points, one.fault) for one in idle.outcomes] == [(0, None)] * 6


def test_an_episode_that_the_benchmark_breaks_has_no_score_and_costs_no_other_its_own(tmp_path: Path) -> None:
    said: list[str] = []
    found = play("oracle", suite_of("toy", SuiteOptions(options={"broken": "four"})), tmp_path / "run", say=said)
    assert {one.task for one in found.outcomes if one.fault is not None} == {FOUR}
    assert {one.fault.kind for one in found.outcomes if one.fault is not None} == {"world"}
    assert [one.points for one in found.outcomes if one.fault is None] == [100] * 4
    assert sum("four is broken" in line for line in said) == 2
