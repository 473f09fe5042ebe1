"""Worlds whose answers take time, as tools elsewhere do: for measuring how well a run goes on meanwhile."""

import asyncio
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

from palaestra.record import record
from palaestra.seeding import Stream
from palaestra.trainers.rollouts.world import Method, RolloutWorld, RolloutWorlds


@record
class Latency:
    """Seconds between two bounds, as often between 0.1 and 0.2 as between 0.5 and 1: most are short, a few are long."""

    low: float
    """Above 0."""
    high: float

    def draw(self, stream: Stream) -> float:
        """The next one of `stream`."""
        return self.low * math.exp(math.log(self.high / self.low) * stream.word() / 2.0**64)


class DelayedWorld(RolloutWorld):
    """A world that keeps each answer back for a while."""

    def __init__(self, world: RolloutWorld, latency: Latency, stream_of: Callable[[str, int], Stream]) -> None:
        self._world = world
        self._latency = latency
        self._stream_of = stream_of
        self._stream: Stream | None = None

    async def ask(self, method: Method, *arguments: Any) -> Any:
        """Have it done at once, and answer to a step later."""
        if method == "reset":
            self._stream = self._stream_of(*arguments)
        answer = await self._world.ask(method, *arguments)
        if method == "step":
            assert self._stream is not None, "a world that was not reset answers nothing"
            await asyncio.sleep(self._latency.draw(self._stream))
        return answer

    async def close(self) -> None:
        """Free it."""
        await self._world.close()


class DelayedWorlds(RolloutWorlds):
    """Makes worlds whose answers take time.

    Args:
        worlds: Where they come from.
        latency: What each answer takes.
        seed: Of the latencies: the n-th time that a task is played with a seed, they are the same in every run.
    """

    def __init__(self, worlds: RolloutWorlds, latency: Latency, *, seed: int = 0) -> None:
        self._worlds = worlds
        self._latency = latency
        self._seed = seed
        self._played: Counter[tuple[str, int]] = Counter()

    async def open(self) -> DelayedWorld:
        """A fresh world."""
        return DelayedWorld(await self._worlds.open(), self._latency, self._stream_of)

    def _stream_of(self, task: str, seed: int) -> Stream:
        self._played[task, seed] += 1
        return Stream.root("latency", self._seed, task, seed, self._played[task, seed])

    async def close(self) -> None:
        """Free everything."""
        await self._worlds.close()
