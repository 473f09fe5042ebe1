"""What holds for every benchmark behind the seam; the tests of each adapter call `conform`."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import gymnasium as gym
import orjson
import pytest
from jsonschema import Draft202012Validator

import palaestra.benchmarks.external.env as seam
from corpus.actions import nested
from palaestra.benchmarks.external import ExternalEnv
from palaestra.benchmarks.external.worker import BenchmarkProcesses
from palaestra.digest import digest
from palaestra.errors import EpisodeOverError
from palaestra.protocols import Action
from palaestra.steps import StepRecord
from palaestra.tools.wire import glimpse

_OPENING = {"tools", "task", "rubric", "seed", "state_hash", "anchor", "record"}
_STEP = {
    "task", "calls", "unreadable", "events", "changes", "points", "components", "met", "violated", "end", "score",
    "user", "state_hash", "anchor", "record",
}  # fmt: skip
_FINISH: Action = {"tool": "finish", "arguments": {}}
_TURNS = 4
"""Turns of a walk."""


def conform(env_id: str, task_ids: Sequence[str], *, seed: int = 3, **switches: Any) -> None:
    """Hold a benchmark to the contract, on some of its tasks.

    Args:
        env_id: As `gymnasium.make` knows it.
        task_ids: What to play; with two or more, the first two are played in turns as well.
        seed: Of every episode.
        switches: What `gymnasium.make` takes besides, the benchmark's own options among it.
    """
    with _one_process():
        for id in task_ids:
            env = _made(env_id, switches)
            _opens(env, id, seed)
            first = _walk(env, id, seed)
            assert _walk(env, id, seed) == first, f"{id}: not the same the second time"
            _ends(env, id, seed)
            _stops(env, id, seed)
            _answers(env, id, seed)
            _lets_go(env, id, seed)
            env.close()
            seam.WORKERS.close()
            fresh = _made(env_id, switches)
            assert _walk(fresh, id, seed) == first, f"{id}: not the same in a fresh process"
            fresh.close()
        if len(task_ids) > 1:
            _in_turns(env_id, task_ids[:2], seed, switches)


def gold_solves(env: ExternalEnv, id: str, *, seed: int = 3) -> None:
    """The benchmark's own solution gets every point, and passes."""
    env.reset(seed=seed, options={"task": id})
    turns, info = env.oracle(), dict[str, Any]()
    assert turns, f"{id}: no solution"
    for action in turns:
        *_, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            break
    if info["end"] is None:
        *_, info = env.step(_FINISH)
    score = info["score"]
    assert (score.passed, score.points) == (True, 100), f"{id}: {score}"


@contextmanager
def _one_process() -> Generator[None]:
    """All episodes in one process, so that they can touch each other where they do."""
    before, seam.WORKERS = seam.WORKERS, BenchmarkProcesses(most=1)
    try:
        yield
    finally:
        seam.WORKERS.close()
        seam.WORKERS = before


def _made(env_id: str, switches: dict[str, Any]) -> ExternalEnv:
    env: Any = gym.make(env_id, **switches).unwrapped
    assert isinstance(env, ExternalEnv)
    return env


def _opens(env: ExternalEnv, id: str, seed: int) -> None:
    observation, info = env.reset(seed=seed, options={"task": id})
    spec, rubric = info["task"], info["rubric"]
    assert info.keys() == _OPENING, f"{id}: {info.keys() ^ _OPENING}"
    assert (spec.id, info["seed"]) == (id, seed)
    assert spec.split in env.benchmark.splits, f"{id}: split {spec.split!r} is none of {list(env.benchmark.splits)}"
    assert spec.max_turns >= 1, f"{id}: {spec.max_turns} turns"
    assert env.tasks[id]["prompt"].strip(), f"{id}: no prompt"
    assert observation, f"{id}: nothing is said"
    assert env.observation_space.contains(observation), f"{id}: {observation}"
    assert any(message["role"] == "user" for message in observation), f"{id}: nobody asks for anything"
    expected = [line.points for line in rubric if line.kind == "expect"]
    assert sum(expected) == 100, f"{id}: expectations are worth {expected}"
    assert len({line.id for line in rubric}) == len(rubric), f"{id}: two criteria of one id"
    for tool in info["tools"]:
        Draft202012Validator.check_schema(tool["function"]["parameters"])
    assert orjson.loads(orjson.dumps([observation, info])), f"{id}: what is told is no JSON"
    assert env.state_hash() == info["state_hash"] == env.state_hash(), f"{id}: looking changes the state"


def _walk(env: ExternalEnv, id: str, seed: int) -> list[str]:
    """Some turns that make sense, as digests of all that was told."""
    observation, info = env.reset(seed=seed, options={"task": id})
    told = [digest([observation, info["tools"], info["rubric"], info["state_hash"], info["anchor"]])]
    for _ in range(_TURNS):
        action = env.legal_actions(1)[0]
        more, over = _stepped(env, action)
        told.append(more)
        if over:
            break
    return told


def _stepped(env: ExternalEnv, action: Action) -> tuple[str, bool]:
    observation, reward, terminated, truncated, info = env.step(action)
    assert info.keys() - {"tools"} == _STEP, f"{info.keys() ^ _STEP}"
    assert env.observation_space.contains(observation)
    assert not (terminated and truncated)
    assert (terminated or truncated) == (info["end"] is not None) == (info["score"] is not None)
    record: StepRecord = info["record"]
    assert record.to_gymnasium() == (observation, reward, terminated, truncated, info)
    _events_are_of_calls(record)
    events = [{**asdict(event), "mentioned": sorted(event.mentioned)} for event in record.events]
    plain = {key: value for key, value in info.items() if key != "record"}
    told = digest([action, observation, reward, terminated, truncated, {**plain, "events": events}])
    return told, terminated or truncated


def _events_are_of_calls(record: StepRecord) -> None:
    if record.unreadable is not None:
        assert not record.events
        return
    own = [call for call in record.calls if call.tool not in ("finish", "give_up", "reply")]
    assert len(record.events) >= len(own) or record.end is not None


def _ends(env: ExternalEnv, id: str, seed: int) -> None:
    """Rewards sum to the score, its criteria are the rubric's, and nothing follows an end."""
    _, opening = env.reset(seed=seed, options={"task": id})
    rewards, over, info = 0.0, False, dict[str, Any]()
    for action in [*env.legal_actions(2), _FINISH]:
        if not over:
            _, reward, terminated, truncated, info = env.step(action)
            rewards, over = rewards + reward, terminated or truncated
    score = info["score"]
    assert over, f"{id}: finish ends nothing"
    assert score is not None, f"{id}: an end without a score"
    assert rewards == score.points == info["points"], f"{id}: rewards {rewards}, points {score.points}"
    assert 0 <= score.points <= 100 == score.total, f"{id}: {score.points} of {score.total}"
    assert set(score.verdicts) == {line.id for line in opening["rubric"]}, f"{id}: {set(score.verdicts)}"
    with pytest.raises(EpisodeOverError):
        env.step(_FINISH)


def _stops(env: ExternalEnv, id: str, seed: int) -> None:
    """Calls behind the one that ends the episode do not run: the turn is what it is without them."""
    env.reset(seed=seed, options={"task": id})
    action = env.legal_actions(1)[0]
    first: list[Any] = [*action] if isinstance(action, (list, tuple)) else [action]
    with_, without = [*first, _FINISH, *first, _FINISH], [*first, _FINISH]
    ends = [_played_out(env, id, seed, turn) for turn in (with_, without)]
    assert ends[0] == ends[1], f"{id}: calls behind the end have an effect"


def _played_out(env: ExternalEnv, id: str, seed: int, turn: Any) -> tuple[object, ...]:
    env.reset(seed=seed, options={"task": id})
    record: StepRecord = env.step(turn)[4]["record"]
    assert record.end is not None
    return record.messages, record.events, record.score, record.state_hash


def _answers(env: ExternalEnv, id: str, seed: int) -> None:
    """Whatever a model writes is answered, and ends nothing but the episode that it is in."""
    _, info = env.reset(seed=seed, options={"task": id})
    names = [tool["function"]["name"] for tool in info["tools"] if tool["function"]["name"] != "finish"]
    over = False
    for action in _bad(names):
        if over:
            env.reset(seed=seed, options={"task": id})
        observation, _, terminated, truncated, info = env.step(action)
        over = terminated or truncated
        shown = glimpse(action, 80)
        assert observation or over, f"{id}: nothing was said to {shown}"
        assert all(message["content"].encode() is not None for message in observation)
        for event in info["events"]:
            assert event.tool in names or event.error, f"{id}: unknown {event.tool!r} went through"


def _bad(names: Sequence[str]) -> list[Action]:
    values: list[Any] = [
        None, -1, 10**30, 1e308, float("nan"), "", "\ud800", "\x00", "x" * 100_000, "../../etc/passwd", [], {}, True,
        nested(240), nested(5_000), nested(3_000, key="a"), ["a", {"b": [None]}],
    ]  # fmt: skip
    calls: list[Action] = [{"tool": name, "arguments": {}} for name in ("", "no_such_tool", "\ud800", "x" * 10_000)]
    for name in names[:4]:
        calls += [{"tool": name, "arguments": {}}, {"tool": name, "arguments": {"no_such_argument": 1}}]
    calls += [
        {"tool": names[at % len(names)], "arguments": {_first_key(at): v}} for at, v in enumerate(values) if names
    ]
    calls += [
        [],
        [{"tool": "no_such_tool", "arguments": {}}] * 3,
        {"tool": "reply", "arguments": {"message": nested(9)}},
    ]
    texts: list[Action] = ["", "hello", "<tool_call>{", '<tool_call>{"name": 3}</tool_call>', "\ud800", "{" * 5_000]
    return calls + texts


def _first_key(at: int) -> str:
    return ("action", "text", "command", "id", "value", "\ud800", "")[at % 7]


def _lets_go(env: ExternalEnv, id: str, seed: int) -> None:
    """An episode can be left anywhere."""
    options = {"task": id}
    first, _ = env.reset(seed=seed, options=options)
    env.step(env.legal_actions(1)[0])
    again, _ = env.reset(seed=seed, options=options)
    assert again == first, f"{id}: a reset in the middle begins otherwise"
    env.step(env.legal_actions(1)[0])
    env.close()
    env.close()
    with pytest.raises(EpisodeOverError):
        env.step(_FINISH)
    again, _ = env.reset(seed=seed, options=options)
    assert again == first, f"{id}: after close it begins otherwise"


def _in_turns(env_id: str, ids: Sequence[str], seed: int, switches: dict[str, Any]) -> None:
    """Two episodes of one process, step by step in turns, go as each does alone."""
    envs = [_made(env_id, switches) for _ in ids]
    alone = [_walk(env, id, seed) for env, id in zip(envs, ids, strict=True)]
    told, over = [list[str](), list[str]()], [False, False]
    for env, id, one in zip(envs, ids, told, strict=True):
        observation, info = env.reset(seed=seed, options={"task": id})
        one.append(digest([observation, info["tools"], info["rubric"], info["state_hash"], info["anchor"]]))
    for _ in range(_TURNS):
        for at, env in enumerate(envs):
            if not over[at]:
                more, over[at] = _stepped(env, env.legal_actions(1)[0])
                told[at].append(more)
    for id, one, before in zip(ids, told, alone, strict=True):
        assert one == before, f"{id}: goes otherwise beside another episode"
    for env in envs:
        env.close()
