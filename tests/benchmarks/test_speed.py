"""The speed benchmark: a report is complete and its figures add up; how large they are is nobody's test."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from packs import write_pack
from palaestra import register_world
from palaestra.agents import as_action
from palaestra.benchmarks.speed import (
    QUICK,
    SECTIONS,
    Scale,
    SpeedReport,
    Timing,
    bench_env,
    report_table,
    speed_markdown,
    speed_tables,
)
from palaestra.benchmarks.speed.aims import AIMS, LIVE_BYTES, judge_aim
from palaestra.benchmarks.speed.copies import write
from palaestra.benchmarks.speed.episodes import CLASSES, class_of, mix
from palaestra.benchmarks.speed.naive import NaiveState, tables_of
from palaestra.benchmarks.speed.peers import INSTALLATION, PEERS, adapter
from palaestra.benchmarks.speed.server import NAME
from palaestra.benchmarks.speed.sqlstate import SqlState
from palaestra.benchmarks.speed.stopwatch import Stopwatch
from palaestra.benchmarks.speed.stores import time_calls
from palaestra.benchmarks.speed.vectors import measure_vectors, plays
from palaestra.cli import bench as command
from palaestra.envs import ToolEnv, open_world
from palaestra.envs.worlds.storefront.schema import OrderLine
from palaestra.errors import RowMissingError, TaskError, UnknownNameError
from palaestra.protocols import Action
from palaestra.records import JsonObject
from palaestra.tools import Toolbox

WORLD = "palaestra/Storefront-v0"
SCALE = replace(QUICK, episodes=3, cold=1, places=1, copies=1, served=2, played=1, worlds=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """One run of the command."""

    report: SpeedReport
    told: list[str]
    output: str
    json: JsonObject
    markdown: str


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """`palaestra bench env` as it is, but for how much it measures, which is even less than --quick."""
    folder = tmp_path_factory.mktemp("bench")
    written, told = (folder / "speed.json", folder / "speed.md"), list[str]()
    reports: list[SpeedReport] = []

    def less(env_id: str, *, scale: Scale, progress: Callable[[str], None]) -> SpeedReport:
        assert (scale.episodes, scale.worlds, scale.runs) == (SCALE.episodes, SCALE.worlds, QUICK.runs)

        def heard(name: str) -> None:
            told.append(name)
            progress(name)

        reports.append(bench_env(env_id, scale=SCALE, progress=heard))
        return reports[0]

    asked = ["env", "--quick", "--episodes", str(SCALE.episodes), "--worlds", str(SCALE.worlds)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(command, "bench_env", less)
        done = CliRunner().invoke(command.app, [*asked, "--json", str(written[0]), "--markdown", str(written[1])])
    assert done.exit_code == 0, done.output
    return Ran(
        report=reports[0],
        told=told,
        output=done.output,
        json=json.loads(written[0].read_text()),
        markdown=written[1].read_text(),
    )


@pytest.fixture(scope="module")
def report(ran: Ran) -> SpeedReport:
    return ran.report


@pytest.fixture
def env() -> ToolEnv:
    return ToolEnv(WORLD, max_turns=1_000)


# The report


def test_every_part_is_measured(report: SpeedReport) -> None:
    names = {timing.name for timing in report.timings}
    copies = ("snapshot", "restore", "fork", "state_hash", "anchor", "digest")
    assert names >= {f"{copy}, {writes} writes" for copy in copies for writes in (0, 10)}
    assert names >= {f"{copy}, {writes} writes, cold" for copy in copies[:3] for writes in (0, 10)}
    assert names >= {"step", "reset, warm", "reset, cold instance", "reset, cold world"}
    stores = ("overlay", "plain dictionaries", "SQL projection")
    assert names >= {"bare function", *(f"{part}, {store}" for part in ("function", "beginning") for store in stores)}
    assert names >= {"point read, overlay", "point read, SQL projection"}
    assert names >= {"copy.deepcopy of the rows", "pickle.loads of the rows"}
    assert names >= {f"reset, {NAME}", f"step, {NAME}"}
    assert names >= {"action by JSON, one call", *(f"action by code, {n}" for n in ("no call", "one call", "20 calls"))}
    assert report.timing("action by JSON, one call").count == report.timing("action by code, one call").count


def test_classes_of_tools_add_up_to_the_steps(report: SpeedReport) -> None:
    classes = [t for t in report.timings if t.name.startswith("step, ") and t.name.removeprefix("step, ") in CLASSES]
    assert sum(t.count for t in classes) == report.timing("step").count
    assert report.timing("bare function").count == report.timing("step").count
    weighted = sum(t.mean * t.count for t in classes)
    assert weighted == pytest.approx(report.timing("step").mean * report.timing("step").count)


def test_every_figure_is_positive_and_in_order(report: SpeedReport) -> None:
    for timing in report.timings:
        assert timing.count > 0
        assert 0 < timing.p50 <= timing.p99, timing
        assert timing.mean > 0


def test_each_ratio_is_that_of_its_timings(report: SpeedReport) -> None:
    assert len(report.ratios) >= 11
    for ratio in report.ratios:
        above, below = report.timing(ratio.of), report.timing(ratio.to)
        assert ratio.means == pytest.approx(above.mean / below.mean)
        assert ratio.medians == pytest.approx(above.p50 / below.p50)


def test_every_way_is_timed_on_the_same_calls(report: SpeedReport) -> None:
    overlay, plain, sql = (
        report.timing(f"function, {store}") for store in ("overlay", "plain dictionaries", "SQL projection")
    )
    assert overlay.count == plain.count == sql.count > 0
    assert report.timing(f"step, {NAME}").count == report.timing("step, the server's tasks here").count
    assert report.timing(f"reset, {NAME}").count == SCALE.served


def test_every_episode_counts_one_warm_reset_and_every_world_one_cold(report: SpeedReport) -> None:
    assert report.timing("reset, warm").count == SCALE.episodes
    cold = report.timing("reset, cold world").count + report.timing("reset, cold instance").count
    assert cold == len(open_world(WORLD).seeds["train"]) + 1


def test_weighed_environments_have_written(report: SpeedReport) -> None:
    assert report.memory.worlds == 5
    assert report.memory.written_rows >= 1
    assert report.memory.traced_bytes > 0
    assert report.memory.resident_bytes is None or report.memory.resident_bytes >= 0


def test_every_aim_is_of_something_measured_and_shown_beside_it(report: SpeedReport) -> None:
    shown = {row[0]: row[-1] for row in speed_tables(report)[0].rows}
    assert {name for name, aim in shown.items() if aim} == set(AIMS)
    assert shown["step"] == judge_aim(report.timing("step").mean, AIMS["step"])
    memory = speed_tables(report)[-1].rows[0][-1]
    assert memory.startswith(judge_aim(report.memory.traced_bytes, LIVE_BYTES))


def test_an_aim_is_met_up_to_its_figure() -> None:
    assert judge_aim(20.0, 20.0) == "20, met"
    assert judge_aim(20.01, 20.0) == "20, not met"


def test_progress_is_told_each_section_in_order(ran: Ran) -> None:
    assert ran.report.episodes == SCALE.episodes
    assert ran.told == list(SECTIONS)


def test_the_file_of_figures_holds_the_report(ran: Ran) -> None:
    assert ran.json == json.loads(json.dumps(ran.report.as_json()))
    assert [t.processes for t in ran.report.throughputs] == [1, 1, 2, 1, 2]


def test_the_tables_show_every_figure(report: SpeedReport) -> None:
    console = Console(width=200, record=True, quiet=True)
    console.print(report_table(report))
    others = len(report.ratios) + len(report.unmeasured)
    shown = [len(table.rows) for table in speed_tables(report)]
    assert shown == [len(report.timings), others, len(report.throughputs), 1 + len(report.processes)]
    blind = replace(report, memory=replace(report.memory, resident_bytes=None))
    assert speed_tables(blind)[-1].rows[0][-2] == "-"


def test_the_file_of_tables_and_the_terminal_hold_every_table(ran: Ran) -> None:
    assert ran.markdown == speed_markdown(ran.report)
    for table in speed_tables(ran.report):
        assert table.markdown() in ran.markdown
        assert table.title in ran.output


def test_an_unknown_timing_answers_with_near_names(report: SpeedReport) -> None:
    with pytest.raises(UnknownNameError, match="snapshot, 10 writes"):
        report.timing("snapshot, 10 write")


def test_a_scale_that_measures_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="runs=0: at least 1"):
        Scale(runs=0)
    with pytest.raises(ValueError, match="worlds=0: at least 1"):
        Scale(worlds=0)


# Taking the time


def test_percentiles_are_nearest_ranks() -> None:
    # Of 1..200 microseconds the nearest rank of p % is the value 2 p.
    timing = Timing.of("x", (1_000 * n for n in range(200, 0, -1)))
    assert (timing.mean, timing.p50, timing.p99, timing.count) == (100.5, 100.0, 198.0, 200)
    assert Timing.of("x", [5_000]).p99 == 5.0


def test_a_timing_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing was measured"):
        Timing.of("x", [])


def test_the_quietest_run_is_kept_whole() -> None:
    runs: Iterator[tuple[int, int]] = iter([(9_000, 1_000), (2_000, 6_000), (1_000, 8_000)])

    def measure(watch: Stopwatch) -> None:
        part, rest = next(runs)
        watch.add("part", part)
        watch.add("rest", rest)

    watch = Stopwatch()
    watch.quietest(measure, 3)
    # The sums are 10, 8 and 9: the second run counts, though each other run has one shorter part.
    assert [(t.name, t.mean, t.count) for t in watch.timings()] == [("part", 2.0, 1), ("rest", 6.0, 1)]


def test_every_class_of_tools_occurs() -> None:
    assert {class_of(tool) for tool in open_world(WORLD).toolbox} == set(CLASSES)


# Other stores


def test_every_store_answers_as_the_engine_does(env: ToolEnv) -> None:
    for task_id in env.task_set.ids("dev")[::25]:
        settled = env.task_set.instance(task_id).initial_state
        ours = time_calls(Stopwatch(), "x", env, task_id)
        naive = NaiveState(env.world.schema, tables_of(settled))
        assert time_calls(Stopwatch(), "x", env, task_id, naive) == ours
        projected = SqlState(settled.fork())
        assert time_calls(Stopwatch(), "x", env, task_id, projected) == ours
        projected.close()


def test_the_baseline_copies_its_rows_and_misses_what_is_gone(env: ToolEnv) -> None:
    tables = tables_of(env.task_set.instance(env.task_set.ids("dev")[0]).initial_state)
    naive = NaiveState(env.world.schema, tables)
    kind = next(iter(env.world.schema)).kind
    first = naive.find(kind)[0]
    naive.delete(first)
    assert first.id in tables[kind.table]
    with pytest.raises(RowMissingError):
        naive.get(kind, first.id)


def test_rows_read_through_sql_follow_what_is_written(env: ToolEnv) -> None:
    state = SqlState(env.task_set.instance(env.task_set.ids("dev")[0]).initial_state.fork())
    line = next(line for line in state.find(OrderLine))
    assert state.get(OrderLine, state.update(line, returned=line.returned + 1).id).returned == line.returned + 1
    added = state.insert(replace(state.get(OrderLine, line.id), id=state.next_id(OrderLine)))
    assert added in state.find(OrderLine, order_id=line.order_id)
    state.delete(added)
    assert state.peek(OrderLine, added.id) is None
    state.close()


def test_write_writes_as_much_as_asked_and_does_not_end_the_episode(env: ToolEnv) -> None:
    env.reset(seed=4)
    write(env, 10)
    assert len(env.journal) >= 10
    assert env.end is None
    env.step(as_action(env.oracle()[0]))


def test_a_world_that_cannot_write_is_refused(env: ToolEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    env.reset(seed=4)
    monkeypatch.setattr(env, "_offered", tuple(t for t in Toolbox(env.world.toolbox) if not t.writes))
    with pytest.raises(TaskError, match="none of 256 legal calls writes"):
        write(env, 1)


# What is not there


def test_without_its_packages_the_server_is_left_out_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    from palaestra.benchmarks.speed import bench

    monkeypatch.setattr(bench, "SECTIONS", (bench.SERVER, "memory"))
    monkeypatch.setattr(bench, "_NEEDS", ("fastapi", "no_such_package"))
    report = bench_env(WORLD, scale=SCALE)
    assert [(u.section, u.why) for u in report.unmeasured] == [(NAME, "not measured: pip install 'palaestra[bench]'")]
    assert any("palaestra[bench]" in " ".join(row) for row in speed_tables(report)[1].rows)


def test_a_pack_is_measured_in_other_processes_and_without_the_server(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from palaestra.benchmarks.speed import bench

    env_id = register_world(write_pack(tmp_path / "practice", id="practice"))
    monkeypatch.setattr(bench, "SECTIONS", (bench.SERVER, "vectors", "memory"))
    report = bench_env(env_id, scale=replace(SCALE, processes=(1,)))
    assert [u.section for u in report.unmeasured] == [NAME]
    assert report.unmeasured[0].why.startswith("not measured: the server's tools solve none of these tasks")
    assert [t.processes for t in report.throughputs] == [1, 1, 1]


def test_a_peer_that_is_not_installed_is_told_of(report: SpeedReport) -> None:
    told = {peer: found for peer in PEERS if isinstance(found := adapter(peer), str)}
    assert {u.section: u.why for u in report.unmeasured} == told
    measured = {t.name.partition(", ")[2].split()[0] for t in report.timings if t.name.startswith("reset, ")}
    assert not told.keys() & measured


@pytest.mark.parametrize("peer", PEERS)
def test_a_missing_peer_says_how_to_install_it(peer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(_: str) -> None:
        return None

    monkeypatch.setattr("palaestra.benchmarks.speed.peers.find_spec", nowhere)
    assert adapter(peer) == INSTALLATION[peer]
    assert "not installed" in INSTALLATION[peer]


# Vectors


def test_a_vector_plays_every_call_of_every_task(env: ToolEnv) -> None:
    played = plays(env, mix(env, 0)[:2])
    calls: list[Action] = [action for _, actions in played for action in actions]
    assert len(calls) == sum(len(env.task_set.instance(t).oracle) for t, _ in played)
    sync, piped, *workers = measure_vectors(WORLD, played, processes=(1,))
    assert (sync.scaling, piped.scaling) == (1.0, 1.0)
    assert [w.processes for w in workers] == [1]
    assert min(t.steps_per_second for t in (sync, piped, *workers)) > 0
