"""Served steps are measured in rounds beside peers, and a peer that is not there is listed with what installs it."""

import subprocess
import sys
from pathlib import Path

import pytest

from palaestra.benchmarks.speed.processes import processor_seconds, resident_bytes
from palaestra.benchmarks.speed.served import (
    ServedReport,
    ServedSample,
    ServedScale,
    bench_served,
    echo_server,
    served_table,
)
from palaestra.benchmarks.speed.served.episode_servers import time_episode_servers

STOREFRONT = "palaestra/Storefront-v0"
SMALL = ServedScale(sessions=3, batches=(1, 3), workers=(0, 1), seconds=0.01, rounds=2, echo_sessions=(1, 2))
NOWHERE = Path("/nowhere/python")
OPENENV = Path(".interop/openenv/bin/python")


def sample(name: str, steps: int, *, is_peer: bool = False, seconds: float = 1.0) -> ServedSample:
    return ServedSample(
        name=name,
        workers=0,
        sessions=1,
        batch=1,
        steps=steps,
        wall_seconds=seconds,
        processor_seconds=seconds / 2,
        session_bytes=2048.0 if is_peer else None,
        is_peer=is_peer,
    )


def test_our_rows_are_measured_in_every_round_and_absent_peers_say_how_they_are_installed() -> None:
    done: list[str] = []
    # A world of which there is no server for each episode, so that this measures our own rows alone.
    report = bench_served("palaestra/ITDesk-v0", SMALL, openenv_python=NOWHERE, progress=done.append)
    assert done == ["round 1", "round 2"]
    rows = {(row.name, row.workers, row.sessions, row.batch): row for row in report.rows()}
    served = {(name, workers, 3, batch) for name in ("HTTP", "WebSocket") for workers in (0, 1) for batch in (1, 3)}
    assert set(rows) == served | {("in process", 0, 1, 1), ("in process", 0, 3, 1)}
    assert all(0 < row.clock_rate.low <= row.clock_rate.median <= row.clock_rate.high for row in rows.values())
    assert all((rows[row].session_bytes is not None) == (row in served) for row in rows)
    assert all(row.peer_ratio is None for row in rows.values())
    assert "`make peers` installs it" in report.absent["OpenEnv echo"]
    assert "palaestra/Storefront-v0" in report.absent["AWM-shaped server"]
    table = served_table(report)
    assert [row[0] for row in table.rows if "not run" in row] == ["OpenEnv echo", "AWM-shaped server"]
    assert all(reason in table.note for reason in report.absent.values())


def test_an_episode_server_plays_whole_episodes_in_a_process_of_each_session() -> None:
    [alone] = time_episode_servers(ServedScale(workers=(0,), seconds=0.01))
    assert alone.is_peer
    assert (alone.sessions, alone.workers) == (1, 1)
    assert alone.steps > 1
    assert alone.session_bytes is not None
    assert alone.session_bytes > 2**20


@pytest.mark.skipif(bool(echo_server.reason_absent(OPENENV)), reason="`make peers` installs OpenEnv")
def test_openenv_echoes_to_its_own_client() -> None:
    samples = list(echo_server.time_echo(OPENENV, SMALL))
    assert [(one.workers, one.sessions) for one in samples] == [(1, 1), (1, 2)]
    assert all(one.is_peer and one.steps > 0 for one in samples)


def test_an_interpreter_without_openenv_is_refused() -> None:
    assert "has no openenv-core; `make peers` installs it" in echo_server.reason_absent(Path(sys.executable))


def test_the_ratio_is_to_the_fastest_peer_of_the_same_round() -> None:
    rounds = [
        [sample("ours", 600), sample("one", 100, is_peer=True), sample("other", 200, is_peer=True)],
        [sample("ours", 900), sample("one", 300, is_peer=True), sample("other", 150, is_peer=True)],
        [sample("ours", 800), sample("one", 100, is_peer=True), sample("other", 50, is_peer=True)],
    ]
    report = ServedReport(scale=ServedScale(), rounds=rounds, absent={})
    ours, one, _ = report.rows()
    assert ours.peer_ratio is not None
    assert (ours.peer_ratio.low, ours.peer_ratio.median, ours.peer_ratio.high) == (3.0, 3.0, 8.0)
    assert (ours.clock_rate.low, ours.clock_rate.median, ours.clock_rate.high) == (600, 800, 900)
    assert ours.processor_rate is not None
    assert ours.processor_rate.median == 1_600
    assert one.peer_ratio is not None
    assert one.peer_ratio.high == 1.0
    cells = served_table(report).rows
    assert cells[0][4:] == ("800 (600-900)", "1,600 (1,200-1,800)", "", "3 (3-8)")
    assert cells[1][6] == "2 (2-2)"


def test_processor_time_and_memory_count_what_a_process_has_started() -> None:
    spin = "import time\nwhile time.process_time() < 0.1: pass\nprint('done', flush=True)\ninput()"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {spin!r}])"
    with subprocess.Popen(
        [sys.executable, "-c", parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        spent, held = processor_seconds([process.pid]), resident_bytes([process.pid])
        alone = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
        process.communicate("\n")
    assert spent >= 0.1
    assert held > alone * 4_096


def test_the_echo_program_imports_nothing_of_palaestra() -> None:
    program = Path(echo_server.__file__).with_name("echo_program.py")
    loaded = "import sys; print([m for m in sys.modules if m.startswith('palaestra')])"
    script = f"import runpy; runpy.run_path({str(program)!r}); {loaded}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
