"""The lists that come with Palaestra know what installed benchmarks really say at the beginning of their tests."""

from typing import Any

import gymnasium as gym
import pytest

from palaestra.benchmarks.external import BENCHMARKS, ExternalEnv
from palaestra.contamination import LISTS, Guard, of_users

GUARD = Guard()


def _played(name: str, category: str) -> list[Any]:
    return [pytest.param(name, category, marks=pytest.mark.xdist_group(f"bench-{name}"), id=f"{name}-{category}")]


TESTS = [
    *_played("agentdojo", "slack"),
    *_played("alfworld", "generated-pick_two_obj_and_place"),
    *_played("babyai", "BossLevel"),
    *_played("babyai", "SynthSeq"),
    *_played("bfcl", "simple_python"),
    *_played("bfcl", "multi_turn_base"),
    *_played("textworld", "treasure-medium"),
]


def _openings(name: str, split: str, category: str) -> list[tuple[str, Any, list[str]]]:
    """Of the first three tasks: the id, what is known of it, and what the user says."""
    env: Any = gym.make(BENCHMARKS.get(name).env_id).unwrapped
    assert isinstance(env, ExternalEnv)
    found = list[tuple[str, Any, list[str]]]()
    for task in env.ids(split, category)[:3]:
        observation, info = env.reset(seed=0, options={"task": task})
        found.append((task, info["task"], list(of_users(observation))))
    env.close()
    return found


@pytest.mark.parametrize(("name", "category"), TESTS)
def test_what_is_said_in_a_test_is_on_its_list(name: str, category: str) -> None:
    split = next(iter(BENCHMARKS.get(name).splits))
    found = _openings(name, split, category)
    assert len(found) == 3
    for task, _, said in found:
        assert said, task
        assert [GUARD.find_list(text) for text in said] == [f"{name}, {split}"] * len(said), task


@pytest.mark.parametrize(("name", "category"), [one for one in TESTS if one.values[0] == "babyai"])
def test_what_is_said_in_training_is_on_no_list(name: str, category: str) -> None:
    found = _openings(name, "train", category)
    assert len(found) == 3
    for _, task, said in found:
        GUARD.check(task, said)


@pytest.mark.parametrize("name", ["miniwob", "scienceworld", "webshop", "appworld", "toolathlon"])
def test_where_the_documents_say_that_there_is_no_list_there_is_none(name: str) -> None:
    assert name in BENCHMARKS
    assert list(LISTS.glob(f"{name}.*")) == []
