"""The HTTP interface: a route for each operation, and routes about the server.

Every operation is `POST /v1/<name>` with `{"items": [...]}`, answered by `{"results": [...]}` in the same order; each
result is `{"ok": ...}` or `{"error": {"code", "message"}}`. A request that fails as a whole has an HTTP status and an
error of the same form.
"""

import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import orjson
from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from palaestra.errors import LimitError, PalaestraError
from palaestra.record import record
from palaestra.serving.access import Caller, KeyScope
from palaestra.serving.core import CLOSE, OPERATIONS, STATUS, Operation, code_of, error_json
from palaestra.serving.http.metrics import CONTENT_TYPE
from palaestra.serving.http.requests import BodyTooLargeError, BodyTooSlowError, caller_of, read_body
from palaestra.serving.http.server import WorldServer
from palaestra.version import __version__

_LOG = logging.getLogger("palaestra.serving")
_JSON = "application/json"
_NOBODY = Caller(key_id="-", owner="-", scopes=frozenset())


@record
class RouteAnswer:
    """An answer and what the log says of it."""

    response: Response
    caller: Caller
    items: int = 0


def make_app(server: WorldServer) -> FastAPI:
    """The application that serves a server of worlds."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        await server.start()
        yield
        await server.stop()

    # The pages of documentation would load scripts from elsewhere.
    app = FastAPI(title="Palaestra", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None)
    for operation in (*OPERATIONS.values(), CLOSE):
        _add_operation(app, server, operation)
    _add_route(app, server, "health", _health)
    _add_route(app, server, "worlds", _worlds)
    _add_route(app, server, "sessions", _sessions)
    _add_route(app, server, "metrics", _metrics)

    @app.exception_handler(HTTPException)
    async def refuse(_: Request, error: HTTPException) -> Response:  # pyright: ignore[reportUnusedFunction]
        message = "there is no such route; /openapi.json lists them" if error.status_code == 404 else str(error.detail)
        body = orjson.dumps({"error": {"code": "route", "message": message}})
        return Response(body, error.status_code, headers=error.headers, media_type=_JSON)

    return app


def _add_operation(app: FastAPI, server: WorldServer, operation: Operation) -> None:
    async def run(request: Request) -> RouteAnswer:
        caller = _admit(request, server)
        if operation is CLOSE and KeyScope.ADMIN in caller.scopes:
            pass  # an administrator closes sessions without being a player
        else:
            caller.require(operation.scope)
        body = await read_body(request, server.limits)
        server.rates.admit_bytes(caller.key_id, len(body))
        items = server.operations.read(operation, body)
        answer = await server.thread.run(server.operations.run, operation, caller, items)
        server.metrics.count_items(operation.name, answer)
        return RouteAnswer(response=Response(answer.body, media_type=_JSON), caller=caller, items=answer.items)

    body = {"required": True, "content": {_JSON: {"schema": server.operations.schema(operation.name)}}}
    app.add_api_route(
        f"/v1/{operation.name}",
        _observe(server, operation.name, run),
        methods=["POST"],
        summary=operation.kind.__doc__,
        openapi_extra={"requestBody": body},
        response_class=Response,
    )


def _add_route(
    app: FastAPI, server: WorldServer, name: str, answer: Callable[[Request, WorldServer], Awaitable[RouteAnswer]]
) -> None:
    async def run(request: Request) -> RouteAnswer:
        return await answer(request, server)

    app.add_api_route(f"/v1/{name}", _observe(server, name, run), methods=["GET"], response_class=Response)


def _observe(
    server: WorldServer, name: str, run: Callable[[Request], Awaitable[RouteAnswer]]
) -> Callable[[Request], Awaitable[Response]]:
    """A route whose answers are counted and logged, and whose errors are answers."""

    async def route(request: Request) -> Response:
        begun = time.perf_counter()
        code = None
        try:
            answered = await run(request)
        except PalaestraError as error:
            code = code_of(error)
            answered = RouteAnswer(response=_refusal(error), caller=_NOBODY)
        except ClientDisconnect:
            code = "disconnected"
            answered = RouteAnswer(response=Response(status_code=400), caller=_NOBODY)
        except Exception as error:
            _LOG.exception("request failed", extra={"operation": name})
            code = "fault"
            answered = RouteAnswer(response=Response(error_json(error), 500, media_type=_JSON), caller=_NOBODY)
        seconds = time.perf_counter() - begun
        status = answered.response.status_code
        server.metrics.count_request(name, status, seconds)
        told = {"operation": name, "status": status, "ms": round(seconds * 1e3, 2), "items": answered.items}
        told |= {"key_id": answered.caller.key_id, "owner": answered.caller.owner}
        _LOG.info("request", extra=told if code is None else {**told, "code": code})
        return answered.response

    return route


def _admit(request: Request, server: WorldServer) -> Caller:
    """Who calls, where they may.

    Raises:
        AccessError: the key is missing, wrong or expired.
        LimitError: the key sends too much, or the server stops.
    """
    caller = caller_of(request, server.keys)
    server.rates.admit_request(caller.key_id)
    if server.is_stopping:
        raise LimitError("the server stops; its sessions are lost", 5.0)
    return caller


def _refusal(error: PalaestraError) -> Response:
    headers: dict[str, str] = {}
    status = STATUS[code_of(error)]
    if isinstance(error, BodyTooLargeError):
        status = 413
    elif isinstance(error, BodyTooSlowError):
        status = 408
    elif status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, LimitError) and error.retry_after is not None:
        headers["Retry-After"] = str(max(1, round(error.retry_after)))
    if status in (401, 403, 408, 413):
        headers["Connection"] = "close"  # the body was not read
    return Response(error_json(error), status, headers=headers, media_type=_JSON)


async def _health(_: Request, server: WorldServer) -> RouteAnswer:
    """Whether the server takes requests. It needs no key and tells nothing else."""
    state, status = ("stopping", 503) if server.is_stopping else ("ok", 200)
    return RouteAnswer(response=Response(orjson.dumps({"status": state}), status, media_type=_JSON), caller=_NOBODY)


async def _worlds(request: Request, server: WorldServer) -> RouteAnswer:
    """The worlds on offer."""
    caller = _admit(request, server)
    shown = [
        {"name": world.name, "shows_reward": world.shows_reward, "env_id": world.env_id} for world in server.core.worlds
    ]
    return RouteAnswer(response=Response(orjson.dumps({"worlds": shown}), media_type=_JSON), caller=caller)


async def _sessions(request: Request, server: WorldServer) -> RouteAnswer:
    """The caller's sessions; with the scope to read everybody's."""
    caller = _admit(request, server)
    listed = await server.thread.run(server.core.listing, caller)
    return RouteAnswer(response=Response(orjson.dumps({"sessions": listed}), media_type=_JSON), caller=caller)


async def _metrics(request: Request, server: WorldServer) -> RouteAnswer:
    """The metrics."""
    caller = _admit(request, server)
    caller.require(KeyScope.READ)
    text = await server.thread.run_always(server.metrics.render, server.core, pending=server.thread.pending)
    return RouteAnswer(response=Response(text, media_type=CONTENT_TYPE), caller=caller)
