"""Gymnasium's vector environments take the environment as it is, in one process and over several."""

import pickle
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from palaestra.agents import as_action
from palaestra.envs import ToolEnv
from palaestra.envs.worlds.storefront.tools import TOOLBOX
from palaestra.errors import EpisodeOverError
from palaestra.protocols import Action
from palaestra.records import EndReason

WORLD = "palaestra/Storefront-v0"
SEEDS = [3, 5, 8]
SEARCH: Action = {"tool": "search_handbook", "arguments": {"query": "refund"}}
FINISH: Action = {"tool": "finish", "arguments": {}}
MODES: dict[str, dict[str, Any]] = {"sync": {}, "async": {"shared_memory": False}}
CONTEXTS = ("fork", "spawn", "forkserver")


def made(mode: str, envs: int = len(SEEDS), *, options: dict[str, Any] | None = None, **kwargs: Any) -> Any:
    chosen = {**MODES[mode], **(options or {})}
    return gym.make_vec(WORLD, num_envs=envs, vectorization_mode=mode, vector_kwargs=chosen, **kwargs)


def alone(seed: int | None = None, **kwargs: Any) -> ToolEnv:
    env = gym.make(WORLD, **kwargs)
    assert isinstance(env, ToolEnv)
    env.reset(seed=seed)
    return env


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


# Playing


def test_a_vector_of_environments_plays_what_single_ones_play(mode: str) -> None:
    vector, singles = made(mode), [alone(seed) for seed in SEEDS]
    together, info = vector.reset(seed=SEEDS)
    assert list(together) == [env.reset(seed=seed)[0] for env, seed in zip(singles, SEEDS, strict=True)]
    assert list(info["seed"]) == SEEDS
    assert list(info["task"]) == [env.task for env in singles]
    for number in range(4):
        actions = [env.oracle()[number] for env in singles]
        observations, rewards, terminated, truncated, info = vector.step([as_action(call) for call in actions])
        stepped = [env.step(as_action(call)) for env, call in zip(singles, actions, strict=True)]
        assert list(observations) == [step[0] for step in stepped]
        assert list(rewards) == [step[1] for step in stepped]
        assert (list(terminated), list(truncated)) == ([step[2] for step in stepped], [step[3] for step in stepped])
        assert list(info["anchor"]) == [step[4]["anchor"] for step in stepped]
        assert list(info["points"]) == [step[4]["points"] for step in stepped]
    vector.close()


@pytest.mark.parametrize("context", CONTEXTS)
def test_however_processes_start_they_play_the_same(context: str) -> None:
    vector = made("async", 2, options={"context": context})
    observations, info = vector.reset(seed=SEEDS[0])
    assert list(observations) == [alone().reset(seed=seed)[0] for seed in (SEEDS[0], SEEDS[0] + 1)]
    assert list(info["anchor"]) == [alone(seed).anchor() for seed in (SEEDS[0], SEEDS[0] + 1)]
    vector.close()


def test_options_and_arguments_reach_every_environment(mode: str) -> None:
    task = alone().task_set.ids("dev")[0]
    vector = made(mode, 2, max_turns=1, reward="outcome")
    _, info = vector.reset(seed=0, options={"task": task})
    assert [spec.id for spec in info["task"]] == [task, task]
    _, rewards, _, truncated, info = vector.step([SEARCH, SEARCH])
    assert list(truncated) == [True, True]
    assert list(rewards) == [info["score"][0].points, info["score"][1].points]
    vector.close()


def test_each_environment_may_act_in_its_own_way(mode: str) -> None:
    vector = made(mode, 3, action_format="hermes")
    vector.reset(seed=SEEDS)
    text = '<tool_call>{"name": "search_handbook", "arguments": {"query": "refund"}}</tool_call>'
    observations, _, _, _, info = vector.step([SEARCH, text, [SEARCH, SEARCH]])
    assert [len(observation) for observation in observations] == [1, 1, 2]
    assert observations[0][0]["content"] == observations[1][0]["content"]
    assert [len(calls) for calls in info["calls"]] == [1, 1, 2]
    vector.close()


def test_what_a_world_adds_is_asked_of_every_environment(mode: str) -> None:
    vector = made(mode)
    vector.reset(seed=SEEDS)
    before = vector.call("digest")
    assert list(before) == [alone(seed).digest() for seed in SEEDS]
    kept = vector.call("snapshot")
    vector.step([SEARCH] * len(SEEDS))
    assert all(now != then for now, then in zip(vector.call("digest"), before, strict=True))
    there = alone(0)
    for snapshot, digest in zip(kept, before, strict=True):
        there.restore(snapshot)
        assert there.digest() == digest
    vector.close()


# When an episode ends


def ended(mode: str, reset: AutoresetMode) -> tuple[Any, Any]:
    """A vector of two of which the first has just ended, and what its last step gave."""
    vector = made(mode, 2, options={"autoreset_mode": reset})
    vector.reset(seed=SEEDS[:2])
    last = vector.step([FINISH, SEARCH])
    assert list(last[2]) == [True, False]
    return vector, last


def test_the_next_step_begins_an_episode_where_one_ended(mode: str) -> None:
    vector, (observations, *_, info) = ended(mode, AutoresetMode.NEXT_STEP)
    assert observations[0][0]["name"] == "finish"
    assert info["end"][0] == EndReason.FINISHED
    assert info["end"][1] is None
    observations, rewards, terminated, _, info = vector.step([SEARCH, SEARCH])
    assert [message["role"] for message in observations[0]] == ["system", "user"]
    assert (rewards[0], terminated[0]) == (0.0, False)
    assert info["rubric"][0]
    assert observations[1][0]["name"] == "search_handbook"
    observations, *_ = vector.step([SEARCH, SEARCH])
    assert observations[0][0]["name"] == "search_handbook"
    vector.close()


def test_the_same_step_begins_an_episode_and_keeps_how_the_last_one_ended(mode: str) -> None:
    vector, (observations, _, _, _, info) = ended(mode, AutoresetMode.SAME_STEP)
    assert [message["role"] for message in observations[0]] == ["system", "user"]
    assert info["final_obs"][0][0]["name"] == "finish"
    final = info["final_info"]
    assert final["end"][0] == EndReason.FINISHED
    assert final["score"][0].points == final["points"][0]
    assert list(final["_end"]) == [True, False]
    vector.close()


def test_resets_by_hand_begin_only_where_they_are_asked_to(mode: str) -> None:
    vector, _ = ended(mode, AutoresetMode.DISABLED)
    task = alone().task_set.ids("dev")[1]
    before = vector.call("digest")
    chosen = {"reset_mask": np.array([True, False]), "task": task}
    observations, info = vector.reset(seed=[7, None], options=chosen)
    assert [message["role"] for message in observations[0]] == ["system", "user"]
    assert info["task"][0].id == task
    assert vector.call("digest")[1] == before[1]
    observations, *_ = vector.step([SEARCH, SEARCH])
    assert [observation[0]["name"] for observation in observations] == ["search_handbook"] * 2
    vector.close()


def test_without_a_reset_an_ended_episode_refuses_to_go_on() -> None:
    vector, _ = ended("sync", AutoresetMode.DISABLED)
    with pytest.raises((AssertionError, EpisodeOverError)):
        vector.step([SEARCH, SEARCH])
    vector.close()


def episodes(mode: str) -> Iterator[str]:
    """The tasks that a vector meets as it goes from episode to episode by itself."""
    vector = made(mode, 2)
    _, info = vector.reset(seed=11)
    for _ in range(6):
        if "task" in info:
            yield from (spec.id for spec in info["task"])
        *_, info = vector.step([FINISH, FINISH])
    vector.close()


def test_the_episodes_that_follow_one_another_are_drawn_from_the_seed() -> None:
    met = [list(episodes(mode)) for mode in ("sync", "async", "sync")]
    assert met[0] == met[1] == met[2]
    assert len(set(met[0])) > 2


# Crossing between processes


def test_a_tool_pickles_as_itself_and_a_generated_one_as_its_equal() -> None:
    for tool in TOOLBOX:
        again = pickle.loads(pickle.dumps(tool))
        assert again is tool if tool.origin is None else again.export() == tool.export()


def test_an_action_space_equals_that_of_another_process_and_none_with_other_tools() -> None:
    space = alone().action_space
    assert pickle.loads(pickle.dumps(space)) == space
    assert space != ToolEnv(WORLD, surface="generic").action_space


def test_text_does_not_go_into_shared_memory() -> None:
    with pytest.raises(Exception, match="shared_memory"):
        gym.make_vec(WORLD, num_envs=2, vectorization_mode="async")
