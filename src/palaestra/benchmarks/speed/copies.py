"""Times copies of a running episode and hashes of its state, before the first write and after several."""

from collections.abc import Sequence

from palaestra.benchmarks.speed.stopwatch import Stopwatch
from palaestra.envs import ToolEnv
from palaestra.errors import TaskError

WRITES = 10
"""Number of writes before the second measurement; the first takes place before any write."""

COPIES = ("snapshot", "restore", "fork")
"""The measured kinds of copies; hashes are measured as well."""

_REPEATS = 5
_DRAWS = 256


def timing_name(copy: str, writes: int, *, cold: bool = False) -> str:
    """The name of the timing of a copy. The first copy at a state is cold, all later copies are warm."""
    return f"{copy}, {writes} writes, cold" if cold else f"{copy}, {writes} writes"


def time_copies(watch: Stopwatch, env: ToolEnv, task_ids: Sequence[str]) -> None:
    """Time copies and hashes at the beginning of each task, and after `WRITES` writes."""
    for task_id in task_ids:
        env.reset(seed=0, options={"task": task_id})
        _time_at(watch, env, 0)
        write(env, WRITES)
        _time_at(watch, env, WRITES)


def _time_at(watch: Stopwatch, env: ToolEnv, writes: int) -> None:
    for repeat in range(1 + _REPEATS):
        cold = repeat == 0
        snapshot = watch.time(timing_name("snapshot", writes, cold=cold), env.snapshot)
        watch.time(timing_name("restore", writes, cold=cold), env.restore, snapshot)
        watch.time(timing_name("fork", writes, cold=cold), env.fork)
    for _ in range(_REPEATS):
        watch.time(f"state_hash, {writes} writes", env.state_hash)
        watch.time(f"anchor, {writes} writes", env.anchor)
        watch.time(f"digest, {writes} writes", env.digest)


def write(env: ToolEnv, count: int) -> None:
    """Play random legal calls until the episode has written at least `count` rows.

    Raises:
        TaskError: none of many legal calls writes a row.
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
