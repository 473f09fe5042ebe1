"""Worlds with delayed answers, like remote tools, to measure how well a run proceeds meanwhile."""

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
    """A log-uniform distribution of seconds between two bounds, mostly short: 0.1 to 0.2 is as likely as 0.5 to 1."""

    low: float
    """The lower bound, above 0."""
    high: float

    def draw(self, stream: Stream) -> float:
        """Draw the next latency from `stream`, in seconds."""
        return self.low * math.exp(math.log(self.high / self.low) * stream.word() / 2.0**64)


class DelayedWorld(RolloutWorld):
    """A world that delays each answer to a step."""

    def __init__(self, world: RolloutWorld, latency: Latency, stream_of: Callable[[str, int], Stream]) -> None:
        self._world = world
        self._latency = latency
        self._stream_of = stream_of
        self._stream: Stream | None = None

    async def ask(self, method: Method, *arguments: Any) -> Any:
        """Execute the call at once; delay the answer if it is a step."""
        if method == "reset":
            self._stream = self._stream_of(*arguments)
        answer = await self._world.ask(method, *arguments)
        if method == "step":
            assert self._stream is not None, "a world that was not reset answers nothing"
            await asyncio.sleep(self._latency.draw(self._stream))
        return answer

    async def close(self) -> None:
        """Free the world."""
        await self._world.close()


class DelayedWorlds(RolloutWorlds):
    """Opens worlds with delayed answers.

    Args:
        worlds: The source of the worlds.
        latency: The distribution of the delays.
        seed: The seed of the delays: when a task is played with a seed for the n-th time, they are the same in every
            run.
    """

    def __init__(self, worlds: RolloutWorlds, latency: Latency, *, seed: int = 0) -> None:
        self._worlds = worlds
        self._latency = latency
        self._seed = seed
        self._played: Counter[tuple[str, int]] = Counter()

    async def open(self) -> DelayedWorld:
        """Open a fresh world."""
        return DelayedWorld(await self._worlds.open(), self._latency, self._stream_of)

    def _stream_of(self, task: str, seed: int) -> Stream:
        self._played[task, seed] += 1
        return Stream.root("latency", self._seed, task, seed, self._played[task, seed])

    async def close(self) -> None:
        """Free everything."""
        await self._worlds.close()
