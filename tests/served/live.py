"""A door on a real socket, served by a thread of the test, so that a test sees the server from inside as well."""

import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from itertools import count
from typing import Any

import orjson
import uvicorn
from websockets.sync.client import ClientConnection, connect

from palaestra.serving.http.run import listen, make_config
from served import Door


class LiveDoor(Door):
    """A door that listens on a free port of this machine.

    Attributes:
        url: Where it listens.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.uvicorn = uvicorn.Server(make_config(self.server))
        listening = listen("127.0.0.1", 0)
        self.host = f"127.0.0.1:{listening.getsockname()[1]}"
        self.url = f"http://{self.host}"
        self._thread = threading.Thread(target=self.uvicorn.run, kwargs={"sockets": [listening]}, daemon=True)
        self._thread.start()

    def socket(
        self,
        who: str | None,
        *,
        headers: Mapping[str, str] | None = None,
        max_queue: int = 16,
        path: str = "/v1/socket",
    ) -> ClientConnection:
        """A WebSocket connection to the server."""
        sent = dict(headers or {})
        if who is not None:
            sent["Authorization"] = f"Bearer {self.tokens.get(who, who)}"
        address = f"ws://{self.host}{path}"
        return connect(
            address, additional_headers=sent, proxy=None, compression=None, max_queue=max_queue, ping_interval=None
        )

    def close(self) -> None:
        """Stop the server, as a signal does, and wait for its end."""
        self.uvicorn.should_exit = True
        self._thread.join(timeout=60)
        assert not self._thread.is_alive(), "the server has not ended"
        super().close()


@contextmanager
def open_live_door(**settings: Any) -> Generator[LiveDoor]:
    """A door on a socket that is closed again."""
    door = LiveDoor(**settings)
    try:
        yield door
    finally:
        door.close()


class Talk:
    """One WebSocket connection of a client that numbers its messages.

    Args:
        socket: The connection.
    """

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self._numbers = count(1)

    def send(self, operation: str, *items: Mapping[str, Any], **fields: Any) -> int:
        """Send a message and do not wait; its id."""
        id_ = next(self._numbers)
        message = {"id": id_, "operation": operation, "items": items, **fields}
        self.socket.send(orjson.dumps(message).decode())
        return id_

    def receive(self) -> dict[str, Any]:
        """The next answer."""
        answer: dict[str, Any] = orjson.loads(self.socket.recv(timeout=60))
        return answer

    def send_all(self, operation: str, *items: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The results of a message."""
        id_ = self.send(operation, *items)
        answer = self.receive()
        assert answer["id"] == id_, answer
        results: list[dict[str, Any]] = answer["results"]
        return results

    def ask(self, operation: str, **item: Any) -> dict[str, Any]:
        """The answer to one item that succeeds."""
        [result] = self.send_all(operation, item)
        assert "ok" in result, result
        return dict(result["ok"])

    def begin(self, *, seed: int = 0, **creation: Any) -> str:
        """A session with an episode."""
        session = str(self.ask("create", **{"world": "library", **creation})["session"])
        self.ask("reset", session=session, seed=seed)
        return session
