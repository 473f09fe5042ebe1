"""Trials: variants are played as the environment plays them, and equal ones are played once."""

import gymnasium as gym
import pytest

from palaestra.envs import ToolEnv
from palaestra.proof.trial import Trial
from palaestra.records import ToolCall


def trials() -> list[Trial]:
    env = gym.make("palaestra/Storefront-v0").unwrapped
    assert isinstance(env, ToolEnv)
    families = {task.rpartition("/")[0]: task for task in reversed(env.task_set.ids("train"))}
    return [Trial(env, task) for task in sorted(families.values())[::12]]


def test_work_that_is_played_again_without_the_records_of_steps_ends_as_the_recorded_one() -> None:
    for trial in trials():
        assert trial.play([[call] for call in trial.calls]) == trial.outcome


@pytest.mark.parametrize("turn", [[], [ToolCall(tool="finish", arguments={})] * 65])
def test_a_turn_that_the_environment_does_not_run_is_none_in_a_trial(turn: list[ToolCall]) -> None:
    trial = trials()[0]
    outcome = trial.play([turn])
    assert outcome.events == ()
    assert outcome.end is None
    assert "unreadable" in outcome.turns[0].observation[0]["content"]


def test_equal_variants_and_calls_are_played_once() -> None:
    trial = trials()[0]
    turns = [(call,) for call in trial.calls[1:]]
    assert trial.vary(turns) is trial.vary([list(turn) for turn in turns])
    assert trial.vary(turns) is trial.without(0)
    look_up = trial.calls[0]
    assert trial.after(look_up, start=0) is trial.after(look_up, start=0)
