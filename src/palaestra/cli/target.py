"""Options and targets of commands: a world by id or folder, a folder of task files, or one task."""

from typing import Annotated, Any

import gymnasium as gym
import typer

from palaestra.envs import ToolEnv
from palaestra.envs.target import find_world, resolve_target
from palaestra.packs import DEFAULT, PACKS

_WORLD_HELP = f"A world's id, or the folder of a world pack, whose code is run. Default: {DEFAULT}."
WorldOption = Annotated[str | None, typer.Option("--world", help=_WORLD_HELP)]
WorldsOption = Annotated[list[str] | None, typer.Option("--world", help=f"{_WORLD_HELP} May be given several times.")]


def open_target(target: str | None, world: str | None = None, **switches: Any) -> ToolEnv:
    """The environment that holds the tasks of `target`; raises as `resolve_target` does.

    Args:
        target: A world, or a folder or file of task files; `None`: the world's own tasks.
        world: The world, where `target` does not name it.
        switches: Further arguments of `gymnasium.make`.
    """
    env_id, folder = resolve_target(target, world)
    return make(env_id, **({} if folder is None else {"tasks": folder}), **switches)


def open_task(task_id: str, folder: str | None = None, world: str | None = None, **switches: Any) -> ToolEnv:
    """The environment that plays `task_id`: in `world`, or in the one that its id names."""
    return make(find_world(world or task_id.partition("/")[0]), task=task_id, tasks=folder, **switches)


def make(env_id: str, **switches: Any) -> ToolEnv:
    """`gymnasium.make`, unwrapped and typed."""
    PACKS.find(env_id)  # the error for an unknown id names similar ones
    env = gym.make(env_id, **switches).unwrapped
    assert isinstance(env, ToolEnv), f"{env_id} is not an environment of Palaestra's"
    return env
