"""uvicorn's WebSocket protocol with further bounds: frames of a message, waiting messages, unread answers."""

import asyncio

from uvicorn._types import ASGISendEvent
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import CloseCode, Frame

_PARTS = 1_024
"""Maximum frames of one message. Empty frames add nothing to its size, so a bound of bytes does not limit them."""
_WAITING = 256
"""Maximum messages that were received and are not yet processed."""


class BoundedWebSocketProtocol(WebSocketsSansIOProtocol):
    """One WebSocket connection. A client that breaks a bound is disconnected.

    Attributes:
        drop_seconds: How long unread output waits for the client after the connection has ended.
    """

    drop_seconds = 10.0

    def handle_cont(self, event: Frame) -> None:
        """Receive a further frame of a message."""
        if len(self.frames) >= _PARTS:
            self._cut(CloseCode.MESSAGE_TOO_BIG, f"a message has at most {_PARTS} frames")
            return
        super().handle_cont(event)

    def send_receive_event_to_app(self) -> None:
        """Queue a message that has arrived."""
        if self.queue.qsize() >= _WAITING:
            self._cut(CloseCode.POLICY_VIOLATION, f"send at most {_WAITING} messages before reading answers")
            return
        super().send_receive_event_to_app()

    def _cut(self, code: CloseCode, reason: str) -> None:
        if not self.close_sent:
            self.conn.fail(code, reason)
            self.handle_parser_exception()

    def keepalive_timeout(self) -> None:
        """Drop a client that answers no ping: it may never read anything, not even the close frame."""
        super().keepalive_timeout()
        self.transport.abort()

    async def send(self, message: ASGISendEvent) -> None:
        """Send a message of the application. Refusing a connection is an answer, not a fault."""
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body", False):
            self.handshake_complete = True

    async def run_asgi(self) -> None:
        """Serve the connection. Output that the client has not read some time after the end is dropped."""
        try:
            await super().run_asgi()
        finally:
            asyncio.get_running_loop().call_later(self.drop_seconds, self.transport.abort)
