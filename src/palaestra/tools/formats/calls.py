"""Calls as JSON objects, shared by several formats."""

from collections.abc import Iterable, Sequence
from json import JSONEncoder
from typing import Any, cast

import orjson

from palaestra.records import ToolCall
from palaestra.tools.formats.format import ParsedTurn

_ENCODER = JSONEncoder(ensure_ascii=False, allow_nan=False)


def decode_json(text: str) -> object:
    """The JSON value of `text`, or the error of parsing it."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        return error


def encode_call(call: ToolCall, key: str) -> str:
    """A call as JSON, with its tool's name under `key` and the spacing of chat templates."""
    return encode_value({key: call.tool, "arguments": dict(call.arguments)})


def encode_arguments(call: ToolCall) -> str:
    """A call's arguments as JSON, without anything that could be a tag."""
    return encode_value(dict(call.arguments))


def encode_value(value: object) -> str:
    """A value as JSON. "<" is escaped, because inside strings it could end the block."""
    return _ENCODER.encode(value).replace("<", "\\u003c")


def turn_of(values: Iterable[object], prose: str, *, ids: Sequence[str] = ()) -> ParsedTurn:
    """The turn of some JSON values and prose; unreadable if a value is not a call.

    Args:
        values: The values that should be calls.
        prose: The text beside them.
        ids: The ids of the calls, if the text gives any.
    """
    calls: list[ToolCall] = []
    for value in values:
        call = _call(value)
        if isinstance(call, str):
            return ParsedTurn(error=call, ids=tuple(ids))
        calls.append(call)
    if not calls and not prose:
        return ParsedTurn(error="the turn is empty: write a call, or something to say")
    return ParsedTurn(calls=tuple(calls), prose=prose, ids=tuple(ids))


def _call(value: object) -> ToolCall | str:
    """The call that a JSON value describes, or why it is not a call."""
    if isinstance(value, orjson.JSONDecodeError):
        return f"a call is not valid JSON: {value}"
    if not isinstance(value, dict):
        return f"a call is a JSON object, not {type(value).__name__}"
    fields = cast("dict[str, Any]", value)
    name = fields.get("name", fields.get("tool"))
    arguments = fields.get("arguments", fields.get("parameters", {}))
    if isinstance(arguments, str):  # OpenAI's own format has the arguments as a JSON string
        arguments = decode_json(arguments)
    if not isinstance(name, str):
        return 'a call names its tool: {"name": "...", "arguments": {...}}'
    if not isinstance(arguments, dict):
        return f"the arguments of {name} are a JSON object, not {type(arguments).__name__}"
    return ToolCall(tool=name, arguments=cast("dict[str, Any]", arguments))
