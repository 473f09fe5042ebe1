"""Worlds behind Gymnasium: the environment, tasks and their families, the state engine, one folder for each world."""

if __name__ != "palaestra.envs":
    raise ImportError(f"this folder is palaestra.envs, not {__name__}; write `import palaestra.envs`")

from palaestra.envs.attack import WorldAttack, WorldScript
from palaestra.envs.check import WorldFinding, WorldReport, check_env, check_world
from palaestra.envs.env import ToolEnv
from palaestra.envs.episode import LiveEpisode
from palaestra.envs.instance import Instance, instantiate
from palaestra.envs.populated import Invariant, PopulatedWorld
from palaestra.envs.snapshot import Snapshot
from palaestra.envs.task import SPLITS, Draft, Family, Task, call, family, split_of
from palaestra.envs.taskset import TaskSet, bundled_tasks, load_families, load_folder
from palaestra.envs.world import World, open_world

__all__ = [
    "SPLITS",
    "Draft",
    "Family",
    "Instance",
    "Invariant",
    "LiveEpisode",
    "PopulatedWorld",
    "Snapshot",
    "Task",
    "TaskSet",
    "ToolEnv",
    "World",
    "WorldAttack",
    "WorldFinding",
    "WorldReport",
    "WorldScript",
    "bundled_tasks",
    "call",
    "check_env",
    "check_world",
    "family",
    "instantiate",
    "load_families",
    "load_folder",
    "open_world",
    "split_of",
]
