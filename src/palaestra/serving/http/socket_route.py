"""`/v1/socket`: the operations of the HTTP interface over one WebSocket connection.

Messages of a connection are answered one after the other, in their order. A connection that is cut leaves its sessions
to their leases; another connection, or the HTTP routes, go on with them. Each message shows the key again, so one that
was revoked ends the connection. Instead of refusing a client that sends too fast, the server reads its next message
later.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from starlette.websockets import WebSocket, WebSocketDisconnect

from palaestra.errors import AccessError, LimitError, PalaestraError
from palaestra.serving.access import Caller
from palaestra.serving.core import STATUS, BatchAnswer, code_of, error_json
from palaestra.serving.http.requests import check_origin
from palaestra.serving.http.route_answers import NOBODY, refuse
from palaestra.serving.http.server import WorldServer
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
_OPEN = "socket"
_POLICY_VIOLATION = 1008


def serve_socket(server: WorldServer) -> Callable[[WebSocket], Awaitable[None]]:
    """The route that takes WebSocket connections."""

    async def serve(websocket: WebSocket) -> None:
        begun = time.perf_counter()
        try:
            check_origin(websocket)
            caller = server.identify(websocket)
            server.sockets.open(caller.key_id)
        except PalaestraError as error:
            answer = refuse(error)
            seconds, code = time.perf_counter() - begun, code_of(error)
            server.record_request(_OPEN, status=answer.status_code, seconds=seconds, caller=NOBODY, items=0, code=code)
            await websocket.send_denial_response(answer)
            return
        try:
            server.record_request(
                _OPEN, status=101, seconds=time.perf_counter() - begun, caller=caller, items=0, code=None
            )
            await websocket.accept()
            await SocketConversation(websocket, server, caller).run()
        except (WebSocketDisconnect, TimeoutError):
            pass  # the client is gone, or does not read
        finally:
            server.sockets.close(caller.key_id)

    return serve


class SocketConversation:
    """One connection that was accepted.

    Args:
        websocket: The connection.
        server: Whose operations it takes.
        caller: Who opened it.
    """

    def __init__(self, websocket: WebSocket, server: WorldServer, caller: Caller) -> None:
        self._websocket = websocket
        self._server = server
        self._caller = caller
        self._latest = -1

    async def run(self) -> None:
        """Answer messages until the client is gone, or its key is no longer good.

        Raises:
            WebSocketDisconnect: the client is gone.
            TimeoutError: the client does not read.
        """
        while True:
            data = await self._receive()
            await self._wait_for_room(len(data))
            try:
                self._caller = self._server.identify(self._websocket)
            except AccessError as error:
                await self._send(write_answer(None, error_json(error)))
                await self._websocket.close(_POLICY_VIOLATION)
                return
            except LimitError as error:
                await self._send(write_answer(None, error_json(error)))
                continue
            await self._answer(data)

    async def _receive(self) -> bytes:
        message = await self._websocket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1006))
        data: bytes | None = message.get("bytes")
        return str(message["text"]).encode() if data is None else data

    async def _wait_for_room(self, size: int) -> None:
        """Wait until the key may send a message of this size."""
        rates, key_id = self._server.rates, self._caller.key_id
        await _repeat(lambda: rates.admit_request(key_id))
        await _repeat(lambda: rates.admit_bytes(key_id, size))

    async def _answer(self, data: bytes) -> None:
        begun = time.perf_counter()
        name, code, items = _OPEN, None, 0
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
        status = 200 if code is None else STATUS[code]
        seconds = time.perf_counter() - begun
        self._server.record_request(name, status=status, seconds=seconds, caller=self._caller, items=items, code=code)

    async def _refuse(self, message: SocketMessage | None, error: Exception) -> None:
        await self._send(write_answer(None if message is None else message.id, error_json(error)))

    async def _run(self, id_: int, request: SocketRequest) -> int:
        """Run the items of a message and send their answers; how many there were."""
        server, operation = self._server, request.operation
        operation.check_scope(self._caller)
        items = server.operations.read_items(operation, request.items)
        if not request.is_streamed:
            answer = await server.thread.run(server.operations.run, operation, self._caller, items)
            server.metrics.count_items(operation.name, answer)
            await self._send(write_answer(id_, answer.body))
            return len(items)
        errors: dict[str, int] = {}
        for index, item in enumerate(items):
            result, code = await server.thread.run(server.operations.run_item, operation, self._caller, item)
            if code is not None:
                errors[code] = errors.get(code, 0) + 1
            await self._send(write_streamed(id_, index, result))
        server.metrics.count_items(operation.name, BatchAnswer(body=b"", items=len(items), errors=errors))
        await self._send(write_done(id_, len(items)))
        return len(items)

    async def _send(self, text: str) -> None:
        async with asyncio.timeout(self._server.limits.socket_seconds):
            await self._websocket.send_text(text)


async def _repeat(admit: Callable[[], None]) -> None:
    """Wait until a rate admits what is counted."""
    while True:
        try:
            return admit()
        except LimitError as error:
            await asyncio.sleep(error.retry_after or 0.0)
