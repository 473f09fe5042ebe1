"""The suite of generated worlds: three rungs, each with worlds of its own, and claims about worlds."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from palaestra.benchmarks.evaluation.agents import AgentOptions, evaluated_agent_of
from palaestra.benchmarks.evaluation.journal import Journal
from palaestra.benchmarks.evaluation.play import PlayOptions, evaluate, settings_of
from palaestra.benchmarks.statistics import Unit
from palaestra.benchmarks.suites import SuiteOptions, suite_of
from palaestra.envs.synthesis import ListedWorld, draw_plan, generate_blueprint, listing, save_listing
from palaestra.errors import CapabilityError, ConfigError, UnknownNameError

NUMBERS = (0, 1, 2, 8, 9, 18)


@pytest.fixture(autouse=True)
def listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Six worlds as the listed ones."""
    worlds = {number: ListedWorld.of(draw_plan(number), generate_blueprint(number), "") for number in NUMBERS}
    save_listing(worlds, tmp_path / "listing.json")
    monkeypatch.setattr(listing, "PATH", tmp_path / "listing.json")
    listing.listed_worlds.cache_clear()
    yield
    listing.listed_worlds.cache_clear()


def test_each_rung_has_the_held_out_tasks_of_its_worlds() -> None:
    suite = suite_of("synth", SuiteOptions(limit=30, options={"trained": 2}))
    assert suite.ladders[0].cells == ("world/heldout", "world/heldout-domain", "world/heldout-mechanism")
    worlds = [{task.partition("/")[0] for task in cell.tasks} for cell in suite.cells]
    assert worlds == [{"synth-0", "synth-1"}, {"synth-8", "synth-18"}, {"synth-9"}]
    assert all(len(cell.tasks) <= 30 and cell.unit is Unit.WORLD for cell in suite.cells)
    assert [cell.switches["worlds"] for cell in suite.cells] == [[0, 1], [8, 18], [9]]


def test_solutions_solve_it_and_claims_count_worlds(tmp_path: Path) -> None:
    suite = suite_of("synth", SuiteOptions(limit=6))
    with (
        evaluated_agent_of("oracle", AgentOptions()) as agent,
        Journal(tmp_path / "run", settings_of(agent, suite, samples=1, seed=0)) as journal,
    ):
        results = evaluate(agent, journal, PlayOptions(concurrency=1))
    outcomes = results.outcomes
    assert len(outcomes) == 18
    assert all(one.solved for one in outcomes)
    assert {one.world for one in outcomes if one.cell == "world/heldout"} == {"synth-0", "synth-1", "synth-2"}


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        (SuiteOptions(options={"trained": 4}), CapabilityError, "trained=4: 3 worlds are listed for training"),
        (SuiteOptions(options={"each": 0}), ConfigError, "each=0: give at least 1"),
        (SuiteOptions(axes=("noise",)), ConfigError, "axis noise: the suite of generated worlds has one, 'world'"),
        (SuiteOptions(worlds=("storefront",)), ConfigError, "--world: the suite synth has worlds of its own"),
        (SuiteOptions(options={"families": "x"}), UnknownNameError, "unknown option 'families'"),
    ],
)
def test_what_it_has_not_is_refused(options: SuiteOptions, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        suite_of("synth", options)
