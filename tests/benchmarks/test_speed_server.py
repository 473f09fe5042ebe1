"""The server that the benchmark contains: it answers as the world does, and one episode leaves the next one alone."""

import importlib.util
import subprocess
import sys
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from palaestra.benchmarks.speed.episodes import mix
from palaestra.benchmarks.speed.naive import tables_of
from palaestra.benchmarks.speed.server import is_contained, server_tasks, time_server
from palaestra.benchmarks.speed.server.client import ServerProcess
from palaestra.benchmarks.speed.server.database import write_database
from palaestra.benchmarks.speed.server.program import round_half_up
from palaestra.benchmarks.speed.stopwatch import Stopwatch
from palaestra.envs import ToolEnv
from palaestra.envs.worlds.storefront.schema import Order
from palaestra.errors import InfrastructureError, TaskError

WORLD = "palaestra/Storefront-v0"


@pytest.fixture
def env() -> ToolEnv:
    return ToolEnv(WORLD, max_turns=1_000)


def served_task(env: ToolEnv) -> str:
    return next(iter(server_tasks(env, mix(env, 0))))


@pytest.fixture
def database(env: ToolEnv, tmp_path: Path) -> Path:
    path = tmp_path / "world.db"
    write_database(env.task_set.instance(served_task(env)).initial_state, path)
    return path


def family_of(task_id: str) -> str:
    return task_id.rpartition("/")[0]


def test_the_server_answers_as_the_world_does_with_every_tool_it_has(env: ToolEnv) -> None:
    used: set[str] = set()
    chosen: list[str] = []
    for task_id in islice(server_tasks(env, mix(env, 1)), len(env.task_set.families)):
        tools = {call.tool for call in env.task_set.instance(task_id).oracle}
        if not tools <= used:  # a process for each tool that is new, not for each family
            used |= tools
            chosen.append(task_id)
    assert used >= {"get_order", "get_customer", "read_handbook", "issue_refund", "resolve_ticket"}
    assert len({family_of(task_id) for task_id in chosen}) == len(chosen)
    time_server(Stopwatch(), env, chosen, len(chosen))  # it asserts that every answer agrees


def test_the_server_refuses_what_the_rows_do_not_allow(env: ToolEnv, database: Path) -> None:
    settled = env.task_set.instance(served_task(env)).initial_state
    order = next(o for o in settled.find(Order))
    with ServerProcess(database, date(2026, 1, 1).isoformat()) as served:
        served.ready()
        assert is_contained({"order": {"total_cents": order.total_cents}}, served.call("get_order", {"id": order.id}))
        with pytest.raises(InfrastructureError, match="404"):
            served.call("get_order", {"id": "ORD-0"})
        with pytest.raises(InfrastructureError, match="422"):
            served.call("reply", {"message": ""})


def test_an_episode_on_the_server_leaves_the_next_one_alone(env: ToolEnv, database: Path) -> None:
    instance = env.task_set.instance(served_task(env))
    ticket = next(t for t in tables_of(instance.initial_state)["tickets"].values() if getattr(t, "status") == "open")  # noqa: B009
    for _ in range(2):
        with ServerProcess(database, instance.start.date().isoformat()) as served:
            assert served.call("resolve_ticket", {"id": ticket.id})["status"] == "resolved"
            with pytest.raises(InfrastructureError, match="not open"):
                served.call("resolve_ticket", {"id": ticket.id})


def test_the_server_imports_nothing_of_palaestra() -> None:
    loaded = "import sys; print([m for m in sys.modules if m.startswith('palaestra')])"
    program = importlib.util.find_spec("palaestra.benchmarks.speed.server.program")
    assert program is not None
    assert program.origin is not None
    script = f"import runpy; runpy.run_path({program.origin!r}); {loaded}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_tasks_that_the_server_has_no_tools_for_are_refused(env: ToolEnv) -> None:
    served = {family_of(task_id) for task_id in islice(server_tasks(env, mix(env, 0)), len(env.task_set.families))}
    other = [task_id for task_id in mix(env, 0) if family_of(task_id) not in served]
    with pytest.raises(TaskError, match="solve none of these tasks"):
        time_server(Stopwatch(), env, other[:5], 1)


def test_rounding_half_up() -> None:
    assert [round_half_up(n, 2) for n in (0, 1, 2, 3)] == [0, 1, 1, 2]
    assert round_half_up(0, 0) == 0


@pytest.mark.parametrize(
    ("theirs", "ours", "same"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, True),
        ({"a": 1, "b": 2}, {"a": 1}, False),
        ({"a": 1}, {"a": 2}, False),
        ({"lines": [{"id": "x"}]}, {"lines": [{"id": "x", "more": 1}]}, True),
        ({"lines": [{"id": "x"}]}, {"lines": [{"id": "x"}, {"id": "y"}]}, False),
        ([], {}, False),
        (1, 1, True),
    ],
)
def test_answers_agree_where_every_field_of_theirs_is_ours(theirs: Any, ours: Any, same: bool) -> None:
    assert is_contained(theirs, ours) is same
