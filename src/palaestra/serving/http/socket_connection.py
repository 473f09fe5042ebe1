"""WebSocket connections of any protocol: access, rate limits, and timeouts for clients that do not read."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from starlette.websockets import WebSocket, WebSocketDisconnect

from palaestra.errors import AccessError, LimitError, PalaestraError
from palaestra.serving.access import Caller
from palaestra.serving.core import STATUS, code_of
from palaestra.serving.http.requests import check_origin
from palaestra.serving.http.route_answers import NOBODY, refuse
from palaestra.serving.http.server import WorldServer

_POLICY_VIOLATION = 1008


def serve_connections(
    server: WorldServer, name: str, converse: Callable[["SocketConnection"], Awaitable[None]]
) -> Callable[[WebSocket], Awaitable[None]]:
    """A route that accepts WebSocket connections.

    Args:
        server: The server with its keys and limits.
        name: The route's name in metrics and logs.
        converse: Handles an accepted connection.
    """

    async def serve(websocket: WebSocket) -> None:
        begun = time.perf_counter()
        try:
            check_origin(websocket)
            caller = server.identify(websocket)
            server.sockets.open(caller.key_id)
        except PalaestraError as error:
            answer = refuse(error)
            seconds, code = time.perf_counter() - begun, code_of(error)
            server.record_request(name, status=answer.status_code, seconds=seconds, caller=NOBODY, items=0, code=code)
            await websocket.send_denial_response(answer)
            return
        try:
            seconds = time.perf_counter() - begun
            server.record_request(name, status=101, seconds=seconds, caller=caller, items=0, code=None)
            await websocket.accept()
            await converse(SocketConnection(websocket, server, caller))
        except (WebSocketDisconnect, TimeoutError):
            pass  # the client is gone, or does not read
        finally:
            server.sockets.close(caller.key_id)

    return serve


class SocketConnection:
    """An accepted connection.

    Attributes:
        websocket: The connection.
        server: The server.
        caller: The sender of the last message.
    """

    def __init__(self, websocket: WebSocket, server: WorldServer, caller: Caller) -> None:
        self.websocket = websocket
        self.server = server
        self.caller = caller

    async def receive(self) -> bytes:
        """The next message, once the key's rate admits its size.

        Raises:
            WebSocketDisconnect: the client is gone.
        """
        message = await self.websocket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1006))
        found: bytes | None = message.get("bytes")
        data = str(message["text"]).encode() if found is None else found
        rates, key_id = self.server.rates, self.caller.key_id
        await _repeat(lambda: rates.admit_request(key_id))
        await _repeat(lambda: rates.admit_bytes(key_id, len(data)))
        return data

    async def identify(self, write_error: Callable[[PalaestraError], str]) -> bool:
        """Check the key again; return whether to answer further messages. If not, tell the client why.

        Args:
            write_error: Writes an error in the protocol's form.

        Raises:
            WebSocketDisconnect: the key is no longer valid, and the connection is closed.
        """
        try:
            self.caller = self.server.identify(self.websocket)
        except (AccessError, LimitError) as error:
            await self.send(write_error(error))
            if isinstance(error, AccessError):
                await self.websocket.close(_POLICY_VIOLATION)
                raise WebSocketDisconnect(_POLICY_VIOLATION) from error
            return False
        return True

    async def send(self, text: str) -> None:
        """Send a message.

        Raises:
            WebSocketDisconnect: the client is gone.
            TimeoutError: the client does not read.
        """
        async with asyncio.timeout(self.server.limits.socket_seconds):
            await self.websocket.send_text(text)

    def record(self, name: str, *, begun: float, items: int, code: str | None) -> None:
        """Count and log an answered message; `begun` is a time of `time.perf_counter`."""
        status = 200 if code is None else STATUS[code]
        seconds = time.perf_counter() - begun
        self.server.record_request(name, status=status, seconds=seconds, caller=self.caller, items=items, code=code)


async def _repeat(admit: Callable[[], None]) -> None:
    """Wait until `admit` no longer raises a rate limit."""
    while True:
        try:
            return admit()
        except LimitError as error:
            await asyncio.sleep(error.retry_after or 0.0)
