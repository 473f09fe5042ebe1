"""One judgement for many tasks, in one process or several, with the same result."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec

from palaestra import register_world
from palaestra.envs import ToolEnv
from palaestra.packs import PACKS
from palaestra.process_pool import process_pool

T = TypeVar("T")

CHUNK = 4
"""How many tasks a process takes at a time."""


def each_task(env: ToolEnv, task_ids: Sequence[str], judge: Callable[[ToolEnv, str], T], *, jobs: int) -> Iterator[T]:
    """The result of `judge` for each task, in order.

    Args:
        env: An environment of the tasks' world; its state changes.
        task_ids: The tasks.
        judge: Called with the environment and a task. It is pickled if there are several processes.
        jobs: The number of processes, which does not change the result. If `gymnasium.make` did not make the
            environment, or its world cannot be loaded elsewhere, this process judges all tasks.
    """
    how = _how(env)
    if jobs == 1 or how is None:
        return (judge(env, task) for task in task_ids)
    return _spread(how, task_ids, judge, jobs)


@dataclass(frozen=True, slots=True, kw_only=True)
class _How:
    """How another process makes the same environment."""

    spec: EnvSpec
    env_id: str
    place: str
    """The place of its world."""


def _how(env: ToolEnv) -> _How | None:
    if env.spec is None or env.env_id not in PACKS:
        return None
    return _How(spec=env.spec, env_id=env.env_id, place=PACKS.find(env.env_id).place)


def _spread(how: _How, ids: Sequence[str], judge: Callable[[ToolEnv, str], T], jobs: int) -> Iterator[T]:
    with process_pool(jobs, initializer=_begin, initargs=(how,)) as pool:
        yield from pool.map(partial(_judge_here, judge), ids, chunksize=CHUNK)


_ENVS: list[ToolEnv] = []
"""The one environment of a judging process, made when the process begins."""


def _begin(how: _How) -> None:
    register_world(how.place, env_id=how.env_id)
    env = gym.make(how.spec).unwrapped
    assert isinstance(env, ToolEnv)
    _ENVS.append(env)


def _judge_here(judge: Callable[[ToolEnv, str], T], task_id: str) -> T:
    return judge(_ENVS[0], task_id)
