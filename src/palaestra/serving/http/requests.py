"""Reading a request: its caller, its origin, and a body of bounded size and time."""

import asyncio
from urllib.parse import urlsplit

import orjson
from fastapi import Request
from starlette.requests import HTTPConnection

from palaestra.errors import AccessError, RequestError
from palaestra.record import record
from palaestra.serving.access import LOCAL, Caller, KeyRing

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]", "::1"})
_BEARER = "bearer "


@record
class HttpLimits:
    """Bounds of requests."""

    body_bytes: int = 4 * 2**20
    body_seconds: float = 30.0
    """Maximum seconds for a body to arrive."""
    pending: int = 256
    """Requests that may wait or run at once."""
    connections: int = 4_096
    sockets: int = 2_048
    """WebSocket connections of all keys."""
    key_sockets: int = 64
    """WebSocket connections of one key."""
    socket_seconds: float = 30.0
    """Maximum seconds that an answer waits for a WebSocket client to read."""


class BodyTooLargeError(RequestError):
    """A body has more bytes than a server reads."""


class BodyTooSlowError(RequestError):
    """A body did not arrive in time."""


class OriginError(AccessError):
    """A request comes from a page of another site."""


def check_origin(connection: HTTPConnection) -> None:
    """Refuse a browser's request for a page of another site.

    Raises:
        OriginError: the request states an origin that is not the requested host.
    """
    host = connection.headers.get("host", "").lower()
    for origin in connection.headers.getlist("origin"):
        try:
            site = urlsplit(origin).netloc.lower()
        except ValueError:
            site = ""
        if not site or site != host:
            raise OriginError(f"origin {origin[:80]!r}: pages of other sites are not answered; leave the header out")


def caller_of(request: HTTPConnection, keys: KeyRing | None) -> Caller:
    """The caller of a request.

    Without keys the server listens on the loopback interface, and everybody on this machine may call. A page in a
    browser on this machine may not: such a request states an origin, or the name of another host.

    Raises:
        AccessError: the key is missing, wrong or expired, or the request comes from a page.
    """
    if keys is not None:
        scheme, token = request.headers.get("authorization", "")[:7], request.headers.get("authorization", "")[7:]
        return keys.authenticate(token.strip() if scheme.lower() == _BEARER else None)
    if "origin" in request.headers:
        raise AccessError("a server without keys answers no pages of a browser; start it with --keys")
    check_local_host(request)
    return LOCAL


def check_local_host(request: HTTPConnection) -> None:
    """Check that a request names this machine as its host: another site's name could resolve to this machine.

    Raises:
        AccessError: it names another host.
    """
    host = request.headers.get("host", "")
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    if name.lower() not in _LOOPBACK:
        raise AccessError(
            f"host {host[:80]!r}: a server without keys answers on this machine only; start it with --keys"
        )


async def read_body(request: Request, limits: HttpLimits, *, kind: str = "application/json") -> bytes:
    """The body of a request.

    Args:
        request: The request.
        limits: The maximum size and time.
        kind: The required content type.

    Raises:
        RequestError: the content type is another one.
        BodyTooLargeError: it is larger than allowed; the rest is not read.
        BodyTooSlowError: it did not arrive in time.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != kind:
        raise RequestError(f"send the header 'Content-Type: {kind}'")
    stated = request.headers.get("content-length", "0")
    if not stated.isdigit() or int(stated) > limits.body_bytes:
        raise _too_large(limits)
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(limits.body_seconds):
            async for part in request.stream():
                size += len(part)
                if size > limits.body_bytes:
                    raise _too_large(limits)
                parts.append(part)
    except TimeoutError:
        raise BodyTooSlowError(
            f"the body did not arrive within {limits.body_seconds:g} seconds; send it again"
        ) from None
    return b"".join(parts)


def check_json(body: bytes) -> None:
    """Refuse a body that is not JSON for the parser of all other routes: other parsers accept NaN and broken text.

    Raises:
        RequestError: it is not JSON.
    """
    try:
        orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise RequestError(f"the body is no JSON ({error})") from error


def _too_large(limits: HttpLimits) -> BodyTooLargeError:
    return BodyTooLargeError(f"a body has at most {limits.body_bytes} bytes; send several smaller requests")
