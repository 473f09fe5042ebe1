"""Alternative stores for a world's rows under the same tools: plain dictionaries, SQL, a full copy at each reset."""

import copy
import pickle
from collections.abc import Sequence

from palaestra.benchmarks.speed.naive import NaiveState, tables_of
from palaestra.benchmarks.speed.sqlstate import SqlState
from palaestra.benchmarks.speed.stopwatch import Stopwatch
from palaestra.digest import canonical
from palaestra.envs import ToolEnv
from palaestra.envs.later import happen_by
from palaestra.envs.state import SqlProjection
from palaestra.protocols import State
from palaestra.records import Row
from palaestra.seeding import Stream

_READS = 200


def time_functions(watch: Stopwatch, env: ToolEnv, task_ids: Sequence[str]) -> None:
    """Time only the tool functions on the oracle's calls, without validation of arguments and without a record."""
    for task_id in task_ids:
        time_calls(watch, "bare function", env, task_id)


def time_stores(watch: Stopwatch, env: ToolEnv, task_ids: Sequence[str]) -> None:
    """Time the same functions on the overlay, on plain dictionaries and through SQL, and an episode's start in each.

    Raises:
        AssertionError: an answer differs from the overlay's answer.
    """
    for task_id in task_ids:
        settled = env.task_set.instance(task_id).initial_state
        tables = tables_of(settled)
        watch.time("beginning, overlay", settled.fork)
        naive = watch.time("beginning, plain dictionaries", NaiveState, env.world.schema, tables)
        projected = watch.time("beginning, SQL projection", SqlState, settled.fork())
        ours = time_calls(watch, "function, overlay", env, task_id)
        plain = time_calls(watch, "function, plain dictionaries", env, task_id, naive)
        through_sql = time_calls(watch, "function, SQL projection", env, task_id, projected)
        assert ours == plain == through_sql, f"{task_id}: the stores answer differently"
        projected.close()


def time_calls(watch: Stopwatch, name: str, env: ToolEnv, task_id: str, state: State | None = None) -> list[bytes]:
    """Time the functions of the oracle's calls, on `state` instead of the episode's own rows where it is given.

    Returns:
        The answers as canonical JSON.
    """
    env.reset(seed=0, options={"task": task_id})
    context = env.episode.context
    if state is not None:
        context.state = state
    later, happened = env.instance.later, 0
    answers: list[bytes] = []
    for call in env.oracle():
        tool = env.world.toolbox[call.tool]
        arguments = tool.validate(call.arguments)
        context.begin_call()
        answers.append(canonical(watch.time(name, tool.function, context, **arguments)))
        context.clock.advance(tool.latency)
        happened = happen_by(later, context.clock.today, context.state, happened=happened)
    return answers


def time_reads(watch: Stopwatch, env: ToolEnv, task_id: str) -> None:
    """Time reads of rows by key: from the overlay, and through SQL from the projection of the same rows."""
    settled = env.task_set.instance(task_id).initial_state
    projection = SqlProjection(settled)
    rows: list[Row] = [row for info in env.world.schema for row in settled.find(info.kind)]
    stream = Stream.root("bench-env-reads")
    for row in (stream.choice(rows) for _ in range(_READS)):
        watch.time("point read, overlay", settled.get, type(row), row.id)
        watch.time("point read, SQL projection", projection.get, type(row), row.id)
    projection.close()


def time_row_copies(watch: Stopwatch, env: ToolEnv, task_id: str, count: int) -> None:
    """Time the reset of an environment that copies its rows: `copy.deepcopy`, and `pickle.loads`."""
    tables = tables_of(env.task_set.instance(task_id).initial_state)
    pickled = pickle.dumps(tables, protocol=pickle.HIGHEST_PROTOCOL)
    for _ in range(count):
        watch.time("copy.deepcopy of the rows", copy.deepcopy, tables)
        watch.time("pickle.loads of the rows", pickle.loads, pickled)
