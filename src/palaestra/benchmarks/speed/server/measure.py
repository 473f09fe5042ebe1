"""Times the same calls on the same tasks through the server and in process; the answers must agree."""

import tempfile
from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

import orjson

from palaestra.agents import as_action
from palaestra.benchmarks.speed.figures import ProcessMemory
from palaestra.benchmarks.speed.server.client import ServerProcess
from palaestra.benchmarks.speed.server.database import create_indexes, write_database
from palaestra.benchmarks.speed.stopwatch import Stopwatch
from palaestra.envs import ToolEnv
from palaestra.errors import TaskError
from palaestra.records import Json, JsonObject, ToolCall

NAME = "AWM-shaped server"

_SERVED: dict[str, str | None] = {
    "compute_paid": None,
    "compute_return_window": "line_id",
    "decline_request": None,
    "finish": None,
    "get_customer": "customer_id",
    "get_order": "order_id",
    "get_payments": "order_id",
    "get_product": "product_id",
    "get_refunds": "order_id",
    "get_shipments": "order_id",
    "get_ticket": "ticket_id",
    "issue_refund": None,
    "read_handbook": "section_id",
    "refund_payment": None,
    "reply": None,
    "resolve_ticket": "ticket_id",
}
"""The tools of the server. Where the server names an argument `id`, the value is the argument's name in the world."""


def server_tasks(env: ToolEnv, task_ids: Sequence[str]) -> Iterator[str]:
    """The tasks among `task_ids` that the server's tools can solve, taking one task of each family in turn."""
    families: dict[str, list[str]] = {}
    for task_id in task_ids:
        families.setdefault(task_id.rpartition("/")[0], []).append(task_id)
    # All tasks of a family mostly use the same tools: the first task decides, and the others are not made.
    fitting = [ids for ids in families.values() if _serves(env, ids[0])]
    for turn in zip_longest(*fitting):
        yield from (task_id for task_id in turn if task_id is not None and _serves(env, task_id))


def _serves(env: ToolEnv, task_id: str) -> bool:
    return all(call.tool in _SERVED for call in env.task_set.instance(task_id).oracle)


def time_server(watch: Stopwatch, env: ToolEnv, task_ids: Sequence[str], episodes: int) -> ProcessMemory | None:
    """Time resets and steps of the oracle on `episodes` tasks, through the server and in process.

    Each task's database is prepared before; a reset through the server copies it and starts the process.

    Returns:
        The memory of a server process; `None` where the system does not report it.

    Raises:
        TaskError: the server's tools solve none of `task_ids`.
        AssertionError: an answer of the server differs from the world's.
    """
    weights: list[int] = []
    chosen = list(islice(server_tasks(env, task_ids), episodes))
    if not chosen:
        raise TaskError("the server's tools solve none of these tasks; give it the tools that the oracle uses most")
    with tempfile.TemporaryDirectory(prefix="palaestra-bench-") as folder:
        for task_id in chosen:
            instance = env.task_set.instance(task_id)
            database = Path(folder) / f"{len(weights)}.db"
            write_database(instance.initial_state, database)
            create_indexes(database)
            answers = _time_here(watch, env, task_id)
            with watch.time(f"reset, {NAME}", _begin, database, instance.start.date()) as served:
                _time_there(watch, served, instance.oracle, answers)
                weights.append(served.resident_bytes() or 0)
    return ProcessMemory(name=NAME, resident_bytes=sum(weights) / len(weights)) if all(weights) else None


def _begin(database: Path, today: Any) -> ServerProcess:
    served = ServerProcess(database, today.isoformat())
    served.ready()
    return served


def _time_here(watch: Stopwatch, env: ToolEnv, task_id: str) -> list[JsonObject]:
    env.reset(seed=0, options={"task": task_id})  # the first reset makes the task; the server's is prepared as well
    watch.time("reset, the server's tasks here", env.reset, seed=0, options={"task": task_id})
    answers: list[JsonObject] = []
    for call in env.oracle():
        observation = watch.time("step, the server's tasks here", env.step, as_action(call))[0]
        answers.append(orjson.loads(observation[0]["content"]))
    return answers


def _time_there(
    watch: Stopwatch, served: ServerProcess, calls: Sequence[ToolCall], answers: Sequence[JsonObject]
) -> None:
    for call, ours in zip(calls, answers, strict=True):
        theirs = watch.time(f"step, {NAME}", served.call, call.tool, server_arguments(call))
        assert is_contained(theirs, ours), (
            f"{call.tool} {call.arguments}: the server answers {theirs}, the world {ours}"
        )


def server_arguments(call: ToolCall) -> JsonObject:
    """The arguments of a call under the server's names."""
    name = _SERVED[call.tool]
    return dict(call.arguments) if name is None else {"id": call.arguments[name]}


def is_contained(theirs: Json, ours: Json) -> bool:
    """Whether `ours` has every field of `theirs` with the same value; `ours` may have more fields."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        return all(key in ours and is_contained(value, ours[key]) for key, value in theirs.items())
    if isinstance(theirs, list) and isinstance(ours, list):
        return len(theirs) == len(ours) and all(map(is_contained, theirs, ours))
    return theirs == ours
