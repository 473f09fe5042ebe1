"""Workers that are processes on the server's machine. In their sockets, each frame follows its length."""

import asyncio
from contextlib import suppress

from palaestra.child_process import ChildProcess, describe_exit
from palaestra.serving.workers.frames import LENGTH
from palaestra.serving.workers.worker_host import GRACE
from palaestra.serving.workers.worker_link import WorkerLauncher, WorkerLink


class ProcessLink(WorkerLink):
    """A worker process, seen from the server.

    Args:
        process: The process.
    """

    def __init__(self, process: ChildProcess) -> None:
        self._process = process

    def send(self, frame: bytes) -> None:
        """Send a frame. If the worker has ended, do nothing."""
        self._process.writer.writelines((len(frame).to_bytes(LENGTH), frame))

    async def receive(self) -> bytes | None:
        """Wait for the next answer; `None` if the worker has ended."""
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            length = int.from_bytes(await self._process.reader.readexactly(LENGTH))
            return await self._process.reader.readexactly(length)
        return None

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()

    def release(self) -> None:
        """Close the socket; the process then closes its sessions and ends."""
        self._process.writer.transport.abort()  # does not wait for unsent data

    async def reap(self) -> str:
        """Wait until the process has ended and return how. Kill it if that takes too long."""
        code = await self._process.reap(2 * GRACE)
        self._process.writer.close()
        return describe_exit(code)


class ProcessLauncher(WorkerLauncher):
    """Starts processes."""

    async def open(self) -> None:
        """Do nothing: processes need no preparation."""

    async def start(self) -> WorkerLink:
        """A new process.

        Raises:
            InfrastructureError: no process can be started.
        """
        return ProcessLink(
            await ChildProcess.start("palaestra.serving.workers.worker_host:serve_sessions", prints=False)
        )

    async def close(self) -> None:
        """Do nothing: no process is left."""
