"""The answers of routes: errors become answers, and each request is counted and logged."""

import logging
import time
from collections.abc import Awaitable, Callable

from fastapi import Request, Response
from starlette.requests import ClientDisconnect

from palaestra.errors import LimitError, PalaestraError
from palaestra.record import record
from palaestra.serving.access import Caller
from palaestra.serving.core import STATUS, code_of, error_json
from palaestra.serving.http.requests import BodyTooLargeError, BodyTooSlowError, OriginError
from palaestra.serving.http.server import WorldServer

_LOG = logging.getLogger("palaestra.serving")
JSON = "application/json"
NOBODY = Caller(key_id="-", owner="-", scopes=frozenset())
"""The caller in the log if none was recognised."""


@record
class RouteAnswer:
    """An answer and its fields for the log."""

    response: Response
    caller: Caller
    items: int = 0


def observe_route(
    server: WorldServer, name: str, run: Callable[[Request], Awaitable[RouteAnswer]]
) -> Callable[[Request], Awaitable[Response]]:
    """Wrap a route: count and log its answers, and turn errors into answers."""

    async def route(request: Request) -> Response:
        begun = time.perf_counter()
        code = None
        try:
            answered = await run(request)
        except PalaestraError as error:
            code = code_of(error)
            answered = RouteAnswer(response=refuse(error), caller=NOBODY)
        except ClientDisconnect:
            code = "disconnected"
            answered = RouteAnswer(response=Response(status_code=400), caller=NOBODY)
        except Exception as error:
            _LOG.exception("request failed", extra={"operation": name})
            code = "fault"
            answered = RouteAnswer(response=Response(error_json(error), 500, media_type=JSON), caller=NOBODY)
        server.record_request(
            name,
            status=answered.response.status_code,
            seconds=time.perf_counter() - begun,
            caller=answered.caller,
            items=answered.items,
            code=code,
        )
        return answered.response

    return route


def refuse(error: PalaestraError) -> Response:
    """The answer to a request that fails as a whole."""
    headers: dict[str, str] = {}
    status = STATUS[code_of(error)]
    if isinstance(error, BodyTooLargeError):
        status = 413
    elif isinstance(error, BodyTooSlowError):
        status = 408
    elif isinstance(error, OriginError):
        status = 403
    elif status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, LimitError) and error.retry_after is not None:
        headers["Retry-After"] = str(max(1, round(error.retry_after)))
    if status in (401, 403, 408, 413):
        headers["Connection"] = "close"  # the body was not read
    return Response(error_json(error), status, headers=headers, media_type=JSON)
