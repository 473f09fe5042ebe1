"""Processes come and go with whoever plays in them."""

import asyncio
import os
import select
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from palaestra.child_process import ChildProcess
from palaestra.errors import InfrastructureError
from palaestra.trainers.rollouts.worlds import ProcessWorlds
from rollouts.faulty import faulty
from rollouts.library import library, tasks


def pids(worlds: ProcessWorlds) -> list[int]:
    return [process(worker).pid for worker in worlds._workers]


def process(worker: Any) -> ChildProcess:
    found: ChildProcess = worker._process
    return found


@contextmanager
def watched(pid: int) -> Generator[int]:
    """Something to wait for the end of a process by, whoever's child it is."""
    descriptor = os.pidfd_open(pid)
    yield descriptor
    os.close(descriptor)


def gone(descriptor: int, *, within: float) -> bool:
    return bool(select.select([descriptor], [], [], within)[0])


# Ends


@pytest.mark.parametrize("deed", ["> hello", "!hang"])
def test_closing_leaves_no_process_behind(runner: asyncio.Runner, deed: str) -> None:
    async def main() -> None:
        worlds = ProcessWorlds(faulty(), workers=2)
        first, second = await worlds.open(), await worlds.open()
        with watched(pids(worlds)[0]) as one, watched(pids(worlds)[1]) as other:
            await first.reset(tasks()[0], 0)
            await second.reset(tasks()[0], 0)
            step = asyncio.ensure_future(first.step(deed))
            await asyncio.sleep(0)
            assert not gone(one, within=0)
            assert not gone(other, within=0)
            await worlds.close()
            assert gone(one, within=0)
            assert gone(other, within=0)
        with pytest.raises(InfrastructureError, match="these worlds were closed"):
            await step

    runner.run(main())


def test_a_process_that_is_let_go_ends_by_itself_even_with_answers_unread(runner: asyncio.Runner) -> None:
    async def main() -> None:
        worlds = ProcessWorlds(faulty(), workers=1)
        world = await worlds.open()
        (worker,) = worlds._workers
        await world.reset(tasks()[0], 0)
        step = asyncio.ensure_future(world.step("!dawdle"))
        await asyncio.sleep(0)
        await worlds.close()
        with pytest.raises(InfrastructureError):
            await step
        assert await process(worker).reap(0) == 0

    runner.run(main())


PARENT = """
import asyncio, os, sys
from palaestra.trainers.rollouts.worlds import ProcessWorlds
from rollouts.faulty import faulty
from rollouts.library import tasks

async def main():
    worlds = ProcessWorlds(faulty(), workers=2)
    hanging, idle = await worlds.open(), await worlds.open()
    await hanging.reset(tasks()[0], 0)
    step = asyncio.create_task(hanging.step("!hang"))
    await asyncio.sleep(0)
    print(*(worker._process.pid for worker in worlds._workers), flush=True)
    await step

asyncio.run(main())
"""


def test_processes_end_when_their_parent_is_killed_even_those_that_hang() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, env=environment) as parent:
        assert parent.stdout is not None
        one, other = map(int, parent.stdout.readline().split())
        with watched(one) as hanging, watched(other) as idle:
            assert not gone(hanging, within=0)
            assert not gone(idle, within=0)
            parent.kill()
            assert gone(idle, within=30)
            assert gone(hanging, within=30)


# What they share with their parent, and what they do not


def test_an_interrupt_is_the_parents_business(runner: asyncio.Runner) -> None:
    async def main() -> None:
        worlds = ProcessWorlds(library(), workers=1)
        world = await worlds.open()
        os.kill(pids(worlds)[0], signal.SIGINT)
        assert (await world.reset(tasks()[0], 0)).messages
        await worlds.close()

    runner.run(main())


def test_there_are_as_many_processes_as_cores_unless_told_otherwise() -> None:
    assert ProcessWorlds(library())._limit == os.cpu_count()


def test_where_no_process_can_be_started_no_world_can_be_had(
    runner: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        worlds = ProcessWorlds(library())
        with pytest.raises(InfrastructureError, match=r"no worker process can be started: .*/no/such/python"):
            await worlds.open()
        await worlds.close()

    monkeypatch.setattr(sys, "executable", "/no/such/python")
    runner.run(main())
