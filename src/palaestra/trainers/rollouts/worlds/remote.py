"""Worlds hosted by workers: the common part of processes and actors.

A worker hosts many worlds and executes one call after another. So the oldest waiting call is the one in execution, and
its time-out counts from the time when it became the oldest: a worker that is busy with its other worlds makes no call
late, and a world that hangs is identified. Python cannot interrupt it, so its worker is ended and replaced.
"""

import asyncio
import pickle
from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import count
from typing import Any

from palaestra.agents.hosted import WorldSpec
from palaestra.errors import InfrastructureError, WaitError
from palaestra.trainers.rollouts.world import Method, RolloutWorld, RolloutWorlds


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """The maximum seconds for a world's answer; after them the world counts as hanging."""

    open: float = 120.0
    """Seconds for creating the world, the start of its worker included."""
    reset: float = 60.0
    step: float = 60.0
    episode: float = 60.0
    """Seconds for returning the episode, or for freeing the world."""

    def __post_init__(self) -> None:
        """Check that all are above 0."""
        for name in ("open", "reset", "step", "episode"):
            if (seconds := getattr(self, name)) <= 0:
                raise ValueError(f"{name}={seconds}: a time-out is above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    what: str
    """The call's name in errors."""
    seconds: float
    answer: asyncio.Future[Any]


class WorldWorker(ABC):
    """The local end of a host of worlds; it belongs to one event loop.

    Args:
        name: The worker's name in errors.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.worlds = 0
        """The number of open worlds in the worker."""
        self.lost: str | None = None
        """Why the worker is unusable, if it is."""
        self._calls: dict[int, _Call] = {}
        self._numbers = count()
        self._loop = asyncio.get_running_loop()
        self._alarm: asyncio.TimerHandle | None = None

    @abstractmethod
    def send(self, number: int, frame: bytes) -> None:
        """Send a call, whose answer must be given to `pass_answer`."""

    @abstractmethod
    def kill(self) -> None:
        """End the worker at once."""

    @abstractmethod
    async def end(self) -> None:
        """Let the worker end, and wait until all its resources are freed."""

    def ask(self, what: str, seconds: float, *call: Any) -> asyncio.Future[Any]:
        """Execute a call in the worker.

        Args:
            what: The call's name in errors.
            seconds: The maximum seconds of the call.
            call: Method, world's number, arguments.
        """
        answer: asyncio.Future[Any] = self._loop.create_future()
        if self.lost is not None:
            answer.set_exception(InfrastructureError(f"{what}: {self.lost}"))
            return answer
        number, frame = next(self._numbers), pickle.dumps(call)
        self._calls[number] = _Call(what=what, seconds=seconds, answer=answer)
        if len(self._calls) == 1:
            self._watch()
        self.send(number, frame)
        return answer

    def _watch(self) -> None:
        """Start the timer of the call in execution."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if self._calls:
            first = next(iter(self._calls.values()))
            self._alarm = self._loop.call_later(first.seconds, self._hangs)

    def pass_answer(self, number: int, frame: bytes) -> None:
        """Pass an answer on to the caller that waits for it."""
        call = self._calls.pop(number, None)
        if call is None:  # the call failed before
            return
        self._watch()
        went_well, came = pickle.loads(frame)  # noqa: S301  from our own program
        if call.answer.done():  # no caller waits any more
            return
        if went_well:
            call.answer.set_result(came)
        else:
            call.answer.set_exception(came)

    def _hangs(self) -> None:
        number = next(iter(self._calls))
        call = self._calls.pop(number)
        if not call.answer.done():
            call.answer.set_exception(
                WaitError(f"{call.what}: waited {call.seconds:g} s for {self.name}, which was ended and is replaced")
            )
        self.fail(f"{self.name} was ended because another of its worlds hung ({call.what})")
        self.kill()

    def fail(self, why: str) -> None:
        """Make every call fail from now on, waiting calls included. The first reason is kept."""
        if self.lost is not None:
            return
        self.lost = why
        calls, self._calls = self._calls, {}
        self._watch()
        for call in calls.values():
            if not call.answer.done():
                call.answer.set_exception(InfrastructureError(f"{call.what}: {why}"))


class RemoteWorld(RolloutWorld):
    """A world that a worker hosts, identified by a number."""

    def __init__(self, worker: WorldWorker, number: int, spec: WorldSpec, timeouts: Timeouts) -> None:
        self._worker = worker
        self._number = number
        self._spec = spec
        self._timeouts = timeouts
        self._place = spec.env_id
        self._turn = 0
        self._closed = False

    def _send(self, method: str, seconds: float, *arguments: Any) -> asyncio.Future[Any]:
        if self._closed:
            raise InfrastructureError("this world was closed; open another one")
        return self._worker.ask(f"{method} of {self._place}", seconds, method, self._number, arguments)

    async def make(self) -> None:
        """Create the world in the worker."""
        try:
            await self._send("open", self._timeouts.open, self._spec)
        except BaseException:
            await self.close()
            raise

    async def ask(self, method: Method, *arguments: Any) -> Any:
        """Execute the call in the worker, within its time limit."""
        timeouts = self._timeouts
        match method:
            case "reset":
                self._place, self._turn = f"{self._spec.env_id}, task {arguments[0]!r}", 0
                return await self._send(method, timeouts.reset, *arguments)
            case "step":
                self._place = f"{self._place.partition(', turn ')[0]}, turn {self._turn}"
                self._turn += 1
                return await self._send(method, timeouts.step, *arguments)
            case "stop":
                return await self._send(method, timeouts.step, *arguments)
            case "episode":
                return await self._send(method, timeouts.episode)

    async def close(self) -> None:
        """Free the world as soon as its current call has ended."""
        if self._closed:
            return
        freed = self._send("close", self._timeouts.episode)
        freed.add_done_callback(asyncio.Future.exception)  # no caller waits for it, so errors are ignored
        self._closed = True
        self._worker.worlds -= 1


class RemoteWorlds(RolloutWorlds):
    """Opens worlds in workers, balanced so that each hosts about the same number.

    Args:
        spec: How each world is created; it must pickle.
        workers: The maximum number of workers; each is started when there is a world for it.
        timeouts: The time limits of a world.

    Raises:
        ValueError: `workers` is below 1, or `spec` does not pickle.
    """

    def __init__(self, spec: WorldSpec, workers: int, timeouts: Timeouts) -> None:
        if workers < 1:
            raise ValueError(f"workers={workers}: worlds need at least 1")
        try:
            pickle.dumps(spec)
        except Exception as error:
            raise ValueError(
                f"{spec} does not pickle ({error}), so it cannot be sent to a worker; "
                "give what modules define by name, or play in this process"
            ) from error
        self._spec = spec
        self._limit = workers
        self._timeouts = timeouts
        self._workers: list[WorldWorker] = []
        self._ended: set[asyncio.Task[None]] = set()
        self._placing = asyncio.Lock()
        self._numbers = count()
        self._closed = False

    @abstractmethod
    async def start(self) -> WorldWorker:
        """Start a new worker; its first call fails if it does not come up."""

    async def open(self) -> RemoteWorld:
        """Open a fresh world.

        Raises:
            InfrastructureError: the worker did not come up or is gone, or `close` was called.
            WaitError: opening took too long.
            Exception: the world cannot be created from its spec; any error of `gymnasium.make`.
        """
        async with self._placing:
            worker = await self._worker()
            worker.worlds += 1
        world = RemoteWorld(worker, next(self._numbers), self._spec, self._timeouts)
        await world.make()
        return world

    async def _worker(self) -> WorldWorker:
        if self._closed:
            raise InfrastructureError("these worlds were closed; make others")
        for worker in [worker for worker in self._workers if worker.lost is not None]:
            self._workers.remove(worker)
            self._ended.add(asyncio.create_task(worker.end()))
        if len(self._workers) < self._limit:
            self._workers.append(await self.start())
            return self._workers[-1]
        return min(self._workers, key=lambda worker: worker.worlds)

    async def close(self) -> None:
        """Free everything; on return, no worker is left."""
        async with self._placing:
            self._closed = True
            workers, self._workers = self._workers, []
            for worker in workers:
                worker.fail("these worlds were closed")
            await asyncio.gather(*self._ended, *(worker.end() for worker in workers))
