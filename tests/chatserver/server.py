"""The server: what it is asked is kept, and what it does is a script, or a function of the request."""

import socket
import struct
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any, TypeAlias, cast

import orjson

from chatserver.answers import Answer, Cut, Deed, Hang, Reset


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request."""

    path: str
    headers: dict[str, str]
    """By names in small letters."""
    body: dict[str, Any]
    """Any: JSON of the client's."""


Behaviour: TypeAlias = Callable[[Asked], Deed]


class ChatServer(ThreadingHTTPServer):
    """A server on a free port of this machine, until it is closed.

    Args:
        behaviour: What to do with a request.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, behaviour: Behaviour) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.behaviour = behaviour
        self.asked: list[Asked] = []
        self.peak = 0
        """The most requests that were there at once."""
        self.ended = Event()
        self._there = 0
        self._lock = Lock()

    @property
    def url(self) -> str:
        """As a client's `base_url`."""
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no fault of ours. Any: as the library has it."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    @contextmanager
    def counted(self, asked: Asked) -> Generator[None]:
        """A request that is there while the block runs."""
        with self._lock:
            self.asked.append(asked)
            self._there += 1
            self.peak = max(self.peak, self._there)
        try:
            yield
        finally:
            with self._lock:
                self._there -= 1


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(path=self.path, headers=headers, body=orjson.loads(body))
        server = cast("ChatServer", self.server)
        with server.counted(asked), suppress(ConnectionError):
            match server.behaviour(asked):
                case Answer(status=status, body=answer, headers=more):
                    self._begin(status, {"Content-Length": str(len(answer)), **more})
                    self.wfile.write(answer)
                case Reset(half=half):
                    self._half(said=half)
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    self.connection.close()
                case Cut():
                    self._half(said=True)
                case Hang(drip=drip):
                    self._begin(200, {"Content-Length": "1000000"} if drip else {"Content-Length": "2"})
                    while not server.ended.wait(0.005 if drip else None):
                        self.wfile.write(b" ")

    def _begin(self, status: int, headers: dict[str, str]) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _half(self, *, said: bool) -> None:
        self.close_connection = True
        if said:
            self._begin(200, {"Content-Length": "100"})
            self.wfile.write(b'{"choices": [')

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the library's name
        """Say nothing."""


@contextmanager
def chat_server(*script: Deed, behaviour: Behaviour | None = None) -> Generator[ChatServer]:
    """A server while the block runs.

    Args:
        *script: What it does with each request in turn; the last deed is for all that follow.
        behaviour: What it does, where that is not a script.
    """
    with ChatServer(behaviour or _following(script)) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.ended.set()
            server.shutdown()
            thread.join()


def _following(script: Sequence[Deed]) -> Behaviour:
    left = list(script)
    lock = Lock()

    def behave(asked: Asked) -> Deed:
        del asked
        with lock:
            return left.pop(0) if len(left) > 1 else left[0]

    return behave
