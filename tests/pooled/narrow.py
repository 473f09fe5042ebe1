"""A scripted engine that draws for a few trajectories at a time, and takes its time; the others stand in line."""

import asyncio
from dataclasses import replace

from palaestra.trainers.engines.engine import Completion, EngineStats, TurnRequest
from rollouts.engine import ScriptedEngine, Writer


class Narrow(ScriptedEngine):
    """Draws for `slots` trajectories at a time, `seconds` each token; `most` is how many were ever in it at once."""

    def __init__(self, write: Writer, *, slots: int, seconds: float, capacity: int = 0, context: int = 8192) -> None:
        super().__init__(write, context=context, pace=self._token)
        self._free = asyncio.Semaphore(slots)
        self._seconds = seconds
        self._capacity = capacity
        self._busy = 0.0
        self._waiting = 0
        self.most = 0

    async def _token(self, request: TurnRequest) -> None:
        del request
        self._busy += self._seconds / max(1, len(self.running))
        await asyncio.sleep(self._seconds)

    async def generate(self, request: TurnRequest) -> Completion:
        self._waiting += 1
        self.most = max(self.most, self._waiting + len(self.running))
        try:
            await self._free.acquire()
        finally:
            self._waiting -= 1
        try:
            return await super().generate(request)
        finally:
            self._free.release()

    def stats(self) -> EngineStats:
        return replace(super().stats(), waiting=self._waiting, capacity=self._capacity, busy_seconds=self._busy)
