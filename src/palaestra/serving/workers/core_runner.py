"""The interface through which protocols run session cores, in a thread of the server's process or in workers."""

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

from palaestra.errors import LimitError
from palaestra.serving.access import Caller
from palaestra.serving.core import BatchAnswer, ItemBatch, SessionCounts


class CoreRunner(ABC):
    """Runs batches. It belongs to one event loop.

    Args:
        most: Maximum requests that wait or run at once.

    Attributes:
        pending: The number that wait or run.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.pending = 0

    async def run(self, caller: Caller, batch: ItemBatch) -> BatchAnswer:
        """Run the items of a batch; items of one session run in order.

        Raises:
            LimitError: too many requests are waiting, or nothing can run them now.
        """
        self._check_room()
        return await self.run_always(caller, batch)

    async def run_always(self, caller: Caller, batch: ItemBatch) -> BatchAnswer:
        """Like `run`, but without the limit of waiting requests: for the server's own work."""
        with self._count():
            return await self._run(caller, batch)

    async def list_sessions(self, caller: Caller) -> list[Mapping[str, Any]]:
        """The sessions that a caller may see. Any: JSON.

        Raises:
            LimitError: too many requests are waiting.
        """
        self._check_room()
        with self._count():
            return await self._list_sessions(caller)

    def _check_room(self) -> None:
        if self.pending >= self._most:
            raise LimitError(f"{self._most} requests wait already; send fewer at once, in larger batches", 0.5)

    @contextmanager
    def _count(self) -> Generator[None]:
        self.pending += 1
        try:
            yield
        finally:
            self.pending -= 1

    @abstractmethod
    async def start(self) -> None:
        """Start.

        Raises:
            InfrastructureError: it cannot start.
        """

    @abstractmethod
    async def _run(self, caller: Caller, batch: ItemBatch) -> BatchAnswer: ...

    @abstractmethod
    async def _list_sessions(self, caller: Caller) -> list[Mapping[str, Any]]: ...

    @abstractmethod
    async def counts(self) -> SessionCounts:
        """The number of sessions and snapshots, and the account of episodes."""

    @abstractmethod
    async def expire(self) -> int:
        """Free sessions and snapshots whose lease has expired; return their number."""

    @abstractmethod
    async def stop(self) -> SessionCounts:
        """Close every session and end; episodes that have not ended are void. Return the final account."""
