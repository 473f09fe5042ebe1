"""The speed benchmark: a report is complete and its figures add up; how large they are is nobody's test."""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
from rich.console import Console

from palaestra.agents import as_action
from palaestra.benchmarks.speed import SECTIONS, SpeedReport, Timing, bench_env, report_table, speed_tables
from palaestra.benchmarks.speed.copies import write
from palaestra.benchmarks.speed.episodes import CLASSES, class_of
from palaestra.benchmarks.speed.naive import NaiveState, tables_of
from palaestra.clock import Clock
from palaestra.digest import canonical
from palaestra.envs import WORLDS, Instance, ToolEnv, bundled
from palaestra.errors import RowMissingError, TaskError, UnknownNameError
from palaestra.protocols import State
from palaestra.tools import Toolbox, ToolContext

WORLD = "palaestra/Storefront-v0"
EPISODES = 3


@pytest.fixture(scope="module")
def told() -> list[str]:
    return []


@pytest.fixture(scope="module")
def report(told: list[str]) -> SpeedReport:
    return bench_env(WORLD, episodes=EPISODES, worlds=5, progress=told.append)


def test_every_part_is_measured(report: SpeedReport) -> None:
    names = {timing.name for timing in report.timings}
    copies = ("snapshot", "restore", "fork", "state_hash", "anchor", "digest")
    assert names >= {f"{copy}, {writes} writes" for copy in copies for writes in (0, 10)}
    assert names >= {"step", "reset, warm", "reset, cold instance", "reset, cold world"}
    assert names >= {"bare function", "naive function", "naive reset", "point read, overlay"}
    assert names >= {"point read, SQL projection", "copy.deepcopy of the rows", "pickle.loads of the rows"}


def test_classes_of_tools_add_up_to_the_steps(report: SpeedReport) -> None:
    classes = [t for t in report.timings if t.name.startswith("step, ")]
    assert {t.name.removeprefix("step, ") for t in classes} <= set(CLASSES)
    assert sum(t.count for t in classes) == report.timing("step").count
    assert report.timing("bare function").count == report.timing("step").count
    weighted = sum(t.mean * t.count for t in classes)
    assert weighted == pytest.approx(report.timing("step").mean * report.timing("step").count)


def test_every_figure_is_positive_and_in_order(report: SpeedReport) -> None:
    for timing in report.timings:
        assert timing.count > 0
        assert 0 < timing.p50 <= timing.p99, timing
        assert timing.mean > 0
    assert all(ratio.value > 0 for ratio in report.ratios)


def test_each_ratio_is_that_of_its_timings(report: SpeedReport) -> None:
    for ratio in report.ratios:
        assert ratio.value == pytest.approx(report.timing(ratio.of).mean / report.timing(ratio.to).mean)


def test_every_episode_counts_one_warm_reset_and_every_world_one_cold(report: SpeedReport) -> None:
    assert report.timing("reset, warm").count == EPISODES
    cold = report.timing("reset, cold world").count + report.timing("reset, cold instance").count
    assert cold == len(WORLDS.get(WORLD).seeds["train"]) + 1


def test_weighed_environments_have_written(report: SpeedReport) -> None:
    assert report.memory.worlds == 5
    assert report.memory.written_rows >= 1
    assert report.memory.traced_bytes > 0
    assert report.memory.resident_bytes is None or report.memory.resident_bytes >= 0


def test_progress_is_told_each_section_in_order(report: SpeedReport, told: list[str]) -> None:
    assert report.episodes == EPISODES
    assert told == list(SECTIONS)


def test_the_report_is_json_that_reads_back(report: SpeedReport) -> None:
    read = json.loads(canonical(report.as_json()))
    assert read["env_id"] == WORLD
    assert [t["name"] for t in read["timings"]] == [t.name for t in report.timings]


def test_the_tables_show_every_figure(report: SpeedReport) -> None:
    console = Console(width=200, record=True, quiet=True)
    console.print(report_table(report))
    assert [len(table.rows) for table in speed_tables(report)] == [len(report.timings), len(report.ratios), 1]
    blind = replace(report, memory=replace(report.memory, resident_bytes=None))
    assert speed_tables(blind)[-1].rows[0][-1] == "-"


def test_an_unknown_timing_answers_with_near_names(report: SpeedReport) -> None:
    with pytest.raises(UnknownNameError, match="snapshot, 10 writes"):
        report.timing("snapshot, 10 write")


def test_percentiles_are_nearest_ranks() -> None:
    # Of 1..200 microseconds the nearest rank of p % is the value 2 p.
    timing = Timing.of("x", (1_000 * n for n in range(200, 0, -1)))
    assert (timing.mean, timing.p50, timing.p99, timing.count) == (100.5, 100.0, 198.0, 200)
    assert Timing.of("x", [5_000]).p99 == 5.0


def test_a_timing_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing was measured"):
        Timing.of("x", [])


def test_every_class_of_tools_occurs() -> None:
    assert {class_of(tool) for tool in WORLDS.get(WORLD).toolbox} == set(CLASSES)


def instances() -> Iterator[Instance]:
    tasks = bundled(WORLDS.get(WORLD))
    return (tasks.instance(task_id) for task_id in tasks.ids("dev")[::5])


def answers(instance: Instance, state: State) -> list[bytes]:
    world = instance.world
    clock = Clock(instance.start)
    context = ToolContext(state=state, clock=clock, role=world.role, actor=world.actor, ids_in=world.schema.ids_in)
    given: list[bytes] = []
    for call in instance.oracle:
        tool = world.toolbox[call.tool]
        given.append(canonical(tool.function(context, **tool.validated(call.arguments))))
        clock.advance(tool.latency)
    return given


def test_the_baseline_gives_the_same_answers_as_the_engine() -> None:
    for instance in instances():
        naive = NaiveState(instance.world.schema, tables_of(instance.settled))
        assert answers(instance, naive) == answers(instance, instance.settled.fork())


def test_the_baseline_copies_its_rows_and_misses_what_is_gone() -> None:
    instance = next(instances())
    tables = tables_of(instance.settled)
    naive = NaiveState(instance.world.schema, tables)
    kind = next(iter(instance.world.schema)).kind
    first = naive.find(kind)[0]
    naive.delete(first)
    assert first.id in tables[kind.table]
    with pytest.raises(RowMissingError):
        naive.get(kind, first.id)


def test_write_writes_as_much_as_asked_and_does_not_end_the_episode() -> None:
    env = ToolEnv(WORLD, max_turns=1_000)
    env.reset(seed=4)
    write(env, 10)
    assert len(env.journal) >= 10
    assert env.end is None
    env.step(as_action(env.oracle()[0]))


def test_a_world_that_cannot_write_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    env = ToolEnv(WORLD, max_turns=1_000)
    env.reset(seed=4)
    monkeypatch.setattr(env, "_offered", tuple(t for t in Toolbox(env.world.toolbox) if not t.writes))
    with pytest.raises(TaskError, match="none of 256 legal calls writes"):
        write(env, 1)
