"""One replica as its engine sees it: its process, and the process that replaces it when it dies."""

import asyncio
import os
from collections.abc import Callable, Mapping
from typing import Literal

from palaestra.child_process import child_command
from palaestra.errors import EngineError
from palaestra.trainers.engines.engine import Completion, TurnRequest
from palaestra.trainers.engines.replicas.config import ReplicasConfig
from palaestra.trainers.engines.replicas.messages import raise_error, read_completion, write_request
from palaestra.trainers.engines.worker_process import WorkerMessage, WorkerProcess

_PROGRAM = "palaestra.trainers.engines.replicas.worker:serve"
_COUNTS = ("drawn", "prefilled", "reused", "busy_seconds", "processor_seconds")


class Replica:
    """A replica.

    Args:
        number: The replica's number.
        config: The settings of all replicas.
        folder: The folder that passes weights.
        setup: Gives the setup of a process that starts now.
        record: Called with the decisions of its schedule.
        say: Called with a message when its process has died.
    """

    def __init__(
        self,
        number: int,
        config: ReplicasConfig,
        *,
        folder: str,
        setup: Callable[[int], WorkerMessage],
        record: Callable[[WorkerMessage], object],
        say: Callable[[str], object],
    ) -> None:
        self._number = number
        self._config = config
        self._environment = {**os.environ, "TMPDIR": folder, "OMP_NUM_THREADS": str(config.threads)}
        self._setup = setup
        self._record = record
        self._say = say
        self._worker: WorkerProcess | None = None
        self._start: asyncio.Task[None] | None = None
        self._turns = 0
        self._past = dict.fromkeys(_COUNTS, 0.0)
        """Counts of processes that have ended."""
        self._closed = False

    # Requests.

    async def draw(self, request: TurnRequest) -> Completion:
        """Sample one turn; see `Engine.generate`."""
        self._turns += 1
        try:
            worker = await self._living_worker()
            answer = await worker.ask("draw", {"request": write_request(request)}, silence=self._config.silence)
        finally:
            self._turns -= 1
        raise_error(answer)
        return read_completion(answer)

    def release(self, trajectory: str) -> None:
        """Free everything held for the trajectory."""
        if self._worker is not None:
            self._worker.tell("release", {"trajectory": trajectory})

    async def update(self, message: WorkerMessage) -> None:
        """Use new weights; a process that fails is ended, and its replacement starts with them."""
        try:
            worker = await self._started_worker()
            if worker is not None:
                raise_error(await worker.ask("update", message, silence=self._config.silence))
        except EngineError:
            await self._end()
        except BaseException:
            # It is unknown which weights it holds now; a new process starts with the old ones.
            await self._end()
            raise

    async def command(self, do: Literal["pause", "resume"]) -> None:
        """Pause or resume it; a process that starts later starts in this state."""
        worker = await self._started_worker()
        if worker is None:
            return
        try:
            await worker.ask(do, {}, silence=self._config.silence)
        except EngineError:
            await self._end()

    async def close(self) -> None:
        """End its process; running turns end with an `EngineError`."""
        self._closed = True
        if self._worker is not None:
            await self._worker.stop()
        if self._start is not None:
            await asyncio.wait((self._start,))

    # State.

    @property
    def waiting(self) -> int:
        """Turns that wait for a row, from its last report."""
        return min(self._turns, int(self._last_counts().get("waiting", 0)))

    @property
    def running(self) -> int:
        """Turns being sampled, including those not yet received."""
        return self._turns - self.waiting

    @property
    def resident(self) -> int:
        """See `EngineStats`."""
        return int(self._last_counts().get("resident", 0))

    @property
    def weight_bytes(self) -> int:
        """See `EngineStats`."""
        return int(self._last_counts().get("weight_bytes", 0))

    @property
    def cache_bytes(self) -> int:
        """See `EngineStats`."""
        return int(self._last_counts().get("cache_bytes", 0))

    def counts(self) -> Mapping[str, float]:
        """Counts over all its processes: the fields of `EngineStats` that only grow, and processor time."""
        told = self._worker.counts if self._worker is not None else {}
        return {name: past + told.get(name, 0) for name, past in self._past.items()}

    def _last_counts(self) -> WorkerMessage:
        return self._worker.counts if self._worker is not None and self._worker.alive else {}

    # Process.

    def start(self) -> None:
        """Start a process, if there is none."""
        if self._start is None and (self._worker is None or not self._worker.alive):
            self._start = asyncio.create_task(self._begin(), name=f"start of replica {self._number}")
            self._start.add_done_callback(self._note_start)

    async def _living_worker(self) -> WorkerProcess:
        while True:
            if self._closed:
                raise EngineError("the engine was closed; make another one")
            self.start()
            if self._start is not None:
                await asyncio.shield(self._start)
            elif self._worker is not None:
                return self._worker

    async def _started_worker(self) -> WorkerProcess | None:
        """The process, once it has started; `None` if there is none."""
        if self._start is not None:
            await asyncio.wait((self._start,))
        return self._worker if self._worker is not None and self._worker.alive else None

    async def _end(self) -> None:
        if self._worker is not None and self._worker.alive:
            await self._worker.kill()

    async def _begin(self) -> None:
        if self._worker is not None:
            self._past = dict(self.counts())
            self._say(f"{self._worker.obituary}. Another takes its place, and its turns are drawn again")
            self._worker = None
        setup = self._setup(self._number)
        self._worker = await WorkerProcess.spawn(
            child_command(_PROGRAM), self._environment, name=f"replica {self._number} of the engine", hear=self._record
        )
        if self._closed:
            await self._worker.stop()
        await self._worker.begin(setup, timeout=self._config.silence)

    def _note_start(self, start: asyncio.Task[None]) -> None:
        self._start = None
        if not start.cancelled():
            start.exception()  # its waiting turns get the error; all may have been cancelled
