"""A worker, seen from the server, which sends it requests, watches it, and ends it if it hangs."""

import asyncio
import logging
import pickle
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from palaestra.errors import InfrastructureError
from palaestra.record import record
from palaestra.serving.core import SessionCounts
from palaestra.serving.workers.frames import Header, read_counts, read_frame, write_frame
from palaestra.serving.workers.worker_host import WorkerSettings
from palaestra.serving.workers.worker_link import WorkerLauncher, WorkerLink

_LOG = logging.getLogger("palaestra.serving")
_NOTHING = SessionCounts(sessions=0, snapshots=0, begun=0, running=0, outcomes={})


class WorkerLostError(InfrastructureError):
    """The worker ended before it answered."""


@record
class WorkerTimeouts:
    """Seconds after which a worker counts as hanging; it is ended and replaced."""

    start: float = 120.0
    request: float = 60.0
    """For a request, counted from when it is the first in line."""
    item: float = 1.0
    """Additional seconds for each item of a request."""
    stop: float = 10.0
    """For closing all sessions when the server stops."""


@record
class WorkerReply:
    """A worker's answer."""

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
        settings: Its settings.
        link: The link to it.
        on_end: Called once when the worker is lost, before its calls fail.

    Attributes:
        name: The worker's name.
        counts: Its counts at its last answer.
        pid: Its process id on its machine, once it has started.
        lost: Why the worker is lost, if it is.
        growth: How many "sessions" and "snapshots" the waiting calls may add.
    """

    def __init__(
        self,
        settings: WorkerSettings,
        link: WorkerLink,
        on_end: Callable[["SessionWorker"], None],
    ) -> None:
        self.name = settings.name
        self.counts = _NOTHING
        self.pid: int | None = None
        self.lost: str | None = None
        self.growth: Counter[str] = Counter()
        self._link = link
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._alarm: asyncio.TimerHandle | None = None
        self._calls: deque[_Call] = deque()
        self._is_closing = False
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def start(
        cls,
        settings: WorkerSettings,
        launcher: WorkerLauncher,
        *,
        seconds: float,
        on_end: Callable[["SessionWorker"], None],
    ) -> "SessionWorker":
        """A new worker. `ready` waits until it can hold sessions; earlier calls wait in line.

        Args:
            settings: Its settings.
            launcher: Starts the worker.
            seconds: Maximum seconds to start.
            on_end: Called once when the worker is lost.

        Raises:
            InfrastructureError: no worker can be started.
        """
        worker = cls(settings, await launcher.start(), on_end)
        worker._send(launcher.start_delay, pickle.dumps(settings), seconds=seconds, growth={})
        return worker

    @property
    def is_ready(self) -> bool:
        """Whether it has started."""
        return self.pid is not None

    async def ready(self) -> None:
        """Wait until it has started.

        Raises:
            WorkerLostError: it ended before that.
        """
        while not self.is_ready:
            if self.lost is not None:
                raise WorkerLostError(f"worker {self.name}: {self.lost}")
            await asyncio.wait([self._calls[0].answer])

    def ask(
        self, header: Header, body: bytes = b"", *, seconds: float, growth: Mapping[str, int] | None = None
    ) -> asyncio.Future[WorkerReply]:
        """Send a request.

        Args:
            header: The header, with the operation under "do".
            body: The body.
            seconds: Maximum seconds for the answer.
            growth: How many "sessions" and "snapshots" the request may add.

        Returns:
            A future of the answer. It fails with `WorkerLostError` if the worker ends first, and with
            `InfrastructureError` if the worker could not do it.
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
        self._link.send(frame)
        return answer

    def _watch(self) -> None:
        """Time the call that is first in line: a worker runs one after another."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if self._calls:
            first = self._calls[0]
            self._alarm = self._loop.call_later(
                first.seconds, self._fail, f"hung for {first.seconds:g} s ({first.what})"
            )

    async def _listen(self) -> None:
        """Pass answers on until there are no more, then handle the end of the worker."""
        reason = "it ended"
        try:
            while (frame := await self._link.receive()) is not None:
                self._take(*read_frame(frame))
        except Exception:
            _LOG.exception("worker answered nonsense", extra={"worker": str(self.name)})
            reason = "it answered nonsense"
        self._fail(reason)
        end = await self._link.reap()
        if not self._is_closing:
            _LOG.warning("worker ended", extra={"worker": str(self.name), "reason": end})

    def _take(self, header: Header, body: bytes) -> None:
        if self.lost is not None:  # its sessions are given up, and further answers would count twice
            return
        self.pid = header.get("pid", self.pid)
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
        """Give the worker up, end it, and fail all calls. The first reason is kept."""
        if self.lost is not None:
            return
        self.lost = reason
        if not self._is_closing:
            _LOG.warning("worker lost", extra={"worker": str(self.name), "reason": reason})
            self._link.kill()
        calls, self._calls = self._calls, deque()
        self.growth.clear()
        self._watch()
        self._on_end(self)
        for call in calls:
            if not call.answer.done():
                call.answer.set_exception(WorkerLostError(f"worker {self.name}: {reason}"))
                call.answer.exception()  # the caller may have gone

    async def close(self) -> None:
        """End the worker and wait until it is gone."""
        self._is_closing = True
        self._link.release()
        await self.wait()

    async def wait(self) -> None:
        """Wait until the worker is gone."""
        await self._listening
