"""ScienceWorld as it is installed: its solution wins, its floors are what they are, and episodes do not touch."""

from typing import Any

import gymnasium as gym
import pytest

from palaestra.benchmarks.external import ExternalEnv
from palaestra.errors import InfrastructureError

pytestmark = pytest.mark.xdist_group("bench-scienceworld")
SOLVED = ["scienceworld/lifespan-longest-lived/93", "scienceworld/find-plant/225"]
TASK, OTHER = "scienceworld/lifespan-longest-lived-then-shortest-lived/93", "scienceworld/find-plant/225"
BAD = ["", 7, None, ["look"], "x" * 500, "two\nlines", "reset task"]


def _env(**options: Any) -> ExternalEnv:
    env = gym.make("palaestra/ScienceWorld-v0", **options).unwrapped
    assert isinstance(env, ExternalEnv)
    return env


def _act(value: Any) -> Any:
    return {"tool": "act", "arguments": {"action": value}}


def _played(env: ExternalEnv, turns: Any) -> list[Any]:
    """All that an agent is shown and paid."""
    shown = list[Any]()
    for turn in turns:
        observation, reward, terminated, truncated, info = env.step(turn)
        shown.append((observation, reward, terminated, info["points"], info["end"], info["state_hash"]))
        if terminated or truncated:
            break
    return shown


@pytest.mark.parametrize("task", SOLVED)
def test_the_solution_solves(task: str) -> None:
    env = _env(task=task)
    env.reset(seed=0)
    gold = env.oracle()
    assert gold is not None
    assert len(gold) <= env.task.max_turns
    _played(env, gold)
    score = env.score()
    assert (score.points, score.passed) == (100, True), score
    env.close()


def test_the_same_turns_show_the_same_in_a_fresh_process() -> None:
    shown = list[Any]()
    for seconds in (300.0, 301.0):
        env = _env(task=TASK, seconds=seconds)
        start, _ = env.reset(seed=0)
        gold = env.oracle() or ()
        shown.append((start, gold, _played(env, gold)))
        worker = env._worker  # pyright: ignore[reportPrivateUsage]
        assert worker is not None
        env.close()
        worker.close()
    assert shown[0] == shown[1]


def test_two_episodes_do_not_touch() -> None:
    alone = _env(task=TASK)
    start, _ = alone.reset(seed=0)
    gold = list(alone.oracle() or ())
    expected = _played(alone, gold)
    alone.close()
    first, second = _env(task=TASK), _env(task=OTHER)
    assert first.reset(seed=0)[0] == start
    second.reset(seed=0)
    seen = list[Any]()
    for turn in gold[: len(expected)]:
        seen += _played(first, [turn])
        second.step(second.legal_actions(1)[0])
        if second.score().passed or first.score().passed:
            break
    assert seen == expected[: len(seen)]
    assert len(seen) > 1
    first.close()
    second.close()


def test_whoever_does_nothing_or_talks_junk_has_no_points() -> None:
    env = _env(task=TASK)
    env.reset(seed=0)
    *_, info = env.step({"tool": "finish", "arguments": {}})
    assert (info["score"].points, info["score"].passed) == (0, False)
    env.reset(seed=0)
    for _ in range(3):
        *_, info = env.step("<junk>")
    assert (info["score"].points, info["end"]) == (0, "unparsable")
    env.close()


@pytest.mark.parametrize("value", BAD)
def test_bad_calls_are_answered(value: Any) -> None:
    env = _env(task=TASK)
    env.reset(seed=0)
    _, reward, terminated, _, info = env.step(_act(value))
    assert info["events"][0].error in ("invalid_arguments", "not_allowed")
    assert (reward, terminated) == (0.0, False)
    _, reward, _, _, info = env.step({"tool": "fly", "arguments": {}})
    assert (info["events"][0].error, reward) == ("unknown_tool", 0.0)
    env.close()


def test_a_random_agent_acts_within_the_rules() -> None:
    env = _env(task=TASK)
    env.reset(seed=0)
    for _ in range(8):
        _, _, terminated, truncated, info = env.step(env.legal_actions(1)[0])
        assert info["events"][0].error is None
        if terminated or truncated:
            break
    env.close()


def test_every_official_variation_is_listed() -> None:
    env = _env()
    counts = {split: len(env.ids(split)) for split in ("test", "dev", "train")}
    assert sum(counts.values()) == 7207  # as the package says of its thirty tasks
    assert len({task["category"] for task in env.tasks.values()}) == 30
    assert env.benchmark.trainable == ("train",)
    env.close()


def test_a_wrong_focus_ends_the_task_with_no_points() -> None:
    env = _env(task=TASK)
    env.reset(seed=0)
    _played(env, [_act("focus on agent")])
    assert (env.score().points, env.score().passed) == (0, False)
    env.close()


def test_an_unknown_simplification_is_refused() -> None:
    with pytest.raises(InfrastructureError, match="simplifications='trivial'"):
        _env(simplifications="trivial")
