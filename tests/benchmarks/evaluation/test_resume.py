"""An evaluation that was broken off goes on where it was: nothing twice, nothing lost, nothing else than asked for."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from palaestra.agents import Env
from palaestra.benchmarks.evaluation.agents import AgentSession, EvaluatedScript
from palaestra.benchmarks.evaluation.journal import Journal, differences
from palaestra.benchmarks.evaluation.play import PlayOptions, evaluate, settings_of
from palaestra.benchmarks.evaluation.results import Results, read_results
from palaestra.benchmarks.suites import SuiteOptions, suite_of
from palaestra.errors import ConfigError, RecordError
from palaestra.trajectory import read_episodes

SUITE = suite_of("storefront", SuiteOptions(split="dev", limit=5))
EPISODES = 5 * 2


class Interrupted(Exception):  # noqa: N818  it is what a person does, not a fault
    """Somebody stopped it."""


class Counting(EvaluatedScript):
    """The oracle, which counts the episodes that it begins, and stops before number `stop`."""

    def __init__(self, *, stop: int | None = None) -> None:
        super().__init__("oracle")
        self.begun: Counter[str] = Counter()
        self._stop = stop

    def seat(self, env: Env, left: Callable[[], float]) -> AgentSession:
        if self.begun.total() == self._stop:
            raise Interrupted
        self.begun[str(env.get_wrapper_attr("task").id)] += 1
        return super().seat(env, left)


def play(evaluated_agent: EvaluatedScript, folder: Path, *, concurrency: int = 1, seed: int = 0) -> Results:
    """Two samples of each task."""
    settings = settings_of(evaluated_agent, SUITE, samples=2, seed=seed)
    with Journal(folder, settings) as journal:
        return evaluate(evaluated_agent, journal, PlayOptions(concurrency=concurrency))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("stop", [0, 1, 7, EPISODES - 1])
def test_what_was_played_is_not_played_again(stop: int, tmp_path: Path) -> None:
    whole = play(Counting(), tmp_path / "whole", concurrency=3)
    first, second = Counting(stop=stop), Counting()
    with pytest.raises(Interrupted):
        play(first, tmp_path / "broken")
    assert len(read_results(tmp_path / "broken").outcomes) == stop
    found = play(second, tmp_path / "broken")
    assert first.begun.total() + second.begun.total() == EPISODES
    assert set((first.begun + second.begun).values()) == {2}
    assert found == whole
    assert contents(tmp_path / "broken") == contents(tmp_path / "whole")


def test_one_that_is_done_plays_nothing(tmp_path: Path) -> None:
    whole = play(Counting(), tmp_path)
    before, again = contents(tmp_path), Counting()
    assert play(again, tmp_path) == whole
    assert again.begun.total() == 0
    assert contents(tmp_path) == before


def test_a_torn_line_is_played_again(tmp_path: Path) -> None:
    whole = play(Counting(), tmp_path / "whole")
    with pytest.raises(Interrupted):
        play(Counting(stop=4), tmp_path / "torn")
    journal = tmp_path / "torn" / "journal.jsonl"
    journal.write_bytes(journal.read_bytes()[:-20])
    again = Counting()
    assert play(again, tmp_path / "torn") == whole
    assert again.begun.total() == EPISODES - 3


def test_a_kill_between_the_files_that_end_it_changes_nothing(tmp_path: Path) -> None:
    whole = play(Counting(), tmp_path / "whole")
    with pytest.raises(Interrupted):
        play(Counting(stop=EPISODES - 1), tmp_path / "late")
    (tmp_path / "late" / "trajectories.jsonl").write_bytes(b"from before the kill\n")
    assert play(Counting(), tmp_path / "late") == whole
    assert contents(tmp_path / "late") == contents(tmp_path / "whole")


def test_trajectories_can_be_read_and_are_those_of_the_first_samples(tmp_path: Path) -> None:
    found = play(Counting(), tmp_path, concurrency=4)
    episodes = tuple(read_episodes(tmp_path / "trajectories.jsonl"))
    assert episodes == found.episodes == read_results(tmp_path).episodes
    (cell,) = SUITE.cells
    assert [episode.id for episode in episodes] == [f"{cell.id}/{task}/0" for task in cell.tasks]
    assert all(episode.score.passed and episode.tools == () for episode in episodes)


def test_other_settings_are_refused_by_name(tmp_path: Path) -> None:
    play(Counting(), tmp_path)
    with pytest.raises(ConfigError, match="seed is 0 there and 1 here; evaluate into another folder"):
        play(Counting(), tmp_path, seed=1)
    with pytest.raises(ConfigError, match="agent is 'oracle' there and 'no-op' here"):
        play(EvaluatedScript("no-op"), tmp_path)


def test_differences_name_each_setting() -> None:
    one = settings_of(EvaluatedScript("no-op"), SUITE, samples=2, seed=0)
    assert differences(one, one) == []
    other = replace(one, samples=3, price_in=1.5, suite=replace(SUITE, cells=()))
    assert differences(one, other) == [
        "price_in is None there and 1.5 here",
        "samples is 2 there and 3 here",
        "suite.cells: others",
    ]


def test_somebody_else_s_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("chapter 1")
    with pytest.raises(ConfigError, match=r"holds thesis\.tex and no evaluation; give a new folder"):
        play(Counting(), tmp_path)
    assert (tmp_path / "thesis.tex").read_text() == "chapter 1"


def test_two_processes_do_not_evaluate_into_one_folder(tmp_path: Path) -> None:
    settings = settings_of(Counting(), SUITE, samples=2, seed=0)
    with Journal(tmp_path, settings), pytest.raises(RecordError, match="another process evaluates into it"):
        Journal(tmp_path, settings)
    Journal(tmp_path, settings).close()
