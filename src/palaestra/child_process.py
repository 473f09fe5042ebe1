"""A Python process at the other end of a socket.

It is started afresh, neither forked nor from the main module, so it inherits nothing from this process: no threads, no
locks, no accelerator. Its program ends when the socket closes, so it ends when this process does, for whatever reason.
"""

import asyncio
import signal
import socket
import subprocess
import sys

from palaestra.errors import InfrastructureError

_PROGRAM = """
import sys
from importlib import import_module
(module, function), sys.path[:], descriptor = sys.argv[1].split(":"), sys.argv[2:-1], int(sys.argv[-1])
getattr(import_module(module), function)(descriptor)
"""
_BUFFER = 2**20


def child_command(program: str) -> list[str]:
    """The command of such a process; append the descriptor of its end of the socket as the last argument.

    Args:
        program: The function that the process calls with the descriptor, as "module:function".
    """
    return [sys.executable, "-c", _PROGRAM, program, *sys.path]


class ChildProcess:
    """A process, and the streams to it; `start` makes one.

    Args:
        process: The process.
        reader: What it writes.
        writer: What it reads.
    """

    def __init__(
        self, process: "subprocess.Popen[bytes]", reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._process = process
        self.reader = reader
        self.writer = writer

    @classmethod
    async def start(cls, program: str, *, prints: bool = True) -> "ChildProcess":
        """A new process.

        Args:
            program: The function that the process calls with the descriptor of its end of the socket, as
                "module:function".
            prints: Whether its standard output goes to that of this process; errors do in any case.

        Raises:
            InfrastructureError: no process can be started.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                process = subprocess.Popen(  # noqa: S603  our own program
                    [*child_command(program), str(theirs.fileno())],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=None if prints else subprocess.DEVNULL,
                )
            except OSError as error:
                ours.close()
                raise InfrastructureError(f"no worker process can be started: {error}") from error
        return cls(process, *await asyncio.open_connection(sock=ours, limit=_BUFFER))

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    async def reap(self, seconds: float) -> int:
        """Wait until it has ended and return its exit code; kill it after `seconds`."""
        return await asyncio.to_thread(self._wait, seconds)

    def _wait(self, seconds: float) -> int:
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


def describe_exit(code: int) -> str:
    """An exit code in words, such as "exit code 1" or "SIGKILL"."""
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"
