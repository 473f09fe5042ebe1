"""Messages over a WebSocket: those of the HTTP routes, with an id that the answer repeats.

A client sends `{"id": 7, "operation": "step", "items": [...]}` and is answered `{"id": 7, "results": [...]}`, or
`{"id": 7, "error": {...}}` where the message fails as a whole. With `"stream": true` each item is answered as soon as
it was run, by `{"id": 7, "index": 0, "ok": ...}`; `{"id": 7, "done": 1}` comes last. Ids are whole numbers that grow,
so that a message which arrives twice is run once.
"""

from typing import Any, cast

import orjson

from palaestra.errors import RequestConflictError, RequestError
from palaestra.record import record
from palaestra.serving.core import OPERATIONS, Operation

_FIELDS = frozenset({"id", "operation", "items", "stream"})
_IDS = 2**53
"""Ids are below it: every language with JSON can write them."""


@record
class SocketMessage:
    """A message whose items are not read yet."""

    id: int
    fields: dict[str, object]


@record
class SocketRequest:
    """What a message asks for."""

    operation: Operation
    items: object
    """Of the operation. JSON."""
    is_streamed: bool


def read_message(data: bytes) -> SocketMessage:
    """A message with its id.

    Raises:
        RequestError: it is no JSON object with an id.
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
    """What a message asks for.

    Args:
        message: The message.
        latest: The id of the one before.

    Raises:
        RequestConflictError: its id is not above the one before; nothing was run.
        RequestError: it has other fields, or names no operation.
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
    """An answer: a JSON object of the HTTP interface with the id of its message; `null` for one that has none."""
    return f'{{"id":{"null" if id_ is None else id_},{body[1:].decode()}'


def write_streamed(id_: int, index: int, result: bytes) -> str:
    """The answer to one item of a message."""
    return f'{{"id":{id_},"index":{index},{result[1:].decode()}'


def write_done(id_: int, items: int) -> str:
    """The last answer to a message whose items were answered one by one."""
    done: dict[str, Any] = {"id": id_, "done": items}
    return orjson.dumps(done).decode()
