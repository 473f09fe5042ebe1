"""What a command is pointed at: a world by name, a folder of task files, or one task."""

from pathlib import Path
from typing import Any

import gymnasium as gym

from palaestra.envs import WORLDS, ToolEnv, env_id_of, load_families
from palaestra.errors import TaskError


def folder_of(target: str) -> str | None:
    """The folder or file of task files that `target` is; `None` for a world's name."""
    return target if Path(target).exists() or "/" in target or target.endswith(".py") else None


def open_target(target: str, **switches: Any) -> ToolEnv:
    """The environment that holds the tasks of `target`: a world's name, or a folder or file of task files.

    Args:
        target: The name, folder or file.
        switches: What else `gymnasium.make` takes.

    Raises:
        TaskError: the files do not load, or are set in more than one world.
        UnknownNameError: there is no such world.
    """
    folder = folder_of(target)
    if folder is None:
        return make(env_id_of(target), **switches)
    worlds = sorted({family.world for family in load_families(Path(folder))})
    if len(worlds) != 1:
        raise TaskError(
            f"{target}: families of the worlds {', '.join(worlds)}; put each world's in a folder of its own"
        )
    return make(env_id_of(worlds[0]), tasks=folder, **switches)


def open_task(task_id: str, folder: str | None = None, **switches: Any) -> ToolEnv:
    """The environment that plays `task_id`."""
    return make(env_id_of(task_id.partition("/")[0]), task=task_id, tasks=folder, **switches)


def make(env_id: str, **switches: Any) -> ToolEnv:
    """`gymnasium.make`, unwrapped and typed."""
    WORLDS.get(env_id)  # an unknown id is told in our words, with near ones
    env = gym.make(env_id, **switches).unwrapped
    assert isinstance(env, ToolEnv), f"{env_id} is not an environment of Palaestra's"
    return env
