"""Times the oracle's episodes: cold and warm resets, and every step of the tool calls that solve the tasks."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import cycle, islice
from time import perf_counter_ns

from palaestra.agents import as_action
from palaestra.benchmarks.speed.stopwatch import Stopwatch
from palaestra.envs import TaskSet, ToolEnv
from palaestra.protocols import Action
from palaestra.seeding import Stream
from palaestra.tools import CONTROL, Tool

TALK = "talk or finish"
CLASSES = ("search", "read", "compute", "write", TALK)
"""The classes of tools, by the effect of a call."""

_CONTROL = frozenset(tool.name for tool in CONTROL)


def class_of(tool: Tool) -> str:
    """The class in `CLASSES` that a tool belongs to."""
    if tool.name in _CONTROL:
        return TALK
    if tool.writes:
        return "write"
    if tool.name.startswith("search_"):
        return "search"
    return "compute" if tool.function.__module__.endswith(".compute") else "read"


def mix(env: ToolEnv, seed: int) -> list[str]:
    """All tasks of split train, in a random order that `seed` determines."""
    return Stream.root("bench-env", seed).permutation(env.task_set.ids("train"))


def time_cold_resets(watch: Stopwatch, env: ToolEnv, task_ids: Sequence[str]) -> None:
    """Time the first reset to each task: in a world whose rows exist already, and in a world that must be generated."""
    warm = env.task_set
    # A fresh world and task set, so that nothing that this process did before is reused.
    stated = (family for family in warm.families.values() if family.twin_of is None)
    env.task_set = TaskSet(replace(warm.world), stated)
    known: set[int] = set()
    for task_id in task_ids:
        start = perf_counter_ns()
        env.reset(seed=0, options={"task": task_id})
        taken = perf_counter_ns() - start
        seed = env.task.world_seed
        watch.add("reset, cold instance" if seed in known else "reset, cold world", taken)
        known.add(seed)
    env.task_set = warm


def time_episodes(watch: Stopwatch, env: ToolEnv, task_ids: Sequence[str], count: int) -> None:
    """Time the resets and steps of `count` episodes that the oracle plays, cycling through the tasks."""
    kinds = {tool.name: f"step, {class_of(tool)}" for tool in env.world.toolbox}
    for task_id, actions in _play(env, task_ids, count):
        watch.time("reset, warm", env.reset, seed=0, options={"task": task_id})
        for tool, action in actions:
            start = perf_counter_ns()
            env.step(action)
            taken = perf_counter_ns() - start
            watch.add("step", taken)
            watch.add(kinds[tool], taken)


def _play(env: ToolEnv, task_ids: Sequence[str], count: int) -> Iterator[tuple[str, list[tuple[str, Action]]]]:
    for task_id in islice(cycle(task_ids), count):
        yield task_id, [(call.tool, as_action(call)) for call in env.task_set.instance(task_id).oracle]
