"""A process that hosts worlds for another one: calls come in, answers go out, in order.

It trusts whoever calls: both sides are one program, and what passes between them is pickled. It is no sandbox either;
what a world does to its process, it does to the other worlds there.
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
"""Bytes, highest first, that tell before each frame how long it is."""
GRACE = 2.0
"""Seconds that a process has for closing its worlds, once nobody calls any more."""


class Host:
    """Worlds by number.

    Each call is one pickle, `(method, world's number, arguments)`, and so is each answer, `(whether it went well, what
    came of it)`: a value, or the error that was raised.
    """

    def __init__(self) -> None:
        self._worlds: dict[int, HostedEnv] = {}

    def answer(self, call: bytes) -> bytes:
        """Do what `call` says."""
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
        """Free every world."""
        for world in self._worlds.values():
            world.close()
        self._worlds.clear()


def _portable(error: Exception) -> Exception:
    """`error` in a form that can be raised elsewhere, with where it was raised here as a note."""
    where = "".join(traceback.format_exception(error))
    try:
        copy = pickle.loads(pickle.dumps(error))  # noqa: S301  our own
    except Exception:
        copy = InfrastructureError(f"{type(error).__name__}: {error}")
    copy.add_note(f"in process {os.getpid()}:\n{where}")
    assert isinstance(copy, Exception)
    return copy


def serve(descriptor: int) -> None:
    """Host worlds for whoever holds the other end of a socket, until they let go of it."""
    # An interrupt from a terminal reaches every process; whoever calls decides what comes of it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    link = socket.socket(fileno=descriptor)
    calls: SimpleQueue[bytes | None] = SimpleQueue()
    threading.Thread(target=_receive, args=(link, calls), daemon=True).start()
    host = Host()
    while (call := calls.get()) is not None:
        answer = host.answer(call)
        with suppress(OSError):  # they have let go, and `calls` will end
            link.sendall(len(answer).to_bytes(LENGTH) + answer)
    host.close()


def _receive(link: socket.socket, calls: SimpleQueue[bytes | None]) -> None:
    """Queue what comes in. When nothing can come any more, end the process, even if a world hangs."""
    # A peer that lets go with answers unread resets the link.
    with suppress(OSError), link.makefile("rb") as stream:
        while len(head := stream.read(LENGTH)) == LENGTH:
            calls.put(stream.read(int.from_bytes(head)))
    calls.put(None)
    time.sleep(GRACE)
    os._exit(1)
