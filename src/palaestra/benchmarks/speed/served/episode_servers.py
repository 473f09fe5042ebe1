"""Servers of the kind that synthesis pipelines give their worlds: one process and one database per episode.

Each session plays whole episodes. A reset, which starts a process, counts towards the seconds of its session, but is
not timed separately.
"""

import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from pathlib import Path

from palaestra.benchmarks.speed.episodes import mix
from palaestra.benchmarks.speed.processes import processor_seconds
from palaestra.benchmarks.speed.served.figures import ServedSample, ServedScale
from palaestra.benchmarks.speed.served.scripts import make_world
from palaestra.benchmarks.speed.server import NAME, server_arguments, server_tasks
from palaestra.benchmarks.speed.server.client import ServerProcess
from palaestra.benchmarks.speed.server.database import create_indexes, write_database
from palaestra.envs.instance import Instance
from palaestra.record import record

_WORLD = "palaestra/Storefront-v0"
_TASKS = 8


@record
class _Played:
    steps: int
    wall_seconds: float
    processor_seconds: float
    resident_bytes: int


def reason_absent(env_id: str) -> str:
    """The reason why these servers cannot run a world; empty where they can."""
    return "" if env_id == _WORLD else f"it has the tools of {_WORLD} alone; measure that world"


def time_episode_servers(scale: ServedScale) -> Iterator[ServedSample]:
    """Play one session, and as many concurrent sessions as Palaestra's server has workers."""
    env = make_world(_WORLD)
    tasks = [env.task_set.instance(task) for task in islice(server_tasks(env, mix(env, 0)), _TASKS)]
    with tempfile.TemporaryDirectory(prefix="palaestra-bench-") as folder:
        ready: list[tuple[Instance, Path]] = []
        for task in tasks:
            database = Path(folder) / f"{len(ready)}.db"
            write_database(task.initial_state, database)
            create_indexes(database)
            ready.append((task, database))
        for sessions in sorted({1, max(1, *scale.workers)}):
            yield _time_sessions(ready, sessions, scale.seconds)


def _time_sessions(tasks: Sequence[tuple[Instance, Path]], sessions: int, seconds: float) -> ServedSample:
    end = time.perf_counter() + seconds
    with ThreadPoolExecutor(sessions) as threads:
        played = list(threads.map(_play, [tasks] * sessions, [end] * sessions))
    return ServedSample(
        name=NAME,
        workers=sessions,
        sessions=sessions,
        batch=1,
        steps=sum(one.steps for one in played),
        # Sessions are played concurrently, so their rates add up.
        wall_seconds=sum(one.steps for one in played) / sum(one.steps / one.wall_seconds for one in played),
        processor_seconds=sum(one.processor_seconds for one in played),
        session_bytes=sum(one.resident_bytes for one in played) / sessions,
        is_peer=True,
    )


def _play(tasks: Sequence[tuple[Instance, Path]], end: float) -> _Played:
    steps, wall, processor, resident = 0, 0.0, 0.0, 0
    for task, database in cycle(tasks):
        with ServerProcess(database, task.start.date().isoformat()) as served:
            served.ready()
            begun, spent = time.perf_counter(), processor_seconds([served.pid])
            for call in task.oracle:
                served.call(call.tool, server_arguments(call))
            wall += time.perf_counter() - begun
            processor += processor_seconds([served.pid]) - spent
            steps += len(task.oracle)
            resident = served.resident_bytes() or 0
        if time.perf_counter() >= end:
            break
    return _Played(steps=steps, wall_seconds=wall, processor_seconds=processor, resident_bytes=resident)
