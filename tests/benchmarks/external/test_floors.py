"""What proves an adapter and stands beside scores: every agent counted, on a benchmark whose answers are known."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import TypeAdapter
from typer.testing import CliRunner

from outside import TOY
from palaestra.benchmarks.external import BENCHMARKS
from palaestra.benchmarks.external.floors import AGENTS, AgentTally, Floors, floors_of, floors_table, together
from palaestra.cli.app import app
from palaestra.errors import ConfigError, InfrastructureError, TaskError, UnknownNameError

pytestmark = pytest.mark.usefixtures("toy")
TASKS = ("toy/count/two", "toy/count/four", "toy/count/six")
SOLVED = AgentTally(played=3, solved=3, points=300)
MISSED = AgentTally(played=3, missed=TASKS)


def figures(floors: Floors) -> dict[str, AgentTally]:
    """All but the time."""
    return {agent: replace(tally, seconds=0.0) for agent, tally in floors.tallies.items()}


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_every_agent_gets_what_it_must_however_many_play_at_once(threads: int) -> None:
    told = Counter[str]()
    (found,) = floors_of(TOY, threads=threads, progress=lambda task: told.update([task]))
    assert (found.benchmark, found.category, found.version, found.tasks) == ("toy", "count", "1", 3)
    assert figures(found) == {"gold": SOLVED, "no-op": MISSED, "finish": MISSED, "random": SOLVED}
    assert all(tally.seconds > 0 for tally in found.tallies.values())
    assert told == dict.fromkeys(TASKS, len(AGENTS))


def test_a_limit_is_of_each_category_and_the_tasks_are_still_told() -> None:
    found = floors_of(TOY, split="all", limit=1, agents=["gold"])
    assert [(own.category, own.tasks, own.tallies["gold"].played) for own in found] == [
        ("count", 3, 1),
        ("drill", 1, 1),
    ]
    (only,) = floors_of(TOY, split="all", categories=["drill"], agents=["finish"])
    assert only.tallies["finish"].missed == ("toy/drill/two",)


def test_a_task_without_a_solution_is_none_that_gold_missed() -> None:
    (found,) = floors_of(TOY, options={"goldless": "four"}, agents=["gold", "finish"])
    assert figures(found) == {"gold": AgentTally(played=2, solved=2, points=200), "finish": MISSED}


def test_an_episode_that_the_benchmark_breaks_is_a_fault_and_no_miss_of_those_that_were_played() -> None:
    (found,) = floors_of(TOY, options={"broken": "four"})
    for agent, tally in found.tallies.items():
        (fault,) = tally.faults
        assert fault.startswith("toy/count/four: toy: begin: ")
        assert "four is broken" in fault
        assert tally.played == 2, agent
    assert found.tallies["gold"].solved == found.tallies["random"].solved == 2
    assert found.tallies["finish"].missed == TASKS


def test_categories_together_are_their_sums() -> None:
    parts = floors_of(TOY, split="all")
    whole = together(parts)
    assert (whole.category, whole.tasks, whole.version) == ("all", 4, "1")
    assert figures(whole)["gold"] == AgentTally(played=4, solved=4, points=400)
    for agent in AGENTS:
        assert whole.tallies[agent].seconds == pytest.approx(sum(part.tallies[agent].seconds for part in parts))
        assert whole.tallies[agent].missed == tuple(task for part in parts for task in part.tallies[agent].missed)


def test_what_does_not_start_and_what_there_is_not_are_told() -> None:
    with pytest.raises(InfrastructureError, match="it does not load"):
        floors_of(TOY, options={"broken_start": True})
    with pytest.raises(UnknownNameError, match="did you mean 'gold'"):
        floors_of(TOY, agents=["golt"])
    with pytest.raises(UnknownNameError, match="did you mean 'drill'"):
        floors_of(TOY, split="all", categories=["dril"])


def test_what_is_named_twice_counts_once() -> None:
    twice = floors_of(TOY, categories=["count", "count"], agents=["finish", "finish"])
    once = floors_of(TOY, categories=["count"], agents=["finish"])
    assert [(own.tasks, figures(own)) for own in twice] == [(own.tasks, figures(own)) for own in once]
    assert together(twice).tasks == 3


@pytest.mark.parametrize("option", ["max_turns", "seconds", "category", "max_episode_steps", "render_mode"])
def test_what_the_environment_takes_is_no_option_of_the_benchmark(option: str) -> None:
    with pytest.raises(UnknownNameError, match=f"unknown option of toy '{option}'"):
        floors_of(TOY, options={option: "abc"})


def test_a_split_or_category_without_a_task_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TaskError) as told:
        floors_of(TOY, categories=["count", "drill"])
    assert str(told.value) == (
        "toy: the split test lists no task of the category drill; its splits are test, train, all"
    )
    empty = replace(TOY, splits={**TOY.splits, "dev": "to look at"})
    monkeypatch.setitem(BENCHMARKS._entries, "toy", empty)
    with pytest.raises(TaskError, match="toy: the split dev lists no task; its splits are test, train, dev, all"):
        floors_of(empty, split="dev")


def test_the_command_says_that_nothing_is_listed() -> None:
    with pytest.raises(TaskError, match="the split test lists no task of the category drill"):
        CliRunner().invoke(app, ["bench", "suites", "toy", "--category", "drill"], catch_exceptions=False)


def test_a_table_says_what_was_solved_of_what_and_points_where_they_say_more() -> None:
    half = AgentTally(played=4, solved=1, points=150, seconds=2.0, faults=("toy/x: gone",))
    made = Floors(
        benchmark="toy", category="c", version="1", tasks=1_234, tallies={"random": half, "gold": AgentTally()}
    )
    (row,) = floors_table([made], {"toy": "MIT"}, title="T").rows
    assert row == ("toy/c", "1", "MIT", "1,234", "-", "-", "-", "1/4 (37.5)", "0.500", "1")


def test_the_command_writes_a_table_and_every_figure(tmp_path: Path) -> None:
    json, markdown = tmp_path / "floors.json", tmp_path / "floors.md"
    words = [
        "bench",
        "suites",
        "toy",
        "--split",
        "all",
        "--categories",
        "--json",
        str(json),
        "--markdown",
        str(markdown),
    ]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    written = TypeAdapter(list[Floors]).validate_json(json.read_bytes())
    assert [own.category for own in written] == ["count", "drill", "all"]
    assert figures(written[-1])["gold"] == AgentTally(played=4, solved=4, points=400)
    assert "| toy/count | 1 | Apache-2.0 | 3 | 3/3 | 0/3 | 0/3 | 3/3 |" in markdown.read_text()
    assert "toy/drill" in result.output


def test_the_command_plays_whatever_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = CliRunner().invoke(app, ["bench", "suites", "--limit", "1", "--agent", "gold"], catch_exceptions=False)
    assert "toy" in result.output
    assert "bfcl" not in result.output
    monkeypatch.setenv("PALAESTRA_BENCHMARKS", str(tmp_path / "none"))
    with pytest.raises(ConfigError, match="no benchmark is installed; `palaestra suites list` says which there are"):
        CliRunner().invoke(app, ["bench", "suites"], catch_exceptions=False)
