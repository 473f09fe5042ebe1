"""One session core in one thread of the server's process.

Worlds are plain synchronous code, and a step takes less than a tenth of a millisecond, so one thread plays all sessions
of a process and the core needs no locks. The event loop stays free to answer health checks meanwhile.
"""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from palaestra.serving.access import Caller
from palaestra.serving.core import BatchAnswer, ItemBatch, OperationRunner, SessionCore, SessionCounts
from palaestra.serving.workers.core_runner import CoreRunner

P = ParamSpec("P")
R = TypeVar("R")


class CoreThread(CoreRunner):
    """A thread that runs one batch after another.

    Args:
        core: The sessions; only this thread uses them.
        most: Maximum requests that wait or run at once.
    """

    def __init__(self, core: SessionCore, *, most: int) -> None:
        super().__init__(most)
        self.core = core
        self.operations = OperationRunner(core)
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="palaestra-core")

    async def _call(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, lambda: function(*args, **kwargs))

    async def start(self) -> None:
        """Do nothing: the thread starts with its first call."""

    async def _run(self, caller: Caller, batch: ItemBatch) -> BatchAnswer:
        return await self._call(self.operations.run, batch.operation, caller, batch.items)

    async def _list_sessions(self, caller: Caller) -> list[Mapping[str, Any]]:
        return await self._call(self.core.listing, caller)

    async def counts(self) -> SessionCounts:
        """The number of sessions and snapshots, and the account of episodes."""
        return await self._call(self.core.counts)

    async def expire(self) -> int:
        """Free sessions and snapshots whose lease has expired; return their number."""
        return await self._call(self.core.expire)

    async def stop(self) -> SessionCounts:
        """Close every session and end the thread after its current work. Return the final account."""
        await self._call(self.core.stop)
        self.close()
        return self.core.counts()

    def close(self) -> None:
        """End the thread after its current work."""
        self._executor.shutdown()
