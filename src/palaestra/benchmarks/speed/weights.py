"""The memory of live environments, each at a different point of the oracle's work."""

import gc
import os
import tracemalloc
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path

import gymnasium as gym

from palaestra.agents import as_action
from palaestra.benchmarks.speed.figures import EnvironmentMemory
from palaestra.envs import ToolEnv
from palaestra.seeding import Stream


def weigh(env_id: str, task_ids: Sequence[str], worlds: int) -> EnvironmentMemory:
    """Keep `worlds` environments alive, twice: to measure the process's growth, and to trace Python's allocations."""
    _live(env_id, task_ids, min(worlds, len(task_ids)))  # creates what is made once and shared
    gc.collect()
    before = _resident()
    envs = _live(env_id, task_ids, worlds)
    gc.collect()
    after = _resident()
    written = sum(len(env.journal) for env in envs)
    del envs
    traced = _trace(env_id, task_ids, worlds)
    grown = None if before is None or after is None else max(0, after - before) / worlds
    return EnvironmentMemory(
        worlds=worlds, written_rows=written / worlds, traced_bytes=traced / worlds, resident_bytes=grown
    )


def _trace(env_id: str, task_ids: Sequence[str], worlds: int) -> int:
    gc.collect()
    tracemalloc.start()
    envs = _live(env_id, task_ids, worlds)
    gc.collect()
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    del envs
    return size


def _live(env_id: str, task_ids: Sequence[str], count: int) -> list[ToolEnv]:
    stream = Stream.root("bench-env-memory")
    return [_standing(env_id, task_id, stream) for task_id in islice(cycle(task_ids), count)]


def _standing(env_id: str, task_id: str, stream: Stream) -> ToolEnv:
    """An environment at a random point of the oracle's work: after its first write and before its end."""
    env = gym.make(env_id, task=task_id).unwrapped
    assert isinstance(env, ToolEnv), f"{env_id} is no environment of Palaestra's"
    env.reset(seed=0)
    calls = env.oracle()
    writes = [number for number, call in enumerate(calls, 1) if env.world.toolbox[call.tool].writes]
    last = len(calls) - 1
    for call in calls[: stream.between(min(writes[0], last) if writes else 0, last)]:
        env.step(as_action(call))
    return env


def _resident() -> int | None:
    """Resident bytes of the process; `None` where the system does not report them."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if statm.exists() else None
