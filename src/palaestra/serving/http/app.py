"""The HTTP interface: a route for each operation, and routes about the server.

Every operation is `POST /v1/<name>` with `{"items": [...]}`, answered by `{"results": [...]}` in the same order; each
result is `{"ok": ...}` or `{"error": {"code", "message"}}`. A request that fails as a whole has an HTTP status and an
error of the same form. `/v1/socket` takes the same over one WebSocket connection, and `/v1/mcp/<session>` is an MCP
server of a session's tools. `/v1/openenv/<world>/ws` speaks OpenEnv's protocol.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import orjson
from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

from palaestra.serving.access import Caller, KeyScope
from palaestra.serving.core import OPERATIONS, Operation
from palaestra.serving.http.description import describe_app
from palaestra.serving.http.mcp_route import serve_mcp
from palaestra.serving.http.metrics import CONTENT_TYPE
from palaestra.serving.http.openenv_route import serve_openenv
from palaestra.serving.http.requests import read_body
from palaestra.serving.http.route_answers import JSON, NOBODY, RouteAnswer, observe_route
from palaestra.serving.http.server import WorldServer
from palaestra.serving.http.socket_route import serve_socket
from palaestra.version import __version__


def make_app(server: WorldServer) -> FastAPI:
    """The application that serves a server of worlds."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        await server.start()
        yield
        await server.stop()

    # The documentation pages would load scripts from other hosts.
    app = FastAPI(title="Palaestra", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None)
    for operation in OPERATIONS.values():
        _add_operation(app, server, operation)
    for name, answer in _ABOUT.items():
        _add_route(app, server, name, answer)
    _add_mcp(app, server)
    app.add_api_websocket_route("/v1/socket", serve_socket(server))
    app.add_api_websocket_route("/v1/openenv/{world}/ws", serve_openenv(server))

    described = describe_app(app, server.reader)
    app.openapi = lambda: described  # type: ignore[method-assign]

    @app.exception_handler(HTTPException)
    async def refuse(_: Request, error: HTTPException) -> Response:  # pyright: ignore[reportUnusedFunction]
        message = "there is no such route; /openapi.json lists them" if error.status_code == 404 else str(error.detail)
        body = orjson.dumps({"error": {"code": "route", "message": message}})
        return Response(body, error.status_code, headers=error.headers, media_type=JSON)

    return app


def _add_operation(app: FastAPI, server: WorldServer, operation: Operation) -> None:
    async def run(request: Request) -> RouteAnswer:
        caller = _admit(request, server)
        operation.check_scope(caller)
        body = await read_body(request, server.limits)
        server.rates.admit_bytes(caller.key_id, len(body))
        answer = await server.run(caller, server.reader.read(operation, body))
        return RouteAnswer(response=Response(answer.body, media_type=JSON), caller=caller, items=len(answer.results))

    app.add_api_route(
        f"/v1/{operation.name}",
        observe_route(server, operation.name, run),
        methods=["POST"],
        summary=operation.kind.__doc__,
        response_class=Response,
    )


def _add_route(
    app: FastAPI, server: WorldServer, name: str, answer: Callable[[Request, WorldServer], Awaitable[RouteAnswer]]
) -> None:
    async def run(request: Request) -> RouteAnswer:
        return await answer(request, server)

    app.add_api_route(f"/v1/{name}", observe_route(server, name, run), methods=["GET"], response_class=Response)


def _add_mcp(app: FastAPI, server: WorldServer) -> None:
    route = observe_route(server, "mcp", serve_mcp(server))
    summary = "A session's tools as an MCP server (streamable HTTP)."
    app.add_api_route("/v1/mcp/{session}", route, methods=["POST"], summary=summary, response_class=Response)


def _admit(request: Request, server: WorldServer) -> Caller:
    """The caller of a request, if it may call.

    Raises:
        AccessError: the key is missing, wrong or expired.
        LimitError: the key sends too much, or the server is stopping.
    """
    caller = server.identify(request)
    server.rates.admit_request(caller.key_id)
    return caller


async def _health(_: Request, server: WorldServer) -> RouteAnswer:
    """Whether the server accepts requests. It needs no key and reveals nothing else."""
    state, status = ("stopping", 503) if server.is_stopping else ("ok", 200)
    return RouteAnswer(response=Response(orjson.dumps({"status": state}), status, media_type=JSON), caller=NOBODY)


async def _worlds(request: Request, server: WorldServer) -> RouteAnswer:
    """The offered worlds."""
    caller = _admit(request, server)
    shown = [
        {"name": world.name, "shows_reward": world.shows_reward, "env_id": world.env_id} for world in server.worlds
    ]
    return RouteAnswer(response=Response(orjson.dumps({"worlds": shown}), media_type=JSON), caller=caller)


async def _sessions(request: Request, server: WorldServer) -> RouteAnswer:
    """The caller's sessions; with the scope `read`, everybody's."""
    caller = _admit(request, server)
    listed = await server.runner.list_sessions(caller)
    return RouteAnswer(response=Response(orjson.dumps({"sessions": listed}), media_type=JSON), caller=caller)


async def _metrics(request: Request, server: WorldServer) -> RouteAnswer:
    """The metrics."""
    caller = _admit(request, server)
    caller.require(KeyScope.READ)
    counts = await server.runner.counts()
    text = server.metrics.render(counts, pending=server.runner.pending, sockets=len(server.sockets))
    return RouteAnswer(response=Response(text, media_type=CONTENT_TYPE), caller=caller)


_ABOUT = {"health": _health, "worlds": _worlds, "sessions": _sessions, "metrics": _metrics}
