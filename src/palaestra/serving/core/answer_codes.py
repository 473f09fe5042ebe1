"""The mapping between errors and the codes of a server's answers, shared by server and client."""

from typing import Any

import orjson

from palaestra.errors import (
    AccessError,
    ActionError,
    CapabilityError,
    EpisodeOverError,
    InfrastructureError,
    KeyScopeError,
    LimitError,
    PalaestraError,
    RequestConflictError,
    RequestError,
    SessionError,
    SessionLostError,
)

CODES: dict[str, type[PalaestraError]] = {
    "key": AccessError,
    "scope": KeyScopeError,
    "request": RequestError,
    "capability": CapabilityError,
    "conflict": RequestConflictError,
    "limit": LimitError,
    "no_session": SessionError,
    "lost": SessionLostError,
    "episode_over": EpisodeOverError,
    "action": ActionError,
    "fault": InfrastructureError,
}
"""What each code means."""
STATUS = {
    "key": 401,
    "scope": 403,
    "request": 422,
    "capability": 422,
    "conflict": 409,
    "limit": 429,
    "no_session": 404,
    "lost": 410,
    "episode_over": 409,
    "action": 422,
    "fault": 500,
}
"""The HTTP status of a request that fails as a whole."""
_BY_CLASS = {kind: code for code, kind in CODES.items()}


def code_of(error: BaseException) -> str:
    """The code of an error's class, or of its nearest base class with a code; otherwise a fault."""
    return next((_BY_CLASS[kind] for kind in type(error).__mro__ if kind in _BY_CLASS), "fault")


def error_json(error: BaseException) -> bytes:
    """An error as JSON. For an error that Palaestra did not raise on purpose, it says only that one occurred."""
    code = code_of(error)
    message = str(error) if isinstance(error, PalaestraError) else "the server failed; its log says why"
    described: dict[str, Any] = {"code": code, "message": message}
    if isinstance(error, LimitError) and error.retry_after is not None:
        described["retry_after"] = round(error.retry_after, 3)
    return orjson.dumps({"error": described})


def error_of(described: dict[str, Any]) -> PalaestraError:
    """The error that a server's answer describes. Any: JSON."""
    kind = CODES.get(str(described.get("code")), InfrastructureError)
    message = str(described.get("message"))
    if kind is LimitError:
        return LimitError(message, described.get("retry_after"))
    return kind(message)
