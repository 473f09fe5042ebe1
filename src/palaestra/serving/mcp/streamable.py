"""MCP's streamable HTTP for sessions: one POST at a time, answered as JSON.

Each request is independent: the server keeps nothing of it, so only the request needs a bound. Clients of protocol
versions with a handshake get a session id with the first answer. It only names their connection.
"""

import secrets
from collections.abc import Mapping, MutableMapping
from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from palaestra.record import record
from palaestra.serving.access import Caller
from palaestra.serving.core import ItemReader
from palaestra.serving.mcp.session_server import Context, McpCall, RunBatch, make_session_server

_CONNECTION = "mcp-session-id"
_VERSION = "mcp-protocol-version"
_CALL = "palaestra.mcp_call"


@record
class McpHttpAnswer:
    """An answer of MCP over HTTP."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class SessionEndpoint:
    """Answers the POSTs of MCP clients.

    Args:
        reader: Reads items.
        run: Runs them.
    """

    def __init__(self, reader: ItemReader, run: RunBatch) -> None:
        self._server = make_session_server(reader, run, _read_call)

    async def answer(self, scope: Mapping[str, Any], body: bytes, *, caller: Caller, session: str) -> McpHttpAnswer:
        """Answer one POST.

        Args:
            scope: The scope of the request. Any: ASGI.
            body: The complete body.
            caller: The sender.
            session: The session of the request.
        """
        stated = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        call = McpCall(caller=caller, session=session, connection=stated.get(_CONNECTION))
        exchange = _Exchange(body)
        manager = StreamableHTTPSessionManager(
            self._server, json_response=True, stateless=True, max_request_body_size=max(1, len(body))
        )
        async with manager.run():
            await manager.handle_request({**scope, _CALL: call}, exchange.receive, exchange.send)
        answered = exchange.answer()
        if stated.keys() & {_CONNECTION, _VERSION}:
            return answered
        return McpHttpAnswer(
            status=answered.status,
            headers={**answered.headers, _CONNECTION: secrets.token_urlsafe(16)},
            body=answered.body,
        )


def _read_call(context: Context) -> McpCall:
    assert context.request is not None, "the transport gives each handler its request"
    call: McpCall = context.request.scope[_CALL]
    return call


class _Exchange:
    """The `receive` and `send` of an ASGI application, for a complete body."""

    def __init__(self, body: bytes) -> None:
        self._waiting: list[MutableMapping[str, Any]] = [{"type": "http.request", "body": body, "more_body": False}]
        self._sent: list[MutableMapping[str, Any]] = []

    async def receive(self) -> MutableMapping[str, Any]:
        return self._waiting.pop() if self._waiting else {"type": "http.disconnect"}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        self._sent.append(message)

    def answer(self) -> McpHttpAnswer:
        start, *parts = self._sent
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in start["headers"]}
        body = b"".join(part.get("body", b"") for part in parts)
        return McpHttpAnswer(status=start["status"], headers=headers, body=body)
