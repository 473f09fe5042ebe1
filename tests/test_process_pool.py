"""Processes of a pool do not outlive the process that made it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from palaestra.process_pool import process_pool

_PROGRAM = """
import os, sys, time
from collections.abc import Callable
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_process_pool import write_pid_and_wait
from palaestra.process_pool import process_pool

if __name__ == "__main__":
    with process_pool(2) as pool:
        list(pool.map(write_pid_and_wait, [{folder!r}] * 2))
"""


def write_pid_and_wait(folder: str) -> None:
    (Path(folder) / str(os.getpid())).touch()
    time.sleep(600)


def set_variable(value: str) -> None:
    os.environ["SET_FIRST"] = value


def read_variable(name: str) -> str | None:
    return os.environ.get(name)


def wait_until(reached: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.05)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "zombie" not in Path(f"/proc/{pid}/status").read_text()


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_the_workers_of_a_killed_process_end(tmp_path: Path, end: signal.Signals) -> None:
    folder = tmp_path / "pids"
    folder.mkdir()
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM.format(tests=str(Path(__file__).parent), folder=str(folder)))
    with subprocess.Popen([sys.executable, str(program)]) as process:
        wait_until(lambda: len(list(folder.iterdir())) == 2)
        process.send_signal(end)
    pids = [int(path.name) for path in folder.iterdir()]
    wait_until(lambda: not any(map(is_alive, pids)))


def test_the_initializer_of_a_pool_runs_in_each_process() -> None:
    with process_pool(1, initializer=set_variable, initargs=("yes",)) as pool:
        assert pool.submit(read_variable, "SET_FIRST").result() == "yes"
    assert read_variable("SET_FIRST") is None
