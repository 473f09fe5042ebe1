"""Worlds in other processes of this machine: a crash affects the worlds of one process, and the run continues."""

import asyncio
import os

from palaestra.agents.host import GRACE, LENGTH
from palaestra.agents.hosted import WorldSpec
from palaestra.child_process import ChildProcess, describe_exit
from palaestra.trainers.rollouts.worlds.remote import RemoteWorlds, Timeouts, WorldWorker


class _Process(WorldWorker):
    def __init__(self, process: ChildProcess) -> None:
        super().__init__(f"worker process {process.pid}")
        self._process = process
        self._next = 0
        self._listening = asyncio.create_task(self._listen())

    def send(self, number: int, frame: bytes) -> None:
        del number  # answers arrive in the order of calls
        self._process.writer.write(len(frame).to_bytes(LENGTH) + frame)

    async def _listen(self) -> None:
        """Pass answers on until the connection ends, then reap the process."""
        reader = self._process.reader
        try:
            while True:
                length = int.from_bytes(await reader.readexactly(LENGTH))
                self.pass_answer(self._next, await reader.readexactly(length))
                self._next += 1
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        code = await self._process.reap(2 * GRACE)
        self.fail(f"{self.name} ended with {describe_exit(code)}; it is replaced")
        self._process.writer.close()

    def kill(self) -> None:
        self._process.kill()

    async def end(self) -> None:
        self._process.writer.close()
        await self._listening


class ProcessWorlds(RemoteWorlds):
    """Opens worlds in processes of this machine.

    A process executes one call after another: worlds that compute can share a core, while worlds that wait for
    something external block the others in their process and need one each.

    Args:
        spec: How each world is created; it must pickle.
        workers: The number of processes; by default the number of cores.
        timeouts: The time limits of a world.
    """

    def __init__(self, spec: WorldSpec, *, workers: int | None = None, timeouts: Timeouts | None = None) -> None:
        super().__init__(spec, (os.cpu_count() or 1) if workers is None else workers, timeouts or Timeouts())

    async def start(self) -> WorldWorker:
        """Start a new process."""
        return _Process(await ChildProcess.start("palaestra.agents.host:serve"))
