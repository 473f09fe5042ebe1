"""Messages over a WebSocket: those of the HTTP routes, with an id that the answer repeats.

A client sends `{"id": 7, "operation": "step", "items": [...]}` and is answered `{"id": 7, "results": [...]}`, or
`{"id": 7, "error": {...}}` if the message fails as a whole. With `"stream": true`, each item is answered as soon as it
has run, by `{"id": 7, "index": 0, "ok": ...}`; `{"id": 7, "done": 1}` comes last. Ids are increasing whole numbers, so
that a message that arrives twice runs once.
"""

from typing import Any, cast

import orjson

from palaestra.errors import RequestConflictError, RequestError
from palaestra.record import record
from palaestra.serving.core import OPERATIONS, Operation

_FIELDS = frozenset({"id", "operation", "items", "stream"})
_IDS = 2**53
"""The bound of ids: every language with JSON can write smaller ones."""


@record
class SocketMessage:
    """A message whose items have not been read yet."""

    id: int
    fields: dict[str, object]


@record
class SocketRequest:
    """The operation and items of a message."""

    operation: Operation
    items: object
    """The operation's items. JSON."""
    is_streamed: bool


def read_message(data: bytes) -> SocketMessage:
    """A message with its id.

    Raises:
        RequestError: it is not a JSON object with an id.
    """
    try:
        read: object = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise RequestError(
            f"the message is no JSON ({error}); send an object with `id`, `operation`, `items`"
        ) from error
    fields = cast("dict[str, object]", read) if isinstance(read, dict) else {}
    id_ = fields.get("id")
    if type(id_) is not int or not 0 <= id_ < _IDS:
        raise RequestError("a message is an object whose `id` is a whole number from 0 on")
    return SocketMessage(id=id_, fields=fields)


def read_request(message: SocketMessage, *, latest: int) -> SocketRequest:
    """The request in a message.

    Args:
        message: The message.
        latest: The id of the previous message.

    Raises:
        RequestConflictError: its id is not above the previous one; nothing was run.
        RequestError: it has unknown fields, or does not name an operation.
    """
    if message.id <= latest:
        raise RequestConflictError(f"id={message.id}: this connection has used {latest}, and ids grow; nothing was run")
    fields = message.fields
    unknown = sorted(set(fields) - _FIELDS)
    if unknown or "items" not in fields:
        raise RequestError(f"a message has `id`, `operation`, `items` and may have `stream`; unknown: {unknown}")
    name, is_streamed = fields.get("operation"), fields.get("stream", False)
    operation = OPERATIONS.get(name) if isinstance(name, str) else None
    if operation is None:
        raise RequestError(f"operation={str(name)[:80]!r}: one of {', '.join(OPERATIONS)}")
    if not isinstance(is_streamed, bool):
        raise RequestError("`stream` is true or false")
    return SocketRequest(operation=operation, items=fields["items"], is_streamed=is_streamed)


def write_answer(id_: int | None, body: bytes) -> str:
    """An answer: a JSON object of the HTTP interface with the id of its message, or `null` if it has no id."""
    return f'{{"id":{"null" if id_ is None else id_},{body[1:].decode()}'


def write_streamed(id_: int, index: int, result: bytes) -> str:
    """The answer to one item of a message."""
    return f'{{"id":{id_},"index":{index},{result[1:].decode()}'


def write_done(id_: int, items: int) -> str:
    """The last answer to a message whose items were answered one by one."""
    done: dict[str, Any] = {"id": id_, "done": items}
    return orjson.dumps(done).decode()
