"""Each fault of a model's server is counted as what it is, and none of them costs a task that can be solved."""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from chatserver import Answer, Asked, Cut, Faulty, Hang, Reset, Solver, chat, chat_server, said
from chatserver.answers import Deed
from palaestra.agents.remote import EndpointConfig, RemoteChatConfig
from palaestra.benchmarks.evaluation.agents.endpoint import EvaluatedEndpoint
from palaestra.benchmarks.evaluation.journal import Journal
from palaestra.benchmarks.evaluation.outcome import EpisodeOutcome
from palaestra.benchmarks.evaluation.play import PlayOptions, evaluate, settings_of
from palaestra.benchmarks.evaluation.results import read_results
from palaestra.benchmarks.suites import SuiteOptions, suite_of
from palaestra.envs import ToolEnv
from palaestra.errors import ConfigError, ServerError
from palaestra.records import EndReason

SUITE = suite_of("storefront", SuiteOptions(split="dev", limit=8))
(CELL,) = SUITE.cells
KEY = "sk-canary-0123456789"


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two tries; how long they are is a claim of `agents/remote/test_endpoint.py`."""
    monkeypatch.setattr("palaestra.agents.remote.endpoint._FIRST_WAIT", 0.01)


@pytest.fixture(scope="module")
def solver() -> Solver:
    env = gym.make(CELL.env_id, disable_env_checker=True).unwrapped
    assert isinstance(env, ToolEnv)
    return Solver(env, CELL.tasks)


def chat_config(url: str) -> RemoteChatConfig:
    """The model behind `url`."""
    return RemoteChatConfig(endpoint=EndpointConfig(base_url=url), model="solver")


def outcomes(
    url: str,
    folder: Path,
    *,
    concurrency: int = 4,
    seconds: float = 60.0,
    tries: int = 2,
    timeout: float = 30.0,
    server_tries: int = 3,
    key_variable: str | None = None,
    again: bool = False,
) -> tuple[EpisodeOutcome, ...]:
    """What comes of the suite with the model behind `url`."""
    config = EndpointConfig(base_url=url, timeout=timeout, tries=server_tries, key_variable=key_variable)
    options = PlayOptions(concurrency=concurrency, seconds=seconds, tries=tries)
    with EvaluatedEndpoint(RemoteChatConfig(endpoint=config, model="solver")) as evaluated_agent:
        settings = settings_of(evaluated_agent, SUITE, samples=1, seed=0)
        with Journal(folder, settings, again=int(again)) as journal:
            return evaluate(evaluated_agent, journal, options, say=list[str]().append).outcomes


def troubles(found: tuple[EpisodeOutcome, ...]) -> Counter[str]:
    """Of all outcomes."""
    return sum((Counter(outcome.troubles) for outcome in found), Counter[str]())


def test_a_model_that_solves_its_tasks_is_counted_as_one_that_does(solver: Solver, tmp_path: Path) -> None:
    with chat_server(behaviour=solver) as server:
        found = outcomes(server.url, tmp_path)
    assert [outcome.task for outcome in found] == list(CELL.tasks)
    assert all(outcome.solved and outcome.points == 100 for outcome in found)
    assert all(outcome.invalid == 0 and outcome.troubles == {} for outcome in found)
    asked = sum(outcome.turns for outcome in found)
    assert len(server.asked) == asked, "one request a turn"
    assert sum(outcome.prompt_tokens or 0 for outcome in found) == 11 * asked, "as the server counts"
    assert sum(outcome.completion_tokens or 0 for outcome in found) == 7 * asked


def malformed(call: tuple[str, Mapping[str, Any]]) -> Deed:
    return chat(None, (call[0], '{"order_id": "ORD-'))


def cut_off(call: tuple[str, Mapping[str, Any]]) -> Deed:
    return chat(None, call, finish="length")


def answering(deed: Deed) -> Callable[[tuple[str, Mapping[str, Any]]], Deed]:
    return lambda _: deed


BUSY = Answer(status=429, body=b"slow down", headers={"Retry-After": "0.02"})
PASSING = {
    "status 429": answering(BUSY),
    "status 500": answering(Answer(status=500, body=b"oops")),
    "lost connection": answering(Cut()),
    "late": answering(Hang()),
    "malformed call": malformed,
    "cut off": cut_off,
    "empty reply": answering(chat(None)),
    "filtered": answering(chat(None, finish="content_filter")),
}


@pytest.mark.parametrize("names", [*([name] for name in PASSING), list(PASSING)], ids=" ".join)
def test_what_goes_wrong_is_counted_and_costs_no_task(names: list[str], solver: Solver, tmp_path: Path) -> None:
    faulty = Faulty(solver, {name: PASSING[name] for name in names}, every=5)
    with chat_server(behaviour=faulty) as server:
        found = outcomes(server.url, tmp_path, timeout=3.0 if "late" in names else 30.0)
    assert faulty.injected.total() >= 10
    assert set(faulty.injected) == set(names)
    assert troubles(found) == faulty.injected, "each is counted as what it is, once"
    assert all(outcome.solved and outcome.fault is None for outcome in found)
    unreadable = sum(faulty.injected[name] for name in ("malformed call", "cut off", "empty reply", "filtered"))
    assert sum(outcome.invalid for outcome in found) == unreadable, "the model's own faults are turns that hold no call"


def test_a_connection_that_is_reset_is_lost(solver: Solver, tmp_path: Path) -> None:
    faulty = Faulty(solver, {"lost connection": answering(Reset(half=False))}, every=7)
    with chat_server(behaviour=faulty) as server:
        found = outcomes(server.url, tmp_path)
    assert troubles(found) == faulty.injected
    assert all(outcome.solved for outcome in found)


def well_for(episodes: int, solver: Solver, deed: Deed) -> Callable[[Asked], Deed]:
    """A server that answers the first tasks and does `deed` to the others."""
    return lambda asked: solver(asked) if solver.place(asked)[0] in CELL.tasks[:episodes] else deed


@pytest.mark.parametrize(
    ("deed", "kind", "expected"),
    [
        (Answer(status=500, body=b"oops"), "server", {"status 500": 4, "played again: server": 1}),
        (BUSY, "server", {"status 429": 4, "played again: server": 1}),
        (Cut(), "server", {"lost connection": 4, "played again: server": 1}),
        (Hang(), "time", {"late": 4, "played again: time": 1}),
        (said({"choices": []}), "reply", {"no chat completion": 2, "played again: reply": 1}),
        (Answer(body=b"<html>"), "reply", {"no JSON object": 2, "played again: reply": 1}),
        (chat("I would", finish="abort"), "server", {"broken off": 2, "played again: server": 1}),
        (chat(None, finish="error"), "server", {"broken off": 2, "played again: server": 1}),
    ],
    ids=["500", "429", "cut", "hang", "no completion", "no JSON", "abort", "error"],
)
def test_what_does_not_pass_is_a_fault_and_never_a_score(
    deed: Deed, kind: str, expected: dict[str, int], solver: Solver, tmp_path: Path
) -> None:
    patience = 1.0 if kind == "time" else 30.0
    with chat_server(behaviour=well_for(1, solver, deed)) as server:
        first, *found = outcomes(server.url, tmp_path, concurrency=8, timeout=patience, server_tries=2)
    assert first.solved
    assert len(found) == len(CELL.tasks) - 1
    for outcome in found:
        assert outcome.fault is not None
        assert outcome.fault.kind == kind
        assert outcome.troubles == expected
        assert (outcome.end, outcome.turns, outcome.solved) == (None, 0, False)


def test_a_server_that_refuses_everything_stops_the_run_with_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    refusal = said({"error": {"message": f"no such key: {KEY}"}}, status=401)
    with chat_server(refusal) as server, pytest.raises(ConfigError) as told:
        outcomes(server.url, tmp_path, key_variable="TEST_KEY")
    assert "each of the first 3 episodes was refused, and none is counted" in str(told.value)
    assert "status 401: no such key: ***; check the key" in str(told.value)
    assert len(server.asked) == 3, "what was refused once is not asked again"
    assert all(KEY not in path.read_text() for path in tmp_path.iterdir())


@pytest.mark.parametrize("deed", [Answer(status=500, body=b"oops"), Cut(), Hang()], ids=["500", "cut", "hang"])
def test_a_server_that_answers_nothing_stops_the_run(deed: Deed, tmp_path: Path) -> None:
    with chat_server(deed) as server, pytest.raises(ServerError, match="each of the first 3 episodes was not answered"):
        outcomes(server.url, tmp_path, timeout=0.2, server_tries=1)
    assert read_results(tmp_path).outcomes == ()


@pytest.mark.parametrize(
    "deed", [Answer(body=b"<html>502 bad gateway</html>"), said({"choices": []})], ids=["html", "empty"]
)
def test_a_server_that_answers_nonsense_stops_the_run(deed: Deed, tmp_path: Path) -> None:
    with chat_server(deed) as server, pytest.raises(ServerError, match="each of the first 3 episodes got no chat comp"):
        outcomes(server.url, tmp_path, server_tries=1)
    assert read_results(tmp_path).outcomes == ()


def test_one_that_is_killed_after_it_was_answered_goes_on_as_if_it_had_not_been(solver: Solver, tmp_path: Path) -> None:
    refusal = said({"error": {"message": "no such model"}}, status=404)
    with chat_server(behaviour=well_for(4, solver, refusal)) as server:
        whole = outcomes(server.url, tmp_path / "whole", concurrency=1)
        blocks = [replace(one) for one in whole[:4]]
        with EvaluatedEndpoint(chat_config(server.url)) as evaluated_agent:
            settings = settings_of(evaluated_agent, SUITE, samples=1, seed=0)
        with Journal(tmp_path / "killed", settings) as journal:
            for block in blocks:
                journal.add([block], [])
        resumed = outcomes(server.url, tmp_path / "killed", concurrency=1)
    assert resumed == whole
    assert [outcome.fault is None for outcome in whole] == [True] * 4 + [False] * 4


def test_faults_are_played_again_where_that_is_asked_for(solver: Solver, tmp_path: Path) -> None:
    deeds: list[Deed] = [Answer(status=500, body=b"oops")]

    def behave(asked: Asked) -> Deed:
        return solver(asked) if solver.place(asked)[0] in CELL.tasks[:4] or not deeds else deeds[0]

    with chat_server(behaviour=behave) as server:
        first = outcomes(server.url, tmp_path, server_tries=1)
        asked = len(server.asked)
        deeds.clear()
        assert outcomes(server.url, tmp_path, server_tries=1) == first
        assert len(server.asked) == asked, "it is done, and nobody asked for more"
        second = outcomes(server.url, tmp_path, server_tries=1, again=True)
        assert len(server.asked) == asked + sum(outcome.turns for outcome in second[4:])
    assert [outcome.fault is None for outcome in first] == [True] * 4 + [False] * 4
    assert second[:4] == first[:4]
    assert all(outcome.solved for outcome in second)
    found = read_results(tmp_path)
    assert found.outcomes == second
    assert len(found.episodes) == len(CELL.tasks)
    assert not (tmp_path / "journal.jsonl").exists()


def test_a_key_that_is_not_set_stops_the_run(tmp_path: Path) -> None:
    with chat_server(chat("hello")) as server, pytest.raises(ConfigError, match="NO_SUCH_KEY is not set"):
        outcomes(server.url, tmp_path, key_variable="NO_SUCH_KEY")
    assert server.asked == []


def test_a_request_that_is_refused_on_the_way_costs_its_own_episode(solver: Solver, tmp_path: Path) -> None:
    doomed = CELL.tasks[3]

    def behave(asked: Asked) -> Deed:
        if solver.place(asked) == (doomed, 2):
            return said({"error": {"message": "context length exceeded"}}, status=400)
        return solver(asked)

    with chat_server(behaviour=behave) as server:
        found = outcomes(server.url, tmp_path)
    assert [outcome.task for outcome in found if outcome.fault is not None] == [doomed]
    (fault,) = [outcome for outcome in found if outcome.fault is not None]
    assert fault.fault is not None
    assert fault.fault.kind == "reply"
    assert "context length exceeded" in fault.fault.said
    assert fault.troubles == {"refused 400": 1}
    assert fault.prompt_tokens == 2 * 11, "what was paid for is counted all the same"
    assert all(outcome.solved for outcome in found if outcome.fault is None)


def test_whoever_stops_it_does_not_wait_for_servers_that_hang(solver: Solver, tmp_path: Path) -> None:
    hanging: list[Asked] = []

    def behave(asked: Asked) -> Deed:
        if solver.place(asked)[0] == CELL.tasks[-1]:
            hanging.append(asked)
            return Hang()
        while not hanging and solver.place(asked)[0] in CELL.tasks[4:]:
            time.sleep(0.01)  # so that somebody waits when it is stopped
        return solver(asked)

    def stopped(task: str) -> None:
        if task in CELL.tasks[4:]:
            raise KeyboardInterrupt

    with chat_server(behaviour=behave) as server:
        config = EndpointConfig(base_url=server.url, timeout=120.0)
        begun = time.monotonic()
        with EvaluatedEndpoint(RemoteChatConfig(endpoint=config, model="solver")) as evaluated_agent:
            settings = settings_of(evaluated_agent, SUITE, samples=1, seed=0)
            with pytest.raises(KeyboardInterrupt), Journal(tmp_path, settings) as journal:
                evaluate(evaluated_agent, journal, PlayOptions(), progress=stopped, say=list[str]().append)
    assert time.monotonic() - begun < 60.0, "the request that hangs would have lasted for 120 seconds"


def test_a_model_that_is_slow_uses_up_its_own_time(solver: Solver, tmp_path: Path) -> None:
    slow = CELL.tasks[0]

    def behave(asked: Asked) -> Deed:
        place = solver.place(asked)
        if place == (slow, 0):
            time.sleep(3.0)
        return Hang() if place == (slow, 1) else solver(asked)

    with chat_server(behaviour=behave) as server:
        found = outcomes(server.url, tmp_path, seconds=5.0)
    (ended,) = [outcome for outcome in found if outcome.task == slow]
    assert ended.fault is None
    assert ended.end == EndReason.TIME_BUDGET
    assert ended.turns == 1
    assert not ended.solved


@pytest.mark.parametrize("turn", [0, 1])
def test_a_server_that_hangs_for_the_rest_of_the_time_is_a_fault(turn: int, solver: Solver, tmp_path: Path) -> None:
    hung = CELL.tasks[3]

    def behave(asked: Asked) -> Deed:
        return Hang() if solver.place(asked) == (hung, turn) else solver(asked)

    with chat_server(behaviour=behave) as server:
        found = outcomes(server.url, tmp_path, seconds=4.0, tries=1)
    assert [outcome.task for outcome in found if not outcome.solved] == [hung]
    fault = found[3].fault
    assert fault is not None
    assert fault.kind == "time"
    assert "the agent's 4 s are over: waited" in fault.said


def test_time_that_was_lost_to_an_early_try_is_not_the_model_s(solver: Solver, tmp_path: Path) -> None:
    slow = CELL.tasks[3]
    failed: list[Asked] = []

    def behave(asked: Asked) -> Deed:
        place = solver.place(asked)
        if place == (slow, 0):
            if not failed:
                failed.append(asked)
                return Answer(status=503, body=b"loading")
            time.sleep(3.0)
        return Hang() if place == (slow, 1) else solver(asked)

    with chat_server(behaviour=behave) as server:
        found = outcomes(server.url, tmp_path, seconds=5.0, tries=1)
    fault = found[3].fault
    assert fault is not None
    assert fault.kind == "time"
    assert found[3].troubles == {"status 503": 1}


def test_time_that_a_failing_server_took_is_a_fault(solver: Solver, tmp_path: Path) -> None:
    slow = CELL.tasks[0]

    def behave(asked: Asked) -> Deed:
        return Answer(status=503, body=b"loading") if solver.place(asked) == (slow, 1) else solver(asked)

    with chat_server(behaviour=behave) as server:
        found = outcomes(server.url, tmp_path, seconds=2.0, tries=1, server_tries=9)
    (ended,) = [outcome for outcome in found if outcome.task == slow]
    assert ended.fault is not None
    assert ended.fault.kind in ("server", "time")
    assert ended.troubles["status 503"] >= 2
