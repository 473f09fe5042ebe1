"""A link that breaks: it cuts the connection before some requests, and in place of some answers."""

import re
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


class CuttingLink:
    """Listens on a port of its own.

    Args:
        url: The server behind it.
        every: Which answers are cut off: every how many-th. The server has run their requests.
        before: Which requests are cut off: every how many-th. The server never sees them. 0 for none.
    """

    def __init__(self, url: str, every: int, *, before: int = 0) -> None:
        host, port = url.removeprefix("http://").split(":")
        self._server = (host, int(port))
        self._every = every
        self._before = before
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.read = self.carried = self.cuts = self.kept_back = 0
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()

    def _accept(self) -> None:
        while True:
            try:
                link, _ = self._listening.accept()
            except OSError:
                return
            with link, suppress(ConnectionError):
                while request := read_message(link):
                    self.read += 1
                    if self._before and self.read % self._before == 0:
                        self.kept_back += 1
                        break
                    with socket.create_connection(self._server) as server:
                        server.sendall(request)
                        answer = read_message(server)
                    self.carried += 1
                    if self.carried % self._every == 0:
                        self.cuts += 1
                        break
                    link.sendall(answer)

    def close(self) -> None:
        """Carry nothing any more."""
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join()


def read_message(link: socket.socket) -> bytes:
    """One request or answer, whole; nothing where the other side has closed."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = link.recv(65_536)
        if not part:
            return b""
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    length = _LENGTH.search(head)
    while len(body) < (int(length[1]) if length else 0):
        part = link.recv(65_536)
        if not part:
            return b""
        body += part
    return head + b"\r\n\r\n" + body


@contextmanager
def cut_link(url: str, *, every: int, before: int = 0) -> Generator[CuttingLink]:
    """A link to a server that is closed when the block is left."""
    link = CuttingLink(url, every, before=before)
    try:
        yield link
    finally:
        link.close()
