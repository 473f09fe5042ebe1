"""Generated worlds: the cost of compilation, resets, steps and copies, beside the Storefront and servers of the worlds.

Every round measures every world, one after another, so that other load on the machine affects all of them alike. Each
server is generated from the tools of the same world (`server/generated_program.py`) and plays the same solutions.

Times are processor times: of this process, and for a server also of the server's process. Waiting does not count, which
favours the server. Where the system does not report the time of another process, only this process counts.
"""

import gc
import json
import statistics
import tempfile
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from time import process_time_ns
from typing import Any

import gymnasium as gym
import orjson

from palaestra.agents import as_action
from palaestra.benchmarks.speed.server.client import GENERATED_PROGRAM, ServerProcess
from palaestra.benchmarks.speed.server.database import write_database
from palaestra.digest import as_json
from palaestra.envs import TaskSet, ToolEnv
from palaestra.envs.blueprints import check_blueprint
from palaestra.envs.blueprints.compilation import compile_afresh
from palaestra.envs.instance import Instance
from palaestra.envs.synthesis import generate_blueprint
from palaestra.record import record
from palaestra.records import Json, JsonObject
from palaestra.table import Table

STOREFRONT, GENERATED, SERVER = "Storefront", "generated", "AWM-shaped server"
WHOLE = ("generate", "check", "compile", "make")
EPISODE = ("reset, new population", "reset, new task", "reset", "step, read", "step, write", "snapshot", "restore")
WORK = (*WHOLE, *EPISODE, "fork", "live episode, KiB")
_TASKS = 6
"""Number of tasks of a world that are played in a round."""


@record
class SynthesisScale:
    """The size of a run."""

    worlds: tuple[int, ...] = (17, 40, 123)
    rounds: int = 5
    served: int = 2
    """Episodes on a server per world and round."""
    live: int = 1_000
    """Episodes that are alive at once while memory is measured."""


FULL_SYNTHESIS = SynthesisScale()
QUICK_SYNTHESIS = SynthesisScale(worlds=(17,), rounds=2, served=1, live=50)


@record
class SynthesisFigure:
    """One kind of work in one kind of world, over rounds and worlds."""

    kind: str
    work: str
    median: float
    """Microseconds per call; KiB per live episode."""
    low: float
    """The lower quartile."""
    high: float
    """The upper quartile."""
    count: int
    """Number of values behind the quartiles: one median per world and round."""


class _Rounds:
    """The medians of each world and round."""

    def __init__(self) -> None:
        self._calls: dict[tuple[str, str], list[float]] = {}
        self._medians: dict[tuple[str, str], list[float]] = {}

    def time(self, kind: str, work: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        start = process_time_ns()
        result = function(*args, **kwargs)
        self.note(kind, work, process_time_ns() - start)
        return result

    def note(self, kind: str, work: str, nanoseconds: int) -> None:
        self._calls.setdefault((kind, work), []).append(nanoseconds / 1000)

    def add(self, kind: str, work: str, value: float) -> None:
        self._medians.setdefault((kind, work), []).append(value)

    def close(self) -> None:
        """End the measurement of a world in this round: keep the median of its calls."""
        for (kind, work), taken in self._calls.items():
            self.add(kind, work, statistics.median(taken))
        self._calls.clear()

    def figures(self) -> tuple[SynthesisFigure, ...]:
        return tuple(_figure(kind, work, taken) for (kind, work), taken in self._medians.items())


def _figure(kind: str, work: str, taken: Sequence[float]) -> SynthesisFigure:
    low, middle, high = statistics.quantiles(taken, n=4, method="inclusive") if len(taken) > 1 else [*taken] * 3
    return SynthesisFigure(kind=kind, work=work, median=middle, low=low, high=high, count=len(taken))


def bench_synthesis(
    scale: SynthesisScale = FULL_SYNTHESIS, *, progress: Callable[[str], None] = lambda _: None
) -> tuple[SynthesisFigure, ...]:
    """Measure generated worlds, the Storefront, and a server of each generated world.

    Args:
        scale: The size of the run.
        progress: Receives the name of each round when it is done, and of the memory measurement at the end.

    Raises:
        AssertionError: a server lists other rows than the world.
    """
    rounds = _Rounds()
    worlds = {GENERATED: [_make(number) for number in scale.worlds], STOREFRONT: [_storefront()]}
    for number in range(scale.rounds):
        gc.collect()
        for world in scale.worlds:
            _time_whole(rounds, world)
        for kind, envs in worlds.items():
            for env in envs:
                _time_episodes(rounds, kind, env, number)
        for env in worlds[GENERATED]:
            _time_server(rounds, env, scale.served)
        progress(f"round {number + 1}")
    for kind, envs in worlds.items():
        for env in envs:
            rounds.add(kind, "live episode, KiB", _weigh(env, scale.live))
    progress("memory")
    return rounds.figures()


def _make(number: int) -> ToolEnv:
    env = gym.make("palaestra/Synth-v0", world=number, unlisted=True).unwrapped
    assert isinstance(env, ToolEnv), "a world by its number is one environment"
    return env


def _storefront() -> ToolEnv:
    env = gym.make("palaestra/Storefront-v0").unwrapped
    assert isinstance(env, ToolEnv), "it is ours"
    return env


def _time_whole(rounds: _Rounds, number: int) -> None:
    """Time the work that is done once per world."""
    blueprint = rounds.time(GENERATED, "generate", generate_blueprint, number)
    rounds.time(GENERATED, "check", check_blueprint, blueprint)
    rounds.time(GENERATED, "compile", compile_afresh, blueprint)
    rounds.time(GENERATED, "make", _make, number)
    rounds.time(STOREFRONT, "make", _storefront)
    rounds.close()


def _tasks(env: ToolEnv) -> list[str]:
    tasks = env.task_set.candidates(env.task_set.splits[0])
    return list(tasks[:: max(1, len(tasks) // _TASKS)])[:_TASKS]


def _time_episodes(rounds: _Rounds, kind: str, env: ToolEnv, number: int) -> None:
    tasks = _tasks(env)
    known = env.task_set
    # A fresh world and fresh tasks: the first reset of a seed populates the world, the next only makes its task.
    env.task_set = TaskSet(replace(env.world), (family for family in known.families.values() if family.twin_of is None))
    seeds: set[int] = set()
    for task in tasks:
        seed = known.instance(task).spec.world_seed
        work = "reset, new task" if seed in seeds else "reset, new population"
        rounds.time(kind, work, env.reset, seed=0, options={"task": task})
        seeds.add(seed)
    env.task_set = known
    for task in (tasks * 2)[number % len(tasks) :][: len(tasks)]:
        env.reset(seed=0, options={"task": task})
        rounds.time(kind, "reset", env.reset, seed=0, options={"task": task})
        for call in env.oracle():
            writes = env.world.toolbox[call.tool].writes
            if writes:
                snapshot = rounds.time(kind, "snapshot", env.snapshot)
                rounds.time(kind, "restore", env.restore, snapshot)
                rounds.time(kind, "fork", env.fork)
            rounds.time(kind, "step, write" if writes else "step, read", env.step, as_action(call))
    rounds.close()


def _time_server(rounds: _Rounds, env: ToolEnv, episodes: int) -> None:
    for task in _tasks(env)[:episodes]:
        instance = env.task_set.instance(task)
        env.reset(seed=0, options={"task": task})
        played = [(call, env.step(as_action(call))[4]["record"]) for call in env.oracle()]
        with tempfile.TemporaryDirectory(prefix="palaestra-bench-") as folder:
            database, specification = Path(folder) / "world.db", Path(folder) / "specification.json"
            write_database(instance.initial_state, database)
            specification.write_bytes(orjson.dumps(_specification(instance, played), default=as_json))
            start = process_time_ns()
            with ServerProcess(database, str(specification), GENERATED_PROGRAM) as served:
                served.ready()
                rounds.note(SERVER, "reset", _both(served) - start)
                for call, done in played:
                    tool = env.world.toolbox[call.tool]
                    start = _both(served)
                    answer = served.call(call.tool, dict(call.arguments))
                    rounds.note(SERVER, "step, write" if tool.writes else "step, read", _both(served) - start)
                    if tool.reads is not None:
                        _check_rows(orjson.loads(done.messages[0]["content"]), answer, call.tool)
                rounds.add(SERVER, "live episode, KiB", (served.resident_bytes() or 0) / 1024)
    rounds.close()


def _both(served: ServerProcess) -> int:
    """Processor nanoseconds of this process and the server together."""
    return process_time_ns() + (served.processor_ns() or 0)


def _specification(instance: Instance, played: Sequence[tuple[Any, Any]]) -> JsonObject:
    """The input of the server's generator: the tools of the world, and the changes that the solution's writes make."""
    writes: dict[str, Any] = {}
    for call, done in played:
        key = json.dumps([call.tool, dict(call.arguments)], sort_keys=True)
        changes = ((change, change.after) for change in done.changes)
        writes[key] = [[c.table, c.key, None if after is None else asdict(after)] for c, after in changes]
    tools = [
        {
            "name": tool.name,
            "parameters": tool.parameters,
            "writes": tool.writes,
            "reads": None if tool.reads is None else asdict(tool.reads),
        }
        for tool in instance.world.toolbox
    ]
    return {"tools": tools, "writes": writes}  # type: ignore[dict-item]


def _check_rows(ours: Json, theirs: Json, tool: str) -> None:
    mine, other = _ids(ours), _ids(theirs)
    assert mine == other, f"{tool}: the server lists {sorted(other)}, the world {sorted(mine)}"


def _ids(answer: Json) -> set[str]:
    """The ids of the rows in an answer."""
    if isinstance(answer, list):
        return set[str]().union(*map(_ids, answer))
    if not isinstance(answer, dict):
        return set()
    own = {str(answer["id"])} if "id" in answer else set[str]()
    return own.union(*map(_ids, answer.values()))


def _weigh(env: ToolEnv, count: int) -> float:
    """KiB that Python allocates per episode, for `count` episodes forked behind the first write of a solution."""
    places: list[ToolEnv] = []
    for task in _tasks(env):
        env.reset(seed=0, options={"task": task})
        for call in env.oracle()[:-1]:
            env.step(as_action(call))
            if env.world.toolbox[call.tool].writes:
                break
        places.append(env.fork())
        places[-1].fork()
    gc.collect()
    tracemalloc.start()
    live = [places[number % len(places)].fork() for number in range(count)]
    gc.collect()
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return size / len(live) / 1024


def synthesis_table(figures: Sequence[SynthesisFigure]) -> Table:
    """The figures as a table with one row per kind of work."""
    by = {(one.kind, one.work): one for one in figures}
    rows: list[tuple[str, ...]] = []
    for work in WORK:
        cells = [by.get((kind, work)) for kind in (GENERATED, STOREFRONT, SERVER)]
        own, hand, served = cells
        rows.append((work, *map(_write, cells), _ratio(own, hand), _ratio(served, own)))
    columns = ("work", GENERATED, STOREFRONT, SERVER, "generated / Storefront", "server / generated")
    return Table(
        title="Generated worlds",
        columns=columns,
        rows=tuple(rows),
        note="Processor time of a call in microseconds, unless stated: the median over worlds and rounds (quartiles). "
        "The server's live episode is the memory of its process.",
    )


def _write(one: SynthesisFigure | None) -> str:
    return "" if one is None else f"{one.median:,.4g} ({one.low:,.4g}-{one.high:,.4g})"


def _ratio(one: SynthesisFigure | None, other: SynthesisFigure | None) -> str:
    return "" if one is None or other is None else f"{one.median / other.median:,.3g}"
