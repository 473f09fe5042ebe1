"""Copies of a running episode and hashes of where it stands, before the first write and after some."""

from collections.abc import Sequence

from palaestra.benchmarks.speed.stopwatch import Stopwatch
from palaestra.envs import ToolEnv
from palaestra.errors import TaskError

WRITES = 10
"""After how many writes copies are measured, besides before the first."""

_REPEATS = 5
_DRAWS = 256


def time_copies(watch: Stopwatch, env: ToolEnv, task_ids: Sequence[str]) -> None:
    """Time copies and hashes at the beginning of each task, and after `WRITES` writes."""
    for task_id in task_ids:
        env.reset(seed=0, options={"task": task_id})
        _time_at(watch, env, "0 writes")
        write(env, WRITES)
        _time_at(watch, env, f"{WRITES} writes")


def _time_at(watch: Stopwatch, env: ToolEnv, when: str) -> None:
    for _ in range(_REPEATS):
        snapshot = watch.time(f"snapshot, {when}", env.snapshot)
        watch.time(f"restore, {when}", env.restore, snapshot)
        watch.time(f"fork, {when}", env.fork)
        watch.time(f"state_hash, {when}", env.state_hash)
        watch.time(f"anchor, {when}", env.anchor)
        watch.time(f"digest, {when}", env.digest)


def write(env: ToolEnv, count: int) -> None:
    """Make calls that write until the episode has written `count` rows or more.

    Raises:
        TaskError: none of many legal calls writes.
    """
    while len(env.journal) < count:
        here, written = env.snapshot(), len(env.journal)
        for action in env.legal_actions(_DRAWS):
            env.step(action)
            if len(env.journal) > written and env.end is None:
                break
            env.restore(here)
        else:
            raise TaskError(f"{env.task.id}: none of {_DRAWS} legal calls writes; measure a world whose tools do")
