"""TextWorld as it is installed: its solution wins, its floors are what they are, and episodes do not touch."""

from typing import Any

import gymnasium as gym
import pytest

from palaestra.benchmarks.external import ExternalEnv

pytestmark = pytest.mark.xdist_group("bench-textworld")
SOLVED = ["textworld/coin-easy/1000000", "textworld/custom-small/1000000"]
TASK, OTHER = "textworld/coin-easy/1000000", "textworld/custom-small/1000000"
BAD = ["", 7, None, ["look"], "x" * 500, "two\nlines", "save", "look. restart", "tw-extra-infos score"]


def _env(**options: Any) -> ExternalEnv:
    env = gym.make("palaestra/TextWorld-v0", **options).unwrapped
    assert isinstance(env, ExternalEnv)
    return env


def _act(value: Any) -> Any:
    return {"tool": "act", "arguments": {"command": value}}


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
    assert len(gold) == env.task.oracle_calls
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


def test_commands_that_the_game_takes_are_told_where_they_are_asked_for() -> None:
    env = _env(task=TASK, admissible=True)
    observation, _ = env.reset(seed=0)
    assert "Commands that the game takes now: " in str(observation[1]["content"])
    env.close()
