"""An engine without a model: it writes scripts, or draws from each trajectory's own noise, and keeps the protocol."""

import asyncio
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from palaestra.errors import EngineError, WaitError
from palaestra.trainers.engines.engine import Completion, Engine, EngineStats, InFlight, TurnRequest, Weights
from palaestra.trainers.engines.noise import noise_at
from palaestra.trajectory import Tokens

Writer: TypeAlias = Callable[[TurnRequest], Sequence[int]]
"""The turn that follows a context, as long as it likes: limits and ends are the engine's business."""
Pace: TypeAlias = Callable[[TurnRequest], Awaitable[None]]
"""What a token waits for before it is drawn."""


class Scripts:
    """Writes what stands behind the context in whichever script begins with it: demonstrations, mostly."""

    def __init__(self, scripts: Iterable[Tokens]) -> None:
        self._after: dict[tuple[int, ...], tuple[int, ...]] = {
            script.ids[: span.start]: script.ids[span.start : span.end]
            for script in scripts
            for span in script.spans
            if span.kind == "turn"
        }

    def __call__(self, request: TurnRequest) -> Sequence[int]:
        turn = self._after.get(request.context)
        assert turn is not None, f"no script goes on from the {len(request.context)} tokens of {request.trajectory}"
        return turn


def from_noise(vocabulary: Sequence[int], *, end: int, length: int) -> Writer:
    """Draws from `vocabulary` by the trajectory's noise, and ends a turn with a probability of one in `length`."""

    def write(request: TurnRequest) -> Sequence[int]:
        def drawn() -> Iterator[int]:
            for place in range(len(request.context), len(request.context) + request.sampling.limit):
                noise = noise_at(request.noise, place)
                yield end if noise < 1 / length else vocabulary[int(noise * 1e6) % len(vocabulary)]

        return list(drawn())

    return write


async def at_once(request: TurnRequest) -> None:
    """A pace without waiting."""
    del request


class ScriptedEngine(Engine):
    """Draws what `write` says, a token at a time, each when `pace` lets it.

    `fails[trajectory]` is how many of its next turns fail; `released` lists the trajectories that were let go.
    """

    def __init__(self, write: Writer, *, context: int = 8192, pace: Pace = at_once, version: int = 0) -> None:
        self._write = write
        self._pace = pace
        self._context = context
        self.version = version
        self.fails: Counter[str] = Counter()
        self.requests: list[TurnRequest] = []
        self.released: list[str] = []
        self._resident: dict[str, int] = {}
        self._running: dict[str, asyncio.Task[Completion]] = {}
        self._going = asyncio.Event()
        self._admitting = asyncio.Event()
        for gate in (self._going, self._admitting):
            gate.set()
        self._closed = False
        self._drawn = self._prefilled = self._reused = 0

    @property
    def context(self) -> int:
        return self._context

    @property
    def running(self) -> tuple[str, ...]:
        """The trajectories that a turn is being drawn for."""
        return tuple(self._running)

    @property
    def resident(self) -> tuple[str, ...]:
        """The trajectories that something is held for."""
        return tuple(self._resident)

    async def generate(self, request: TurnRequest) -> Completion:
        self._check(request)
        self.requests.append(request)
        with self._counted(request):
            task = asyncio.ensure_future(self._turn(request))
            self._running[request.trajectory] = task
            try:
                async with asyncio.timeout(request.timeout):
                    return await task
            except TimeoutError:
                raise WaitError(
                    f"{request.trajectory} waited {request.timeout} s for a turn of {request.sampling.limit} tokens"
                ) from None
            except asyncio.CancelledError:
                if not self._closed:
                    raise
                raise EngineError(f"the engine was closed while it drew for {request.trajectory}") from None

    @contextmanager
    def _counted(self, request: TurnRequest) -> Generator[None]:
        held = min(self._resident.get(request.trajectory, 0), len(request.context))
        self._reused += held
        self._prefilled += len(request.context) - held
        try:
            yield
        except BaseException:
            self._resident.pop(request.trajectory, None)
            raise
        finally:
            self._running.pop(request.trajectory, None)

    def _check(self, request: TurnRequest) -> None:
        if self._closed:
            raise EngineError("the engine is closed")
        if not request.context or request.sampling.limit < 1:
            raise ValueError(f"{request.trajectory}: a context and a limit have a token at least")
        if len(request.context) >= self._context:
            raise ValueError(f"{request.trajectory}: {len(request.context)} tokens leave no room in {self._context}")
        if request.trajectory in self._running:
            raise ValueError(f"{request.trajectory} has a turn under way; a trajectory has one at a time")

    async def _turn(self, request: TurnRequest) -> Completion:
        await self._admitting.wait()
        if self.fails[request.trajectory]:
            self.fails[request.trajectory] -= 1
            raise EngineError(f"{request.trajectory}: the device fell off the bus")
        sampling = request.sampling
        ids: list[int] = []
        versions: list[int] = []
        for number in self._write(request)[: min(sampling.limit, self._context - len(request.context))]:
            await self._going.wait()
            await self._pace(request)
            ids.append(number)
            versions.append(self.version)
            self._drawn += 1
            if number in sampling.stop:
                break
        assert ids, f"nothing was written for {request.trajectory}"
        self._resident[request.trajectory] = len(request.context) + len(ids)
        return Completion(
            ids=tuple(ids),
            # Any function of token and version will do: it tells a record that mixes tokens up.
            logprobs=tuple(
                -math.log(2 + number / 1000 + version) / sampling.temperature
                for number, version in zip(ids, versions, strict=True)
            ),
            versions=tuple(versions),
            stop="end" if ids[-1] in sampling.stop else "length",
        )

    def release(self, trajectory: str) -> None:
        self.released.append(trajectory)
        self._resident.pop(trajectory, None)

    async def update_weights(self, weights: Weights, version: int, *, in_flight: InFlight = "keep") -> None:
        del weights
        if self._closed:
            raise EngineError("the engine is closed")
        if in_flight == "wait" and self._running:
            self._admitting.clear()
            await asyncio.wait(list(self._running.values()))
            self._admitting.set()
        if in_flight == "retract":
            self._resident.clear()
        self.version = version

    async def pause(self) -> None:
        self._going.clear()

    async def resume(self) -> None:
        self._going.set()

    def stats(self) -> EngineStats:
        return EngineStats(
            running=len(self._running),
            waiting=0,
            resident=sum(self._resident.values()),
            capacity=0,
            drawn=self._drawn,
            prefilled=self._prefilled,
            reused=self._reused,
            busy_seconds=0.0,
            version=self.version,
        )

    async def close(self) -> None:
        self._closed = True
        self._resident.clear()
        for task in list(self._running.values()):
            task.cancel()
