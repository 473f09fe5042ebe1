"""Worlds that answer in lockstep, as in loops that call the tools of a whole batch and wait for the slowest."""

import asyncio
from typing import Any

from palaestra.seeding import Stream
from palaestra.trainers.rollouts.world import Method, RolloutWorld, RolloutWorlds
from palaestra.trainers.rollouts.worlds import Latency


class LockstepWorlds(RolloutWorlds):
    """Holds back every answer until all running episodes have one and the slowest of their tools is done.

    Args:
        worlds: The source of the worlds.
        latency: The duration of each answer.
        seed: Random seed of the latencies.
    """

    def __init__(self, worlds: RolloutWorlds, latency: Latency, *, seed: int = 0) -> None:
        self._worlds = worlds
        self._latency = latency
        self._stream = Stream.root("lockstep", seed)
        self._playing = 0
        self._waiting: list[asyncio.Future[None]] = []
        self._slowest = 0.0

    async def open(self) -> RolloutWorld:
        """Open a fresh world."""
        return _Lockstep(await self._worlds.open(), self)

    async def close(self) -> None:
        """Release all resources."""
        await self._worlds.close()

    def enter(self) -> None:
        """Register a running episode."""
        self._playing += 1

    def leave(self) -> None:
        """Remove an ended episode, so that the others do not wait for it."""
        self._playing -= 1
        self._check()

    async def together(self) -> None:
        """Wait for all other episodes, and for the slowest tool."""
        done = asyncio.get_running_loop().create_future()
        self._waiting.append(done)
        self._slowest = max(self._slowest, self._latency.draw(self._stream))
        self._check()
        await done

    def _check(self) -> None:
        if self._waiting and len(self._waiting) >= self._playing:
            waiting, self._waiting = self._waiting, []
            slowest, self._slowest = self._slowest, 0.0
            asyncio.get_running_loop().call_later(slowest, _answer, waiting)


def _answer(waiting: list["asyncio.Future[None]"]) -> None:
    for one in waiting:
        if not one.done():
            one.set_result(None)


class _Lockstep(RolloutWorld):
    def __init__(self, world: RolloutWorld, all_: LockstepWorlds) -> None:
        self._world = world
        self._all = all_
        self._playing = False

    async def ask(self, method: Method, *arguments: Any) -> Any:
        answer = await self._world.ask(method, *arguments)
        if method == "reset":
            self._leave()
            self._all.enter()
            self._playing = True
        elif method == "step":
            await self._all.together()
            if answer.end is not None:
                self._leave()
        elif method == "stop":
            self._leave()
        return answer

    async def close(self) -> None:
        self._leave()
        await self._world.close()

    def _leave(self) -> None:
        if self._playing:
            self._playing = False
            self._all.leave()
