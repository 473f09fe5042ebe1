"""The speed of vectors of environments: `gymnasium.make_vec` in one process and in several, and rollout workers.

All environments of a vector play the same tasks in step, so that the comparison covers only the ways to run them and
not the choice of tasks.
"""

import multiprocessing as mp
from collections.abc import Sequence
from multiprocessing.connection import Connection
from time import perf_counter
from typing import Any, Literal, TypeAlias

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec

from palaestra.agents import as_action
from palaestra.benchmarks.speed.figures import Throughput
from palaestra.envs import ToolEnv
from palaestra.protocols import Action

VectorPlay: TypeAlias = tuple[str, list[Action]]
"""A task's id and the oracle's actions."""

PROCESSES = (1, 2, 4)
_ENVS = 8
"""Environments per process, where a process holds several."""
_PASSES = 4
_GO, _END = "go", "end"
_CONTEXT: Literal["spawn"] = "spawn"
"""The start method of processes: they share no memory with this process, as workers on other machines."""


def plays(env: ToolEnv, task_ids: Sequence[str]) -> list[VectorPlay]:
    """The oracle's actions on each task."""
    return [(task_id, [as_action(call) for call in env.task_set.instance(task_id).oracle]) for task_id in task_ids]


def measure_vectors(
    env_id: str, played: Sequence[VectorPlay], processes: Sequence[int] = PROCESSES
) -> list[Throughput]:
    """Measure the throughput of each kind of vector, with each number of processes."""
    alone = _measure(env_id, "sync", _ENVS, played)
    name = "SyncVectorEnv"
    found = [Throughput(name=name, processes=1, envs=_ENVS, steps_per_second=alone, scaling=1.0)]
    piped = {n: _measure(env_id, "async", n, played) for n in processes}
    found += _scale("AsyncVectorEnv, an environment a process", piped, 1)
    found += _scale("rollout workers, a SyncVectorEnv each", {n: _workers(env_id, played, n) for n in processes}, _ENVS)
    return found


def _scale(name: str, rates: dict[int, float], envs: int) -> list[Throughput]:
    one = rates[min(rates)] / min(rates)
    return [
        Throughput(name=name, processes=n, envs=n * envs, steps_per_second=rate, scaling=rate / one)
        for n, rate in rates.items()
    ]


def _make_vector(env: str | EnvSpec, mode: str, envs: int) -> Any:
    options: dict[str, Any] = {"copy": False}
    if mode == "async":
        # Text has no fixed length, so shared memory would need a guess.
        options |= {"shared_memory": False, "context": _CONTEXT}
    return gym.make_vec(env, num_envs=envs, vectorization_mode=mode, vector_kwargs=options)


def _measure(env_id: str, mode: str, envs: int, played: Sequence[VectorPlay]) -> float:
    vector = _make_vector(env_id, mode, envs)
    _play(vector, played)  # the first pass makes the tasks in every process
    rate = max(_rate(vector, played) for _ in range(_PASSES))
    vector.close()
    return rate


def _rate(vector: Any, played: Sequence[VectorPlay]) -> float:
    start = perf_counter()
    steps = _play(vector, played)
    return steps / (perf_counter() - start)


def _play(vector: Any, played: Sequence[VectorPlay]) -> int:
    """Play every task in every environment of `vector`; return the number of steps of single environments."""
    steps = 0
    for task_id, actions in played:
        vector.reset(options={"task": task_id})
        for action in actions:
            vector.step([action] * vector.num_envs)
            steps += vector.num_envs
    return steps


def _workers(env_id: str, played: Sequence[VectorPlay], count: int) -> float:
    """Steps per second of `count` processes that each run a vector of their own; all start each pass together."""
    context = mp.get_context(_CONTEXT)
    pipes: list[Connection] = []
    started: list[Any] = []
    for _ in range(count):
        here, there = context.Pipe()
        process = context.Process(target=_work, args=(there, gym.spec(env_id), list(played)), daemon=True)
        process.start()
        there.close()
        pipes.append(here)
        started.append(process)
    for pipe in pipes:
        pipe.recv()
    rate = max(_time_pass(pipes) for _ in range(_PASSES))
    for pipe, process in zip(pipes, started, strict=True):
        pipe.send(_END)
        process.join()
        pipe.close()
    return rate


def _time_pass(pipes: Sequence[Connection]) -> float:
    start = perf_counter()
    for pipe in pipes:
        pipe.send(_GO)
    steps: int = sum(pipe.recv() for pipe in pipes)
    return steps / (perf_counter() - start)


def _work(pipe: Connection, spec: EnvSpec, played: Sequence[VectorPlay]) -> None:
    """The main function of a worker: make a vector, play once to warm up, then once per request."""
    vector = _make_vector(spec, "sync", _ENVS)  # the spec locates the pack, which a new process does not know
    pipe.send(_play(vector, played))
    while pipe.recv() == _GO:
        pipe.send(_play(vector, played))
    vector.close()
    pipe.close()
