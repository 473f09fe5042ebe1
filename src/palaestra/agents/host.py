"""A process that hosts worlds for another process and answers its calls in order.

It trusts the caller: both sides are one program, and messages are pickled. It is not a sandbox: a world can affect its
process, and so the other worlds in it.
"""

import os
import pickle
import signal
import socket
import threading
import time
import traceback
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from palaestra.agents.hosted import HostedEnv, WorldSpec
from palaestra.errors import InfrastructureError

LENGTH = 8
"""Size in bytes of the length before each frame, big-endian."""
GRACE = 2.0
"""Seconds that a process has to close its worlds after the caller has disconnected."""


class Host:
    """Worlds by number.

    Each call is a pickle `(method, world's number, arguments)`, and each answer is a pickle `(success, result)`; the
    result is a value or the raised error.
    """

    def __init__(self) -> None:
        self._worlds: dict[int, HostedEnv] = {}

    def answer(self, call: bytes) -> bytes:
        """Run a call."""
        try:
            method, number, arguments = pickle.loads(call)  # noqa: S301  from our own program
            return pickle.dumps((True, self._call(method, number, arguments)))
        except Exception as error:
            return pickle.dumps((False, _portable(error)))

    def _call(self, method: str, number: int, arguments: tuple[Any, ...]) -> Any:
        if method == "open":
            spec: WorldSpec = arguments[0]
            self._worlds[number] = HostedEnv(spec)
            return None
        if method == "close":
            if world := self._worlds.pop(number, None):
                world.close()
            return None
        return getattr(self._worlds[number], method)(*arguments)

    def close(self) -> None:
        """Close every world."""
        for world in self._worlds.values():
            world.close()
        self._worlds.clear()


def _portable(error: Exception) -> Exception:
    """A copy of `error` that can be raised in another process, with its traceback as a note."""
    where = "".join(traceback.format_exception(error))
    try:
        copy = pickle.loads(pickle.dumps(error))  # noqa: S301  our own
    except Exception:
        copy = InfrastructureError(f"{type(error).__name__}: {error}")
    copy.add_note(f"in process {os.getpid()}:\n{where}")
    assert isinstance(copy, Exception)
    return copy


def serve(descriptor: int) -> None:
    """Host worlds for the other end of a socket until it closes."""
    # An interrupt from a terminal reaches every process; the caller decides how to react.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    link = socket.socket(fileno=descriptor)
    calls: SimpleQueue[bytes | None] = SimpleQueue()
    threading.Thread(target=_receive, args=(link, calls), daemon=True).start()
    host = Host()
    while (call := calls.get()) is not None:
        answer = host.answer(call)
        with suppress(OSError):  # the peer has closed the socket, and `calls` will end
            link.sendall(len(answer).to_bytes(LENGTH) + answer)
    host.close()


def _receive(link: socket.socket, calls: SimpleQueue[bytes | None]) -> None:
    """Queue incoming calls. When the socket closes, end the process, even if a world hangs."""
    # A peer that closes with unread answers resets the connection.
    with suppress(OSError), link.makefile("rb") as stream:
        while len(head := stream.read(LENGTH)) == LENGTH:
            calls.put(stream.read(int.from_bytes(head)))
    calls.put(None)
    time.sleep(GRACE)
    os._exit(1)
