"""A worker process, seen from the server: it is asked, watched, and ended when it hangs."""

import asyncio
import logging
import pickle
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from palaestra.child_process import ChildProcess, describe_exit
from palaestra.errors import InfrastructureError
from palaestra.record import record
from palaestra.serving.core import SessionCounts
from palaestra.serving.workers.frames import LENGTH, Header, read_counts, read_frame, write_frame
from palaestra.serving.workers.worker_host import GRACE, WorkerSettings

_LOG = logging.getLogger("palaestra.serving")
_NOTHING = SessionCounts(sessions=0, snapshots=0, begun=0, running=0, outcomes={})


class WorkerLostError(InfrastructureError):
    """The worker process ended before it answered."""


@record
class WorkerTimeouts:
    """Seconds after which a worker counts as hanging; it is ended and replaced."""

    start: float = 120.0
    request: float = 60.0
    """For a request, counted from when it is the first in line."""
    item: float = 1.0
    """More for each item of a request."""
    stop: float = 10.0
    """For closing all sessions when the server stops."""


@record
class WorkerReply:
    """What a worker has answered."""

    header: Header
    body: bytes


@dataclass(slots=True)
class _Call:
    what: str
    seconds: float
    growth: Mapping[str, int]
    answer: asyncio.Future[WorkerReply]


class SessionWorker:
    """A worker; it belongs to one event loop. `start` makes one.

    Args:
        settings: What it is told.
        process: The process.
        on_end: Is called once when it can do nothing more, before its calls fail.

    Attributes:
        name: Which worker it is.
        counts: What it held when it answered last.
        is_ready: Whether it has started.
        lost: Why it can do nothing more, if it cannot.
        growth: How many "sessions" and "snapshots" the calls that wait may add.
    """

    def __init__(
        self,
        settings: WorkerSettings,
        process: ChildProcess,
        on_end: Callable[["SessionWorker"], None],
    ) -> None:
        self.name = settings.name
        self.counts = _NOTHING
        self.is_ready = False
        self.lost: str | None = None
        self.growth: Counter[str] = Counter()
        self._process = process
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._alarm: asyncio.TimerHandle | None = None
        self._calls: deque[_Call] = deque()
        self._is_closing = False
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def start(
        cls, settings: WorkerSettings, *, seconds: float, on_end: Callable[["SessionWorker"], None]
    ) -> "SessionWorker":
        """A new process. `ready` waits until it can hold sessions; calls before wait in line.

        Args:
            settings: What it is told.
            seconds: What starting may take.
            on_end: Is called once when it can do nothing more.

        Raises:
            InfrastructureError: no process can be started.
        """
        process = await ChildProcess.start("palaestra.serving.workers.worker_host:serve_sessions", prints=False)
        worker = cls(settings, process, on_end)
        first = pickle.dumps(settings)
        worker._send("start", len(first).to_bytes(LENGTH) + first, seconds=seconds, growth={})
        return worker

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    async def ready(self) -> None:
        """Wait until it has started.

        Raises:
            WorkerLostError: it has ended before.
        """
        while not self.is_ready:
            if self.lost is not None:
                raise WorkerLostError(f"worker {self.name}: {self.lost}")
            await asyncio.wait([self._calls[0].answer])

    def ask(
        self, header: Header, body: bytes = b"", *, seconds: float, growth: Mapping[str, int] | None = None
    ) -> asyncio.Future[WorkerReply]:
        """Ask for something.

        Args:
            header: What to do, under "do".
            body: What belongs to it.
            seconds: What it may take.
            growth: How many "sessions" and "snapshots" it may add.

        Returns:
            The answer to come, or one of these errors: `WorkerLostError` where the process ends before, and
            `InfrastructureError` where it could not do it.
        """
        return self._send(str(header["do"]), write_frame(header, body), seconds=seconds, growth=growth or {})

    def _send(
        self, what: str, frame: bytes, *, seconds: float, growth: Mapping[str, int]
    ) -> asyncio.Future[WorkerReply]:
        answer: asyncio.Future[WorkerReply] = self._loop.create_future()
        if self.lost is not None:
            answer.set_exception(WorkerLostError(f"worker {self.name}: {self.lost}"))
            return answer
        self._calls.append(_Call(what=what, seconds=seconds, growth=growth, answer=answer))
        self.growth.update(growth)
        if len(self._calls) == 1:
            self._watch()
        self._process.writer.write(frame)
        return answer

    def _watch(self) -> None:
        """Time the call that is first in line: a worker does one after the other."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if self._calls:
            first = self._calls[0]
            self._alarm = self._loop.call_later(
                first.seconds, self._fail, f"hung for {first.seconds:g} s ({first.what})"
            )

    async def _listen(self) -> None:
        """Pass answers on until there are no more, and see to the end of the process."""
        reason = "it ended"
        try:
            while True:
                length = int.from_bytes(await self._process.reader.readexactly(LENGTH))
                self._take(*read_frame(await self._process.reader.readexactly(length)))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        except Exception:
            _LOG.exception("worker answered nonsense", extra={"worker": str(self.name)})
            reason = "it answered nonsense"
        self._fail(reason)
        code = await self._process.reap(2 * GRACE)
        if not self._is_closing:
            _LOG.warning("worker ended", extra={"worker": str(self.name), "reason": describe_exit(code)})
        self._process.writer.close()

    def _take(self, header: Header, body: bytes) -> None:
        if self.lost is not None:  # its sessions are given up, and what it still says would count twice
            return
        self.is_ready = True
        self.counts = read_counts(header["counts"])
        call = self._calls.popleft()
        self.growth.subtract(call.growth)
        self._watch()
        if call.answer.done():  # nobody waits any more
            return
        if "failed" in header:
            call.answer.set_exception(InfrastructureError(f"worker {self.name} failed ({call.what}); its log says why"))
        else:
            call.answer.set_result(WorkerReply(header=header, body=body))

    def _fail(self, reason: str) -> None:
        """Give the worker up, end its process, and have all calls fail. The first reason stays."""
        if self.lost is not None:
            return
        self.lost = reason
        if not self._is_closing:
            _LOG.warning("worker lost", extra={"worker": str(self.name), "reason": reason})
            self._process.kill()
        calls, self._calls = self._calls, deque()
        self.growth.clear()
        self._watch()
        self._on_end(self)
        for call in calls:
            if not call.answer.done():
                call.answer.set_exception(WorkerLostError(f"worker {self.name}: {reason}"))
                call.answer.exception()  # whoever asked may have gone

    async def close(self) -> None:
        """Let it end, and wait until nothing of it is left."""
        self._is_closing = True
        self._process.writer.transport.abort()  # whatever was not sent yet is not waited for
        await self.wait()

    async def wait(self) -> None:
        """Wait until nothing of it is left."""
        await self._listening
