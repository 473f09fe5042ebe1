"""A worker process of any kind: here one in ten lines, which does as it is told."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from engines.bench import until
from engines.processes import group
from palaestra.errors import EngineError
from palaestra.trainers.engines.worker_process import WorkerProcess

WORKER = """
import json, os, signal, socket, subprocess, sys, time
line = socket.socket(fileno=int(sys.argv[-1])).makefile("rwb")
read = lambda: json.loads(line.read(int.from_bytes(line.read(4), "big")))
def send(**message):
    body = json.dumps(message).encode()
    line.write(len(body).to_bytes(4, "big") + body)
    line.flush()
exec(read()["begin"])
while (message := read())["do"] != "stop":
    exec(message["with"]["run"] if message["do"] == "run" else f"send(aborted=message['id'], id=-1, counts=message)")
"""
READY = "send(ready={'capacity': 7})"


def alone(test: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(60):
            await test

    asyncio.run(bounded())


@asynccontextmanager
async def worker(
    begin: str = READY, *, timeout: float = 60.0, heard: list[dict[str, Any]] | None = None
) -> AsyncGenerator[WorkerProcess]:
    heard = [] if heard is None else heard
    process = await WorkerProcess.spawn(
        (sys.executable, "-c", WORKER), os.environ, name="the worker", hear=heard.append
    )
    try:
        assert await process.begin({"begin": begin}, timeout=timeout) == {"capacity": 7}
        yield process
    finally:
        await process.kill()


def run(
    process: WorkerProcess, code: str, *, silence: float = 60.0, held: Callable[[], bool] = lambda: False
) -> Coroutine[Any, Any, dict[str, Any]]:
    return process.ask("run", {"run": code}, silence=silence, held=held)


def test_answers_come_to_who_asked_in_whatever_order() -> None:
    async def test() -> None:
        async with worker() as process:
            late = asyncio.ensure_future(run(process, "late = message['id']"))
            soon = await run(process, "send(id=message['id'], said='soon')")
            await run(process, "send(id=late, said='late'); send(id=message['id'])")
            assert (soon["said"], (await late)["said"]) == ("soon", "late")

    alone(test())


def test_what_goes_wrong_in_the_worker_is_an_error_that_quotes_it() -> None:
    async def test() -> None:
        async with worker() as process:
            with pytest.raises(EngineError, match="could not run: no such thing"):
                await run(process, "send(id=message['id'], error='no such thing')")
            assert process.alive

    alone(test())


@pytest.mark.parametrize(
    ("begin", "says"),
    [
        ("print('the cause', file=sys.stderr); sys.exit(3)", r"ended with status 3.*\nthe cause"),
        ("print('x' * 100_000 + 'the cause'); sys.exit(3)", "the cause$"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "killed by SIGSEGV"),
        ("line.write(bytes(3)); sys.exit(0)", "ended with status 0"),
    ],
)
def test_a_worker_that_does_not_begin_says_why(begin: str, says: str) -> None:
    async def test() -> None:
        with pytest.raises(EngineError, match=rf"(?s){says}"):
            async with worker(begin):
                pass

    alone(test())


def test_a_worker_that_is_not_ready_in_time_is_killed() -> None:
    async def test() -> None:
        with pytest.raises(EngineError, match=r"not ready within 3 s(?s:.*)\nstill loading"):
            async with worker("print('still loading', flush=True); time.sleep(1000)", timeout=3):
                pass

    alone(test())


def test_a_python_that_is_not_there_is_named() -> None:
    async def test() -> None:
        with pytest.raises(EngineError, match="/no/such/python cannot be run"):
            await WorkerProcess.spawn(("/no/such/python",), os.environ, name="the worker")

    alone(test())


def test_whoever_waits_for_a_worker_that_is_killed_hears_of_it_at_once() -> None:
    async def test() -> None:
        async with worker() as process:
            waiting = [asyncio.ensure_future(run(process, "pass")) for _ in range(3)]
            await run(process, "print('at work', flush=True); send(id=message['id'])")
            os.kill(process.pid, signal.SIGKILL)
            for turn in waiting:
                with pytest.raises(EngineError, match=r"killed by SIGKILL(?s:.*)at work"):
                    await turn
            assert not process.alive
            with pytest.raises(EngineError, match="killed by SIGKILL"):
                await run(process, "pass")

    alone(test())


@pytest.mark.parametrize("end", ["kill", "stop", "crash"])
def test_what_the_worker_started_goes_with_it(end: str) -> None:
    async def test() -> None:
        async with worker() as process:
            await run(process, "subprocess.Popen(['sleep', '1000']); send(id=message['id'])")
            if end == "crash":
                with pytest.raises(EngineError, match="ended with status 5"):
                    await run(process, "sys.exit(5)")
            else:
                await getattr(process, end)()
            await until(lambda: not group(process.pid))

    alone(test())


def test_a_worker_that_dies_is_missed_though_what_it_started_holds_the_line() -> None:
    async def test() -> None:
        async with worker() as process:
            with pytest.raises(EngineError, match="killed by SIGKILL"):
                await run(process, "os.fork() and os.kill(os.getpid(), signal.SIGKILL); time.sleep(1000)")
            await until(lambda: not group(process.pid))  # a signal takes a moment to be followed

    alone(test())


def test_stopping_fails_what_was_asked_before_the_worker_ends() -> None:
    async def test() -> None:
        async with worker() as process:
            waiting = asyncio.ensure_future(run(process, "pass"))
            await run(process, "send(id=message['id'])")
            await process.stop()
            with pytest.raises(EngineError, match="closed"):
                await waiting

    alone(test())


def test_a_worker_that_falls_silent_is_killed_unless_it_was_told_to() -> None:
    async def test() -> None:
        async with worker() as process:
            held = True
            waiting = asyncio.ensure_future(run(process, "pass", silence=0.05, held=lambda: held))
            assert not (await asyncio.wait((waiting,), timeout=0.2))[0]
            held = False
            with pytest.raises(EngineError, match=r"said nothing for 0\.05 s, asked to run"):
                await waiting

    alone(test())


def test_a_worker_that_speaks_of_other_things_is_not_silent() -> None:
    async def test() -> None:
        async with worker() as process:
            code = "for n in range(20): time.sleep(0.02); send(counts={'n': n})\nsend(id=message['id'])"
            await run(process, code, silence=0.2)
            assert process.counts == {"n": 19}

    alone(test())


def test_what_it_tells_unasked_is_heard_in_order_with_its_answers() -> None:
    async def test() -> None:
        heard: list[dict[str, Any]] = []
        async with worker(heard=heard) as process:
            process.tell("run", {"run": "send(line=1); send(line=2)"})
            await run(process, "send(line=3); send(id=message['id']); send(line=4)")
            assert heard[:3] == [{"line": 1}, {"line": 2}, {"line": 3}]
            assert process.busy == 0
        process.tell("run", {"run": "pass"})  # it has ended: nothing is to be done

    alone(test())


def test_cancelling_a_question_has_the_worker_drop_it() -> None:
    async def test() -> None:
        async with worker() as process:
            dropped = asyncio.ensure_future(run(process, "pass"))
            await until(lambda: process.busy > 0)
            dropped.cancel()
            await until(lambda: process.counts.get("do") == "abort")
            assert process.counts["id"] == 0
            assert process.busy == 0

    alone(test())


def test_drained_comes_back_when_all_is_answered() -> None:
    async def test() -> None:
        async with worker() as process:
            await process.drained()
            first = asyncio.ensure_future(run(process, "first = message['id']"))
            drained = asyncio.ensure_future(_drained(process))
            await run(process, "send(id=message['id'])")
            assert not drained.done()
            await run(process, "send(id=first); send(id=message['id'])")
            await drained
            assert first.done()

    async def _drained(process: WorkerProcess) -> None:
        await until(lambda: process.busy > 0)
        await process.drained()

    alone(test())


def test_drained_does_not_wait_for_what_was_given_up() -> None:
    async def test() -> None:
        async with worker() as process:
            given_up = asyncio.ensure_future(run(process, "pass"))
            await until(lambda: process.busy > 0)
            drained = asyncio.ensure_future(process.drained())
            await asyncio.sleep(0)  # it waits from now on
            given_up.cancel()
            await asyncio.wait_for(drained, 10)

    alone(test())
