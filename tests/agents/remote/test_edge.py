"""Callers that wait: in a forked process, and until they are interrupted."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier, Event
from types import FrameType

import pytest

from palaestra.agents.remote.edge import run_in_thread

FORKS = """
import asyncio, os
from palaestra.agents.remote.edge import run_in_thread

async def name():
    await asyncio.sleep(0)
    return os.getpid()

assert run_in_thread(name()) == os.getpid()
child = os.fork()
if not child:
    os._exit(0 if run_in_thread(name()) == os.getpid() else 1)
assert os.waitpid(child, 0)[1] == 0
assert run_in_thread(name()) == os.getpid()
print("fine")
"""


async def failing() -> None:
    raise ZeroDivisionError


def test_what_the_work_raises_the_caller_sees() -> None:
    with pytest.raises(ZeroDivisionError):
        run_in_thread(failing())


def test_a_forked_process_waits_on_a_loop_of_its_own() -> None:
    done = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout == "fine\n", done.stderr


@contextmanager
def interrupted_when(ready: Event) -> Generator[None]:
    """Has the waiting thread interrupted, as by a key, once `ready` is set."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        del number, frame
        if ready.is_set():
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_caller_that_is_interrupted_leaves_no_work_behind() -> None:
    begun, ended = Event(), Event()

    async def endless() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with pytest.raises(KeyboardInterrupt), interrupted_when(begun):
        run_in_thread(endless())
    assert ended.wait(timeout=30)


async def running() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


def test_threads_that_wait_first_at_once_share_one_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    make, start = asyncio.new_event_loop, Barrier(8)

    def make_slowly() -> asyncio.AbstractEventLoop:
        for _ in range(2000):
            os.sched_yield()
        return make()

    def ask(_: int) -> asyncio.AbstractEventLoop:
        start.wait()
        return run_in_thread(running())

    monkeypatch.setattr(asyncio, "new_event_loop", make_slowly)
    monkeypatch.setattr(os, "getpid", lambda: -1)  # a process that has no loop yet
    with ThreadPoolExecutor(8) as threads:
        assert len({*threads.map(ask, range(8))}) == 1
