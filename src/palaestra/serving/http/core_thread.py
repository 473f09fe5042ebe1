"""The one thread in which the session core runs.

Worlds are plain synchronous code, and a step takes less than a tenth of a millisecond, so one thread plays all sessions
of a process and the core needs no locks. The event loop stays free to answer health checks meanwhile.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from palaestra.errors import LimitError

P = ParamSpec("P")
R = TypeVar("R")


class CoreThread:
    """A thread that runs one call after the other.

    Args:
        pending: How many requests may wait or run at once.
    """

    def __init__(self, pending: int) -> None:
        self._most = pending
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="palaestra-core")
        self.pending = 0

    async def run(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Call a function in the thread and wait for what it returns.

        Raises:
            LimitError: as many requests wait as may.
        """
        if self.pending >= self._most:
            raise LimitError(f"{self._most} requests wait already; send fewer at once, in larger batches", 0.5)
        return await self.run_always(function, *args, **kwargs)

    async def run_always(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """As `run`, however many requests wait: for what the server itself must do."""
        self.pending += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._executor, lambda: function(*args, **kwargs))
        finally:
            self.pending -= 1

    def close(self) -> None:
        """End the thread, after what it runs."""
        self._executor.shutdown()
