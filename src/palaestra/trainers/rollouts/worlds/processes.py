"""Worlds in other processes of this machine: a crash costs the worlds of one process, and the run goes on.

Processes are started afresh, not forked and not from the main module, so that they hold nothing of this one: no
threads, no locks, no accelerator. They end when this process does, however it does.
"""

import asyncio
import os
import signal
import socket
import subprocess
import sys

from palaestra.agents.host import GRACE, LENGTH
from palaestra.agents.hosted import WorldSpec
from palaestra.errors import InfrastructureError
from palaestra.trainers.rollouts.worlds.remote import RemoteWorlds, Timeouts, WorldWorker

_PROGRAM = """
import sys
descriptor, sys.path[:] = int(sys.argv[1]), sys.argv[2:]
from palaestra.agents.host import serve
serve(descriptor)
"""


class _Process(WorldWorker):
    def __init__(
        self,
        process: subprocess.Popen[bytes],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        super().__init__(f"worker process {process.pid}")
        self._process = process
        self._reader = reader
        self._writer = writer
        self._next = 0
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def start(cls) -> "_Process":
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                process = subprocess.Popen(  # noqa: S603  our own program
                    [sys.executable, "-c", _PROGRAM, str(theirs.fileno()), *sys.path],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                )
            except OSError as error:
                ours.close()
                raise InfrastructureError(f"no worker process can be started: {error}") from error
        reader, writer = await asyncio.open_connection(sock=ours)
        return cls(process, reader, writer)

    def send(self, number: int, frame: bytes) -> None:
        del number  # answers come in the order of calls
        self._writer.write(len(frame).to_bytes(LENGTH) + frame)

    async def _listen(self) -> None:
        """Pass answers on until there are no more, and see to the end of the process."""
        try:
            while True:
                length = int.from_bytes(await self._reader.readexactly(LENGTH))
                self.pass_answer(self._next, await self._reader.readexactly(length))
                self._next += 1
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        code = await asyncio.to_thread(self._reap)
        self.fail(f"{self.name} ended with exit code {code}{_signal(code)}; it is replaced")
        self._writer.close()

    def _reap(self) -> int:
        try:
            return self._process.wait(2 * GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def kill(self) -> None:
        self._process.kill()

    async def end(self) -> None:
        self._writer.close()
        await self._listening


def _signal(code: int) -> str:
    return f" ({signal.Signals(-code).name})" if code < 0 else ""


class ProcessWorlds(RemoteWorlds):
    """Opens worlds in processes of this machine.

    A process does one call after the other: worlds that compute share a core well, while those that wait for
    something outside make their neighbours wait too and want a process each.

    Args:
        spec: How each world is made; it must pickle.
        workers: Processes; as many as there are cores, if left out.
        timeouts: How long a world may take.
    """

    def __init__(self, spec: WorldSpec, *, workers: int | None = None, timeouts: Timeouts | None = None) -> None:
        super().__init__(spec, (os.cpu_count() or 1) if workers is None else workers, timeouts or Timeouts())

    async def start(self) -> WorldWorker:
        """A new process."""
        return await _Process.start()
