"""Whatever breaks an episode off is a fault with a name, tried again in a fresh world, and never a score."""

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import gymnasium as gym
import pytest

from palaestra.agents import Env
from palaestra.benchmarks.evaluation.agents import AgentSession, EvaluatedScript
from palaestra.benchmarks.evaluation.agents.agent import Attempt, EpisodeCost, EvaluatedBlockAgent
from palaestra.benchmarks.evaluation.episode_key import EpisodeKey
from palaestra.benchmarks.evaluation.journal import Journal
from palaestra.benchmarks.evaluation.metrics import figures
from palaestra.benchmarks.evaluation.outcome import EpisodeFault, EpisodeOutcome, FaultKind
from palaestra.benchmarks.evaluation.play import PlayOptions, evaluate, settings_of
from palaestra.benchmarks.evaluation.results import read_results
from palaestra.benchmarks.evaluation.suite import Cell, Suite
from palaestra.benchmarks.suites import SuiteOptions, suite_of
from palaestra.envs import ToolEnv
from palaestra.errors import (
    ConfigError,
    EngineError,
    InfrastructureError,
    RubricError,
    TaskError,
    UnknownNameError,
    WaitError,
)
from palaestra.protocols import Action
from palaestra.records import EndReason, JsonObject, Message
from worlds.registration import LIBRARY_ID

MOODY_ID = "test/EvaluatedLibrary-v0"
TASKS = ("library/lend-book/7000", "library/renew-loan/7000")


class Moody(ToolEnv):
    """The library; the first worlds raise what `moods` says in their second turn, one after the other."""

    moods: ClassVar[list[Exception]] = []
    made: ClassVar[int] = 0

    def __init__(self, env_id: str, **switches: Any) -> None:
        super().__init__(env_id, **switches)
        type(self).made += 1

    def step(self, action: Action) -> tuple[tuple[Message, ...], float, bool, bool, dict[str, Any]]:
        if self.events and self.moods:
            raise self.moods.pop(0)
        return super().step(action)


class Goldless(ToolEnv):
    """The library, some of whose tasks have no solution."""

    lacking: ClassVar[frozenset[str]] = frozenset()

    def oracle(self) -> Any:
        return None if self.task.id in self.lacking else super().oracle()


class Unconfigured(ToolEnv):
    """The library, which does not open without its key."""

    said: ClassVar[str] = ""

    def reset(self, **options: Any) -> tuple[tuple[Message, ...], dict[str, Any]]:
        task = options["options"]["task"]
        raise InfrastructureError(self.said.format(task=task))


@contextmanager
def registered(kind: Callable[..., ToolEnv]) -> Generator[None]:
    gym.register(  # pyright: ignore[reportUnknownMemberType]
        MOODY_ID,
        entry_point=kind,
        kwargs={"env_id": LIBRARY_ID},
        disable_env_checker=True,
        order_enforce=False,
    )
    try:
        yield
    finally:
        del gym.registry[MOODY_ID]


def suite(tasks: tuple[str, ...] = TASKS, *, env_id: str = MOODY_ID, **switches: Any) -> Suite:
    return Suite(
        name="s",
        title="s",
        cells=(Cell(id="c", label="c", env_id=env_id, tasks=tasks, switches=switches),),
    )


def play(
    folder: Path,
    asked: Suite,
    *,
    agent: str = "oracle",
    said: list[str] | None = None,
    samples: int = 1,
    **options: Any,
) -> tuple[EpisodeOutcome, ...]:
    evaluated_agent = EvaluatedScript(agent)
    settings = settings_of(evaluated_agent, asked, samples=samples, seed=0)
    say = (said if said is not None else []).append
    with Journal(folder, settings) as journal:
        return evaluate(evaluated_agent, journal, PlayOptions(**{"concurrency": 1, **options}), say=say).outcomes


CRASHES: Mapping[str, tuple[Exception, str]] = {
    "gone": (InfrastructureError("the disk is gone"), "world"),
    "hangs": (WaitError("waited 3 s"), "time"),
    "crashes": (ZeroDivisionError("division by zero"), "world"),
    "grader": (RubricError("a criterion crashed"), "world"),
}


@pytest.mark.parametrize("name", CRASHES)
def test_a_world_that_fails_once_is_replaced(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    error, kind = CRASHES[name]
    monkeypatch.setattr(Moody, "moods", [error])
    monkeypatch.setattr(Moody, "made", 0)
    with registered(Moody):
        found = play(tmp_path, suite())
    assert all(outcome.solved and outcome.fault is None for outcome in found)
    assert [dict(outcome.troubles) for outcome in found] == [{f"played again: {kind}": 1}, {}]
    assert Moody.made == 2, "the one that failed, and a fresh one for all that follows"


@pytest.mark.parametrize("name", CRASHES)
def test_a_world_that_fails_at_every_try_is_a_fault(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    error, kind = CRASHES[name]
    monkeypatch.setattr(Moody, "moods", [error, error, error])
    said: list[str] = []
    with registered(Moody):
        first, second = play(tmp_path, suite(), tries=3, said=said)
    assert first.fault is not None
    assert first.fault.kind == kind
    assert str(error) in first.fault.said
    assert (first.solved, first.points, first.end) == (False, 0, None)
    assert dict(first.troubles) == {f"played again: {kind}": 2}
    assert second.solved
    (line,) = said
    assert line.startswith("c/library/lend-book/7000/0: no score: ")


def test_a_task_without_gold_is_a_fault_of_its_own_and_the_rest_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Goldless, "lacking", frozenset({TASKS[0]}))
    with registered(Goldless):
        first, second = play(tmp_path, suite())
    assert first.fault is not None
    assert first.fault.kind == "gold"
    assert first.fault.said.startswith("no gold: library/lend-book/7000 has no solution of its own")
    assert first.troubles == {}, "it is not tried again"
    assert second.solved
    assert figures(read_results(tmp_path).outcomes).faults == {"gold": 1}


def test_worlds_that_cannot_begin_stop_the_run_with_their_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Unconfigured, "said", "{task} needs a key; set LIBRARY_KEY")
    with (
        registered(Unconfigured),
        pytest.raises(ConfigError, match=r"each of the first 2 episodes had a world .* set LIBRARY_KEY"),
    ):
        play(tmp_path, suite())
    assert read_results(tmp_path).outcomes == ()


def test_worlds_that_fail_each_in_its_own_way_are_faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = iter("ab")

    def fails(_self: Unconfigured, **_options: Any) -> None:
        raise InfrastructureError(next(seen))

    monkeypatch.setattr(Unconfigured, "reset", fails)
    with registered(Unconfigured):
        found = play(tmp_path, suite(), tries=1)
    assert [outcome.fault and outcome.fault.said for outcome in found] == ["a", "b"]


class Slow(ToolEnv):
    """The library, which takes its time."""

    def reset(self, **options: Any) -> tuple[tuple[Message, ...], dict[str, Any]]:
        time.sleep(0.2)
        return super().reset(**options)

    def step(self, action: Action) -> tuple[tuple[Message, ...], float, bool, bool, dict[str, Any]]:
        time.sleep(0.2)
        return super().step(action)


class Pondering(EvaluatedScript):
    """The oracle, which thinks before it answers."""

    def seat(self, env: Env, left: Callable[[], float]) -> AgentSession:
        seat = super().seat(env, left)
        act = seat.agent.act

        def slowly(messages: Sequence[Message]) -> Action:
            time.sleep(0.2)
            return act(messages)

        monkey: Any = seat.agent
        monkey.act = slowly
        return seat


def test_time_that_the_agent_uses_up_ends_an_episode_with_the_score_that_it_has(tmp_path: Path) -> None:
    asked, evaluated_agent = suite(env_id=LIBRARY_ID), Pondering("oracle")
    with Journal(tmp_path, settings_of(evaluated_agent, asked, samples=1, seed=0)) as journal:
        found = evaluate(evaluated_agent, journal, PlayOptions(seconds=0.3)).outcomes
    assert [(outcome.end, outcome.turns, outcome.fault) for outcome in found] == [(EndReason.TIME_BUDGET, 2, None)] * 2


def test_time_that_the_world_takes_is_not_the_agents(tmp_path: Path) -> None:
    with registered(Slow):
        found = play(tmp_path, suite(), seconds=0.15)
    assert all(outcome.solved and outcome.fault is None for outcome in found)


def test_how_many_play_side_by_side_changes_nothing(tmp_path: Path) -> None:
    asked = suite_of("storefront", SuiteOptions(split="dev", limit=6))
    one = play(tmp_path / "one", asked, agent="random", samples=2)
    assert play(tmp_path / "eight", asked, agent="random", samples=2, concurrency=8) == one
    assert len({outcome.criteria["ungrounded"] for outcome in one}) == 2, "luck differs between samples"


def test_a_suite_that_makes_no_sense_is_refused() -> None:
    agent = EvaluatedScript("no-op")
    with pytest.raises(TaskError, match="the suite s holds no task"):
        settings_of(agent, suite(()), samples=1, seed=0)
    with pytest.raises(ConfigError, match="library/lend-book/7000 twice; an episode has one place"):
        settings_of(agent, suite((*TASKS, TASKS[0])), samples=1, seed=0)
    for wrong in ({"samples": 0}, {"samples": 1001}, {"seed": -1}, {"seed": 2**31}, {"price_in": -1.0}):
        with pytest.raises(ConfigError, match=next(iter(wrong))):
            settings_of(agent, suite(), **{"samples": 1, "seed": 0, **wrong})  # type: ignore[arg-type]


def test_a_task_that_is_not_there_stops_the_run(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="library/lend-boko/7000"):
        play(tmp_path, suite(("library/lend-boko/7000",), env_id=LIBRARY_ID))


class Failing(EvaluatedBlockAgent):
    """A policy whose engine fails at every episode of some blocks, by the kinds of their faults."""

    name, block = "failing", 2

    def __init__(self, kinds: Sequence[FaultKind]) -> None:
        self._kinds = list(kinds)

    def describe(self) -> JsonObject:
        return {"kind": "failing"}

    def play(
        self,
        cell: Cell,
        episode_keys: Sequence[EpisodeKey],
        *,
        progress: Callable[[str], None],
        say: Callable[[str], None],
    ) -> list[Attempt]:
        del cell, progress, say
        fault = EpisodeFault(kind=self._kinds.pop(0), said="nothing is drawn")
        return [Attempt(episode_key=episode_key, came=fault, spent=EpisodeCost()) for episode_key in episode_keys]


def play_blocks(folder: Path, kinds: Sequence[FaultKind], said: list[str]) -> tuple[EpisodeOutcome, ...]:
    asked = suite(env_id=LIBRARY_ID)
    evaluated_agent = Failing(kinds)
    with Journal(folder, settings_of(evaluated_agent, asked, samples=2, seed=0)) as journal:
        return evaluate(evaluated_agent, journal, PlayOptions(), say=said.append).outcomes


@pytest.mark.parametrize(
    ("kind", "error", "why"),
    [
        ("engine", EngineError, "each of the first 2 episodes was not answered, and none is counted: nothing is drawn"),
        ("time", EngineError, "each of the first 2 episodes was not answered"),
        ("context", ConfigError, "each of the first 2 episodes had no room for a turn"),
    ],
)
def test_a_first_block_of_which_nothing_comes_stops_the_run(
    kind: FaultKind, error: type[Exception], why: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=why):
        play_blocks(tmp_path, [kind], [])
    assert read_results(tmp_path).outcomes == ()


def test_blocks_that_fail_later_are_faults_and_are_told(tmp_path: Path) -> None:
    said: list[str] = []
    found = play_blocks(tmp_path, ["world", "engine"], said)
    assert [one.fault.kind for one in found if one.fault is not None] == ["world"] * 2 + ["engine"] * 2
    assert said == ["c: 2 of 2 episodes have no score: nothing is drawn"]


@pytest.mark.parametrize(
    "options", [{"seconds": 0.0}, {"seconds": -1.0}, {"seconds": float("nan")}, {"concurrency": 0}, {"tries": 0}]
)
def test_numbers_out_of_their_range_are_refused(options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(ConfigError, match=f"{name}="):
        PlayOptions(**options)


def test_a_search_says_that_it_forks_the_world_and_plays_the_same_again(tmp_path: Path) -> None:
    one = play(tmp_path / "one", suite(env_id=LIBRARY_ID), agent="search")
    assert play(tmp_path / "two", suite(env_id=LIBRARY_ID), agent="search") == one
    assert not any(outcome.fault for outcome in one)
    assert EvaluatedScript("search").describe() == {"kind": "scripted", "agent": "search", "privileged": True}
    assert "privileged" not in EvaluatedScript("random").describe()
