"""The workers of a server: started, counted, replaced when one is lost, and ended."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from typing import Any

from palaestra.errors import InfrastructureError, LimitError, SessionLostError
from palaestra.serving.core import LedgerOutcome, SessionCounts
from palaestra.serving.workers.session_worker import SessionWorker, WorkerTimeouts
from palaestra.serving.workers.worker_host import WorkerSettings
from palaestra.serving.workers.worker_link import WorkerLauncher
from palaestra.serving.workers.worker_name import WorkerName

_LOG = logging.getLogger("palaestra.serving")
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0
"""Seconds before a worker is started again that did not even start."""


class WorkerSet:
    """Workers by number; each number has one worker, or none while the next is being started.

    Args:
        count: How many there are.
        settings: What a worker of a name is told.
        launcher: Starts them.
        timeouts: How long a worker may take.
    """

    def __init__(
        self,
        count: int,
        settings: Callable[[WorkerName], WorkerSettings],
        *,
        launcher: WorkerLauncher,
        timeouts: WorkerTimeouts,
    ) -> None:
        self._settings = settings
        self._launcher = launcher
        self._timeouts = timeouts
        self._workers: list[SessionWorker | None] = [None] * count
        self._generations = [0] * count
        self._failures = [0] * count
        self._begun = 0
        self._outcomes: Counter[LedgerOutcome] = Counter()
        self._starts: set[asyncio.Task[None]] = set()
        self._ends: set[asyncio.Task[None]] = set()
        self._is_stopping = False

    def __iter__(self) -> Iterator[SessionWorker]:
        """Those that can be asked."""
        return iter([worker for worker in self._workers if worker is not None])

    async def start(self) -> None:
        """Start all and wait for them.

        Raises:
            InfrastructureError: one does not start.
        """
        try:
            await self._launcher.open()
            await asyncio.gather(*(self._start(number) for number in range(len(self._workers))))
            await asyncio.gather(*(worker.ready() for worker in self))
        except InfrastructureError:
            await self.stop()
            raise

    async def _start(self, number: int) -> None:
        self._generations[number] += 1
        name = WorkerName(number=number, generation=self._generations[number])
        self._workers[number] = await SessionWorker.start(
            self._settings(name), self._launcher, seconds=self._timeouts.start, on_end=self._take_leave
        )

    def _take_leave(self, worker: SessionWorker) -> None:
        """Enter the episodes of a worker that has ended, and have another take its place.

        What it has not answered nobody has seen, so the account ends with its latest answer.
        """
        number, counts = worker.name.number, worker.counts
        self._begun += counts.begun
        self._outcomes.update(counts.outcomes)
        self._outcomes[LedgerOutcome.LOST] += counts.running
        self._workers[number] = None
        _keep(self._ends, worker.wait())
        if not self._is_stopping:
            self._failures[number] = 0 if worker.is_ready else self._failures[number] + 1
            _keep(self._starts, self._start_again(number))

    async def _start_again(self, number: int) -> None:
        while True:
            if failures := self._failures[number]:
                await asyncio.sleep(min(_FIRST_WAIT * 2 ** (failures - 1), _LONGEST_WAIT))
            try:
                return await self._start(number)
            except InfrastructureError:  # there is no room for one now
                _LOG.exception("worker cannot be started", extra={"worker": str(number)})
                self._failures[number] += 1

    def find(self, name: WorkerName) -> SessionWorker | None:
        """The worker of a name; `None` where there never was one.

        Raises:
            SessionLostError: it has ended.
        """
        number, generation = name.number, name.generation
        if number >= len(self._workers) or generation > self._generations[number]:
            return None
        worker = self._workers[number]
        if worker is None or worker.name != name:
            raise SessionLostError(f"worker {name} has ended")
        return worker

    def choose(self, planned: Counter[WorkerName] | None = None) -> SessionWorker:
        """The worker with the fewest sessions; one that has started before one that has not.

        Args:
            planned: Sessions that are about to be created.

        Raises:
            LimitError: all have ended, and the next ones are not there yet.
        """
        added = Counter[WorkerName]() if planned is None else planned
        found = min(
            self,
            key=lambda one: (not one.is_ready, one.counts.sessions + one.growth["sessions"] + added[one.name]),
            default=None,
        )
        if found is None:
            raise LimitError("the workers of the server are being started; try again", 1.0)
        return found

    def counts(self) -> SessionCounts:
        """What all hold, and the account of episodes, those of workers that have ended included."""
        known = [worker.counts for worker in self]
        outcomes = self._outcomes.copy()
        for one in known:
            outcomes.update(one.outcomes)
        return SessionCounts(
            sessions=sum(one.sessions for one in known),
            snapshots=sum(one.snapshots for one in known),
            begun=self._begun + sum(one.begun for one in known),
            running=sum(one.running for one in known),
            outcomes={outcome: outcomes[outcome] for outcome in LedgerOutcome},
        )

    async def stop(self) -> None:
        """Have each close its sessions and end; when it returns, no worker is left."""
        self._is_stopping = True
        for task in list(self._starts):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await asyncio.gather(*map(self._stop, self))
        await asyncio.gather(*self._ends)
        await self._launcher.close()

    async def _stop(self, worker: SessionWorker) -> None:
        with suppress(InfrastructureError, TimeoutError):
            async with asyncio.timeout(self._timeouts.stop):
                await worker.ask({"do": "stop"}, seconds=self._timeouts.stop)
        await worker.close()


def _keep(tasks: set[asyncio.Task[None]], run: Coroutine[Any, Any, None]) -> None:
    """Run something beside everything else; a task that nobody holds may vanish."""
    task = asyncio.create_task(run)
    tasks.add(task)
    task.add_done_callback(tasks.discard)
