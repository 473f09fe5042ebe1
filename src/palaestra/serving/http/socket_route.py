"""`/v1/socket`: the operations of the HTTP interface over one WebSocket connection.

Messages of a connection are answered in order, one after another. If a connection breaks, its sessions live until their
leases expire, and another connection or the HTTP routes can continue them. The key is checked with each message, so
revoking it ends the connection. The server does not refuse a client that sends too fast, but reads its next message
later.
"""

import logging
import time
from collections.abc import Awaitable, Callable

from starlette.websockets import WebSocket, WebSocketDisconnect

from palaestra.errors import PalaestraError
from palaestra.serving.core import code_of, error_json
from palaestra.serving.http.server import WorldServer
from palaestra.serving.http.socket_connection import SocketConnection, serve_connections
from palaestra.serving.http.socket_messages import (
    SocketMessage,
    SocketRequest,
    read_message,
    read_request,
    write_answer,
    write_done,
    write_streamed,
)

_LOG = logging.getLogger("palaestra.serving")
_NAME = "socket"


def serve_socket(server: WorldServer) -> Callable[[WebSocket], Awaitable[None]]:
    """The route that accepts WebSocket connections."""

    async def converse(connection: SocketConnection) -> None:
        await SocketConversation(connection).run()

    return serve_connections(server, _NAME, converse)


class SocketConversation:
    """The messages of one connection.

    Args:
        connection: The connection.
    """

    def __init__(self, connection: SocketConnection) -> None:
        self._connection = connection
        self._server = connection.server
        self._latest = -1

    async def run(self) -> None:
        """Answer messages until the client is gone, or its key is no longer valid.

        Raises:
            WebSocketDisconnect: one of them is the case.
            TimeoutError: the client does not read.
        """
        while True:
            data = await self._connection.receive()
            if await self._connection.identify(lambda error: write_answer(None, error_json(error))):
                await self._answer(data)

    async def _answer(self, data: bytes) -> None:
        begun = time.perf_counter()
        name, code, items = _NAME, None, 0
        message: SocketMessage | None = None
        try:
            message = read_message(data)
            request = read_request(message, latest=self._latest)
            self._latest, name = message.id, request.operation.name
            items = await self._run(message.id, request)
        except PalaestraError as error:
            code = code_of(error)
            await self._refuse(message, error)
        except (WebSocketDisconnect, TimeoutError):
            raise
        except Exception as error:
            code = "fault"
            _LOG.exception("request failed", extra={"operation": name})
            await self._refuse(message, error)
        self._connection.record(name, begun=begun, items=items, code=code)

    async def _refuse(self, message: SocketMessage | None, error: Exception) -> None:
        await self._connection.send(write_answer(None if message is None else message.id, error_json(error)))

    async def _run(self, id_: int, request: SocketRequest) -> int:
        """Run the items of a message and send their answers; return their number."""
        server, caller, operation = self._server, self._connection.caller, request.operation
        operation.check_scope(caller)
        batch = server.reader.read_items(operation, request.items)
        if not request.is_streamed:
            answer = await server.run(caller, batch)
            await self._connection.send(write_answer(id_, answer.body))
            return len(batch.items)
        for index in range(len(batch.items)):
            [result] = (await server.run(caller, batch.pick([index]))).results
            await self._connection.send(write_streamed(id_, index, result))
        await self._connection.send(write_done(id_, len(batch.items)))
        return len(batch.items)
