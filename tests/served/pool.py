"""Whatever runs session cores, asked in JSON: the thread, or workers that a test may stop and kill."""

import asyncio
import os
import signal
from collections.abc import Coroutine, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import orjson

from palaestra.serving.access import Caller
from palaestra.serving.core import OPERATIONS, ItemReader, ServedWorld, SessionCounts, SessionLimits
from palaestra.serving.http import make_server
from palaestra.serving.workers import CoreRunner, WorkerPool, WorkerTimeouts
from palaestra.serving.workers.session_worker import SessionWorker
from served import LIBRARY, PAID
from served.waiting import wait_until
from worlds.registration import register

R = TypeVar("R")


class RunnerUnderTest:
    """A core runner with an event loop of its own, which runs while a test waits for it.

    Args:
        workers: How many; 0 for the thread.
        ray: Where they are actors: Ray's address.
        timeouts: After how long a worker counts as hanging.
        worlds: What is served.
        key_file: Holds the secret of task handles; without it they differ from those of other runners.
        limits: How much is held at once.
    """

    def __init__(
        self,
        workers: int,
        *,
        ray: str | None = None,
        timeouts: WorkerTimeouts | None = None,
        worlds: tuple[ServedWorld, ...] = (LIBRARY, PAID),
        key_file: Path | None = None,
        **limits: Any,
    ) -> None:
        register()
        kept = SessionLimits(**limits)
        server = make_server(worlds, key_file=key_file, sessions=kept, workers=workers, ray=ray, timeouts=timeouts)
        self.runner: CoreRunner = server.runner
        self.reader: ItemReader = server.reader
        self._loop = asyncio.Runner()
        try:
            self.wait(self.runner.start())
        except BaseException:
            self._loop.close()
            raise

    def wait(self, done: Coroutine[Any, Any, R]) -> R:
        """Run the loop until something is done; a test fails where that takes a minute."""

        async def bound() -> R:
            async with asyncio.timeout(60):
                return await done

        return self._loop.run(bound())

    async def ask_later(self, who: Caller, name: str, *items: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The results of a batch."""
        answer = await self.runner.run(who, self.reader.read(OPERATIONS[name], orjson.dumps({"items": items})))
        results: list[dict[str, Any]] = orjson.loads(answer.body)["results"]
        codes = [result["error"]["code"] for result in results if "error" in result]
        assert answer.errors == {code: codes.count(code) for code in codes}
        return results

    def send(self, who: Caller, name: str, *items: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The results of a batch."""
        return self.wait(self.ask_later(who, name, *items))

    def begin(self, who: Caller, count: int) -> list[str]:
        """Sessions with an episode each."""
        made = self.send(who, "create", *[{"world": "library"}] * count)
        ids = [str(result["ok"]["session"]) for result in made]
        for result in self.send(who, "reset", *({"session": id_, "seed": 0} for id_ in ids)):
            assert "ok" in result, result
        return ids

    def counts(self) -> SessionCounts:
        """What is held; the account of episodes adds up."""
        found = self.wait(self.runner.counts())
        assert found.begun == found.running + sum(found.outcomes.values())
        return found

    # Of workers

    @property
    def workers(self) -> list[SessionWorker]:
        """Those that can be asked."""
        assert isinstance(self.runner, WorkerPool)
        return list(self.runner.workers)

    def pids(self) -> list[int]:
        """The processes of those that have started."""
        return [worker.pid for worker in self.workers if worker.pid is not None]

    def wait_until_ready(self, count: int) -> None:
        """Wait until as many workers have started."""

        async def wait() -> None:
            while sum(worker.is_ready for worker in self.workers) < count:
                await asyncio.sleep(0.01)

        self.wait(wait())

    def close(self) -> None:
        """Stop, and end the loop."""
        self.wait(self.runner.stop())
        self._loop.close()


@contextmanager
def run_cores(workers: int, **settings: Any) -> Generator[RunnerUnderTest]:
    """A runner that is stopped when the block is left; no process is left then."""
    others = find_workers(os.getpid())
    cores = RunnerUnderTest(workers, **settings)
    pids = cores.pids() if workers else []
    try:
        yield cores
    finally:
        pids += cores.pids() if workers else []
        cores.close()
        if settings.get("ray") is None:  # while actors play, others may start processes
            assert set(find_workers(os.getpid())) <= set(others)
        wait_until(lambda: not any(map(is_running, pids)))  # Ray says that an actor has ended a little before it has


def is_running(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not collected yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def find_workers(server: int) -> list[int]:
    """The worker processes of a server's process, by number."""
    found: list[int] = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                is_worker = parent == server and b"serve_sessions" in (folder / "cmdline").read_bytes()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if is_worker:
                found.append(int(folder.name))
    return sorted(found)


def kill(pid: int) -> None:
    """End a process at once."""
    os.kill(pid, signal.SIGKILL)
