"""`/v1/mcp/<session>`: a session of the server as an MCP server over streamable HTTP."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from fastapi import Request, Response

from palaestra.errors import CapabilityError
from palaestra.serving.access import Caller, KeyScope
from palaestra.serving.core import ItemBatch
from palaestra.serving.http.requests import check_json, check_origin, read_body
from palaestra.serving.http.route_answers import RouteAnswer
from palaestra.serving.http.server import WorldServer

if TYPE_CHECKING:
    from palaestra.serving.mcp import SessionEndpoint


def serve_mcp(server: WorldServer) -> Callable[[Request], Awaitable[RouteAnswer]]:
    """The route that answers MCP clients, each as a player."""
    endpoint: SessionEndpoint | None = None

    async def answer(request: Request) -> RouteAnswer:
        nonlocal endpoint
        check_origin(request)
        caller = server.identify(request)
        server.rates.admit_request(caller.key_id)
        caller.require(KeyScope.PLAY)
        body = await read_body(request, server.limits)
        server.rates.admit_bytes(caller.key_id, len(body))
        check_json(body)
        if endpoint is None:  # loading takes a second, and most servers never need it
            endpoint = await asyncio.to_thread(_make_endpoint, server)
        player = replace(caller, scopes=frozenset({KeyScope.PLAY}))
        answered = await endpoint.answer(request.scope, body, caller=player, session=request.path_params["session"])
        response = Response(answered.body, answered.status, headers=answered.headers)
        return RouteAnswer(response=response, caller=caller, items=1)

    return answer


def _make_endpoint(server: WorldServer) -> "SessionEndpoint":
    try:
        from palaestra.serving.mcp import SessionEndpoint  # noqa: PLC0415
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        raise CapabilityError(
            f"the server cannot speak MCP: {package} is not installed there; `pip install 'palaestra[serve]'`"
        ) from error
    return SessionEndpoint(server.reader, partial(_run, server))


async def _run(server: WorldServer, caller: Caller, batch: ItemBatch) -> bytes:
    return (await server.run(caller, batch)).body
