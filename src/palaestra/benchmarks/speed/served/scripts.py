"""The oracle's actions, which all of our rows play."""

from typing import cast

import gymnasium as gym

from palaestra.agents import as_action
from palaestra.envs import ToolEnv
from palaestra.protocols import Action

SEEDS = 64
"""Different episodes; sessions beyond play them again."""


def make_world(env_id: str) -> ToolEnv:
    """An environment of the world."""
    return cast("ToolEnv", gym.make(env_id).unwrapped)


def oracle_scripts(env_id: str) -> list[list[Action]]:
    """The oracle's actions in the episode of each seed."""
    env = make_world(env_id)
    scripts: list[list[Action]] = []
    for seed in range(SEEDS):
        env.reset(seed=seed)
        scripts.append([as_action(call) for call in env.oracle()])
    return scripts
