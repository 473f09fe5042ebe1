"""Gymnasium's vector environments take the environment as it is, in one process and over several."""

import pickle
from typing import Any

import gymnasium as gym
import pytest

import palaestra
from palaestra.envs.storefront.tools import TOOLBOX

SEEDS = [3, 5, 8]


@pytest.mark.parametrize(("mode", "options"), [("sync", {}), ("async", {"shared_memory": False})])
def test_a_vector_of_environments_plays_what_single_ones_play(mode: str, options: dict[str, Any]) -> None:
    [env_id] = palaestra.ENVIRONMENTS
    vector: Any = gym.make_vec(env_id, num_envs=len(SEEDS), vectorization_mode=mode, vector_kwargs=options)
    single: Any = gym.make(env_id)
    together, _ = vector.reset(seed=SEEDS)
    alone = [single.reset(seed=seed)[0] for seed in SEEDS]
    assert list(together) == alone
    action = {"tool": "search_handbook", "arguments": {"query": "refund"}}
    observations, rewards, terminated, _, info = vector.step([action] * len(SEEDS))
    assert [observation[0]["name"] for observation in observations] == ["search_handbook"] * len(SEEDS)
    assert (list(rewards), list(terminated)) == ([0.0] * 3, [False] * 3)
    assert len(set(info["anchor"])) == len(SEEDS)
    vector.close()


def test_a_tool_pickles_as_itself() -> None:
    assert all(pickle.loads(pickle.dumps(tool)) is tool for tool in TOOLBOX)
