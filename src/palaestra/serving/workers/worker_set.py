"""The workers of a server: start, count, replace and end them."""

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
"""Seconds before another attempt, if a worker failed to start."""


class WorkerSet:
    """Workers by number; a number has one worker, or none while the next is starting.

    Args:
        count: The number of workers.
        settings: Returns the settings of the worker with a name.
        launcher: Starts the workers.
        timeouts: Seconds after which a worker counts as hanging.
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
        """The workers that take requests."""
        return iter([worker for worker in self._workers if worker is not None])

    async def start(self) -> None:
        """Start all workers and wait for them.

        Raises:
            InfrastructureError: a worker does not start.
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
        """Record the episodes of a worker that has ended, and replace it.

        Nobody has seen what it did after its latest answer, so its account ends there.
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
            except InfrastructureError:  # there is no room for a worker now
                _LOG.exception("worker cannot be started", extra={"worker": str(number)})
                self._failures[number] += 1

    def find(self, name: WorkerName) -> SessionWorker | None:
        """The worker with a name; `None` if there never was one.

        Raises:
            SessionLostError: the worker has ended.
        """
        number, generation = name.number, name.generation
        if number >= len(self._workers) or generation > self._generations[number]:
            return None
        worker = self._workers[number]
        if worker is None or worker.name != name:
            raise SessionLostError(f"worker {name} has ended")
        return worker

    def choose(self, planned: Counter[WorkerName] | None = None) -> SessionWorker:
        """The worker with the fewest sessions; workers that have started come first.

        Args:
            planned: Sessions that are about to be created.

        Raises:
            LimitError: all workers have ended, and their replacements are not ready yet.
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
        """The counts of all workers and the account of episodes, including workers that have ended."""
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
        """Make each worker close its sessions and end; afterwards no worker is left."""
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
    """Run a coroutine in the background and hold its task, which might vanish otherwise."""
    task = asyncio.create_task(run)
    tasks.add(task)
    task.add_done_callback(tasks.discard)
