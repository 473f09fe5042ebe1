"""Simpler ways to do the same: the bare tool function, plain dictionaries, SQL, a copy of the rows for each reset."""

import copy
import pickle
from collections.abc import Sequence

from palaestra.benchmarks.speed.naive import NaiveState, tables_of
from palaestra.benchmarks.speed.stopwatch import Stopwatch
from palaestra.clock import Clock
from palaestra.envs import Instance, ToolEnv
from palaestra.envs.state import SqlProjection
from palaestra.protocols import State
from palaestra.records import Row
from palaestra.seeding import Stream
from palaestra.tools import ToolContext

_READS = 200


def time_functions(watch: Stopwatch, env: ToolEnv, task_ids: Sequence[str]) -> None:
    """Time the tools' functions alone on the oracle's calls: their arguments are validated and nothing is recorded."""
    for instance in map(env.task_set.instance, task_ids):
        _time_calls(watch, "bare function", instance, instance.settled.fork())


def time_naive(watch: Stopwatch, env: ToolEnv, task_ids: Sequence[str]) -> None:
    """Time the same functions on plain dictionaries, and copying the rows into those for an episode."""
    for instance in map(env.task_set.instance, task_ids):
        tables = tables_of(instance.settled)
        state = watch.time("naive reset", NaiveState, env.world.schema, tables)
        _time_calls(watch, "naive function", instance, state)


def _time_calls(watch: Stopwatch, name: str, instance: Instance, state: State) -> None:
    world = instance.world
    clock = Clock(instance.start)
    context = ToolContext(state=state, clock=clock, role=world.role, actor=world.actor, ids_in=world.schema.ids_in)
    for call in instance.oracle:
        tool = world.toolbox[call.tool]
        arguments = tool.validated(call.arguments)
        context.begin_call()
        watch.time(name, tool.function, context, **arguments)
        clock.advance(tool.latency)


def time_reads(watch: Stopwatch, env: ToolEnv, task_id: str) -> None:
    """Time reading rows by key: from the overlay, and through SQL from the projection of the same rows."""
    settled = env.task_set.instance(task_id).settled
    projection = SqlProjection(settled)
    rows: list[Row] = [row for info in env.world.schema for row in settled.find(info.kind)]
    stream = Stream.root("bench-env-reads")
    for row in (stream.choice(rows) for _ in range(_READS)):
        watch.time("point read, overlay", settled.get, type(row), row.id)
        watch.time("point read, SQL projection", projection.get, type(row), row.id)


def time_row_copies(watch: Stopwatch, env: ToolEnv, task_id: str, count: int) -> None:
    """Time what an environment pays at reset that copies its rows: `copy.deepcopy`, and `pickle.loads`."""
    tables = tables_of(env.task_set.instance(task_id).settled)
    pickled = pickle.dumps(tables, protocol=pickle.HIGHEST_PROTOCOL)
    for _ in range(count):
        watch.time("copy.deepcopy of the rows", copy.deepcopy, tables)
        watch.time("pickle.loads of the rows", pickle.loads, pickled)
