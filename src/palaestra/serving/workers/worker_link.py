"""The interfaces between a server and its workers: a launcher that starts workers, and a link that exchanges frames."""

from abc import ABC, abstractmethod


class WorkerLink(ABC):
    """A worker that answers each frame with a frame, in order. It belongs to one event loop.

    The first frame is the pickled `WorkerSettings`.
    """

    @abstractmethod
    def send(self, frame: bytes) -> None:
        """Send a frame. If the worker has ended, do nothing."""

    @abstractmethod
    async def receive(self) -> bytes | None:
        """Wait for the next answer; `None` if the worker has ended."""

    @abstractmethod
    def kill(self) -> None:
        """End the worker at once, whatever it does."""

    @abstractmethod
    def release(self) -> None:
        """Let the worker end. Frames that it has not read are lost."""

    @abstractmethod
    async def reap(self) -> str:
        """Wait until the worker has ended and return how. Kill it if that takes too long."""


class WorkerLauncher(ABC):
    """Starts workers. It belongs to one event loop, from `open` to `close`.

    Attributes:
        start_delay: What a worker that does not start may be waiting for, as a phrase for errors.
    """

    start_delay = "start"

    @abstractmethod
    async def open(self) -> None:
        """Prepare to start workers.

        Raises:
            InfrastructureError: workers cannot be started.
        """

    @abstractmethod
    async def start(self) -> WorkerLink:
        """Start a worker, which may not be ready yet.

        Raises:
            InfrastructureError: no worker can be started.
        """

    @abstractmethod
    async def close(self) -> None:
        """Free all resources; all workers have ended."""
