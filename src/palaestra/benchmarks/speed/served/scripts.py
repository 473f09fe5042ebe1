"""The oracle's actions, which all rows of Palaestra play."""

from typing import cast

import gymnasium as gym

from palaestra.agents import as_action
from palaestra.envs import ToolEnv
from palaestra.protocols import Action

SEEDS = 64
"""Number of distinct episodes; further sessions repeat them."""


def make_world(env_id: str) -> ToolEnv:
    """Make an environment of the world."""
    return cast("ToolEnv", gym.make(env_id).unwrapped)


def oracle_scripts(env_id: str) -> list[list[Action]]:
    """The oracle's actions in the episode of each seed."""
    env = make_world(env_id)
    scripts: list[list[Action]] = []
    for seed in range(SEEDS):
        env.reset(seed=seed)
        scripts.append([as_action(call) for call in env.oracle()])
    return scripts
