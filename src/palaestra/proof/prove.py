"""Proving many tasks: one after the other, or in several processes, with the same result."""

import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec

from palaestra import register_world
from palaestra.envs import ToolEnv
from palaestra.packs import PACKS
from palaestra.proof.proof import Proof
from palaestra.proof.task import TaskProof, prove_task

CHUNK = 4
"""How many tasks a process takes at a time."""


def prove(
    env: ToolEnv, task_ids: Iterable[str], *, jobs: int = 1, progress: Callable[[str], None] = lambda _: None
) -> Proof:
    """Prove tasks, and tell `progress` each id when it is done, in order.

    Args:
        env: An environment of the tasks' world; it is moved.
        task_ids: The tasks.
        jobs: In how many processes. The result does not depend on it. An environment that `gymnasium.make` did not
            make, or whose world has no place to be loaded from, is proved in this one.
        progress: What to tell.
    """
    ids = list(task_ids)
    how = _how(env)
    proofs: list[TaskProof] = []
    for proof in (prove_task(env, i) for i in ids) if jobs == 1 or how is None else _spread(how, ids, jobs):
        proofs.append(proof)
        progress(proof.spec.id)
    return Proof(tasks=proofs)


@dataclass(frozen=True, slots=True, kw_only=True)
class _How:
    """How another process makes the same environment."""

    spec: EnvSpec
    env_id: str
    place: str
    """Where its world is found."""


def _how(env: ToolEnv) -> _How | None:
    if env.spec is None or env.env_id not in PACKS:
        return None
    return _How(spec=env.spec, env_id=env.env_id, place=PACKS.find(env.env_id).place)


def _spread(how: _How, ids: Sequence[str], jobs: int) -> Iterator[TaskProof]:
    # Not by fork: a process that holds threads, as one with torch does, must not be forked.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin, initargs=(how,)) as pool:
        yield from pool.map(_prove_one, ids, chunksize=CHUNK)


_ENVS: list[ToolEnv] = []
"""The environment of a process that proves: one, made when the process begins."""


def _begin(how: _How) -> None:
    register_world(how.place, env_id=how.env_id)
    env = gym.make(how.spec).unwrapped
    assert isinstance(env, ToolEnv)
    _ENVS.append(env)


def _prove_one(task_id: str) -> TaskProof:
    return prove_task(_ENVS[0], task_id)
