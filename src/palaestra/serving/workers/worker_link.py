"""The two ends of a server's way to a worker: what starts workers, and a worker that takes frames and answers them."""

from abc import ABC, abstractmethod


class WorkerLink(ABC):
    """A worker that answers each frame by a frame, in their order. It belongs to one event loop.

    The first frame is the pickled `WorkerSettings`.
    """

    @abstractmethod
    def send(self, frame: bytes) -> None:
        """Hand a frame over. Where the worker has ended, nothing happens."""

    @abstractmethod
    async def receive(self) -> bytes | None:
        """Wait for the next answer; `None` where no more will come, because the worker has ended."""

    @abstractmethod
    def kill(self) -> None:
        """End the worker at once, whatever it does."""

    @abstractmethod
    def release(self) -> None:
        """Let the worker end. Frames that it has not read are lost."""

    @abstractmethod
    async def reap(self) -> str:
        """Wait until the worker has ended, and say how it did. It is killed where that takes too long."""


class WorkerLauncher(ABC):
    """Starts workers. It belongs to one event loop, from `open` to `close`.

    Attributes:
        start_delay: What a worker that does not start may wait for, as it reads in an error.
    """

    start_delay = "start"

    @abstractmethod
    async def open(self) -> None:
        """Make ready.

        Raises:
            InfrastructureError: workers cannot be started.
        """

    @abstractmethod
    async def start(self) -> WorkerLink:
        """A new worker; it may be on its way still.

        Raises:
            InfrastructureError: none can be started.
        """

    @abstractmethod
    async def close(self) -> None:
        """Free what is held; all workers have ended."""
