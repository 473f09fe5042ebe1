"""`/v1/openenv/<world>/ws`: a world as an OpenEnv environment over its WebSocket protocol.

As in OpenEnv, a connection is a session: it begins with the first reset and closes with the connection, which makes its
episode void unless it has ended. A client sees what a player sees. OpenEnv's client sends no key, so it needs a server
without keys, or a proxy that adds the header.
"""

import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

import orjson
from starlette.websockets import WebSocket, WebSocketDisconnect

from palaestra.errors import EpisodeOverError, PalaestraError, SessionError, SessionLostError
from palaestra.serving.access import KeyScope
from palaestra.serving.core import OPERATIONS, code_of, error_json, error_of
from palaestra.serving.http.openenv_messages import (
    OpenEnvMessage,
    openenv_code,
    read_action,
    read_openenv,
    write_observation,
    write_openenv_error,
    write_state,
    write_tools,
)
from palaestra.serving.http.server import WorldServer
from palaestra.serving.http.socket_connection import SocketConnection, serve_connections

_LOG = logging.getLogger("palaestra.serving")
_NAME = "openenv"


def serve_openenv(server: WorldServer) -> Callable[[WebSocket], Awaitable[None]]:
    """The route that takes OpenEnv's clients."""

    async def converse(connection: SocketConnection) -> None:
        conversation = OpenEnvConversation(connection, world=connection.websocket.path_params["world"])
        try:
            await conversation.run()
        finally:
            await conversation.close()

    return serve_connections(server, _NAME, converse)


class OpenEnvConversation:
    """The messages of one connection.

    Args:
        connection: The connection.
        world: The name of the served world.
    """

    def __init__(self, connection: SocketConnection, *, world: str) -> None:
        self._connection = connection
        self._world = world
        self._session: str | None = None
        self._turns = 0

    async def run(self) -> None:
        """Answer messages until the client closes or disappears.

        Raises:
            WebSocketDisconnect: the client is gone, or its key is no longer valid.
            TimeoutError: the client does not read.
        """
        while True:
            data = await self._connection.receive()
            if not await self._connection.identify(_refuse):
                continue
            begun, code = time.perf_counter(), None
            try:
                message = read_openenv(data)
                if message.type == "close":
                    return
                await self._connection.send(await self._answer(message))
            except PalaestraError as error:
                code = code_of(error)
                await self._connection.send(_refuse(error))
            except (WebSocketDisconnect, TimeoutError):
                raise
            except Exception as error:
                code = "fault"
                _LOG.exception("request failed", extra={"operation": _NAME})
                await self._connection.send(write_openenv_error(orjson.loads(error_json(error))["error"]))
            self._connection.record(_NAME, begun=begun, items=1, code=code)

    async def close(self) -> None:
        """Close the session."""
        session, self._session = self._session, None
        server = self._connection.server
        if session is not None and not server.is_stopping:
            operation = OPERATIONS["close"]
            batch = server.reader.read_items(operation, [{"session": session}])
            await server.runner.run_always(self._connection.caller, batch)

    async def _answer(self, message: OpenEnvMessage) -> str:
        if message.type == "reset":
            return await self._reset(message.data)
        if message.type == "state":
            return write_state(self._session, self._turns)
        if self._session is None:
            raise EpisodeOverError("reset first: no episode has begun")
        if message.is_listing:
            shown = await self._ask("observe", session=self._session, tools=True)
            return write_tools(shown["tools"], end=shown["end"])
        shown = await self._ask("step", session=self._session, action=read_action(message.data))
        self._turns = shown["turn"]
        texts = [m["content"] for m in shown["messages"] if m["role"] == "tool"]
        return write_observation(
            shown["messages"],
            end=shown["end"],
            reward=shown.get("reward"),
            tool_name=str(message.data.get("tool_name") or message.data.get("tool") or ""),
            result=texts[0] if texts else None,
            error=None,
        )

    async def _reset(self, data: Mapping[str, Any]) -> str:
        seed = data.get("seed")
        item = {"seed": secrets.randbelow(2**31) if seed is None else seed, "task": data.get("task")}
        shown = None
        if self._session is not None:
            try:
                shown = await self._ask("reset", session=self._session, **item)
            except (SessionError, SessionLostError):  # its lease may have expired between two episodes
                self._session = None
        if shown is None:
            self._session = str((await self._ask("create", world=self._world, view="play"))["session"])
            shown = await self._ask("reset", session=self._session, **item)
        self._turns = 0
        about = {"task": shown["task"], "seed": shown["seed"]}
        return write_observation(shown["messages"], end=None, reward=None, metadata=about)

    async def _ask(self, name: str, **item: Any) -> dict[str, Any]:
        """The answer to one item, as a player. Any: JSON.

        Raises:
            PalaestraError: it failed.
        """
        result: dict[str, Any] = orjson.loads(await self._run(name, item))
        if "error" in result:
            raise error_of(result["error"])
        answer: dict[str, Any] = result["ok"]
        return answer

    async def _run(self, name: str, item: dict[str, Any]) -> bytes:
        server, operation = self._connection.server, OPERATIONS[name]
        caller = self._connection.caller
        caller.require(KeyScope.PLAY)
        player = replace(caller, scopes=frozenset({KeyScope.PLAY}))
        [result] = (await server.run(player, server.reader.read_items(operation, [item]))).results
        return result


def _refuse(error: PalaestraError) -> str:
    described: dict[str, Any] = orjson.loads(error_json(error))["error"]
    return write_openenv_error(described, openenv_code(error))
