"""Conversion of calls to JSON that every reader accepts.

Chat interfaces pass on lone surrogates, integers of any size and values nested without limit. None of them can be
logged, hashed or sent, and an agent must not be able to stop a world with one.
"""

from typing import cast

import orjson

from palaestra.records import INT_RANGE, Json, ToolCall

MAX_NAME = 64
"""The maximum length of a tool's name, as in chat interfaces."""


def glimpse(value: object, limit: int = 60) -> str:
    """`value` in Python notation, shortened; only its type if it is too deep or too large, or if this fails."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):
        return f"a {type(value).__name__} too large to show"
    except Exception:  # an object's own `__repr__` may raise anything
        return f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= limit else f"{text[:limit]}..."


def plain_text(text: str) -> str:
    """`text` with lone surrogates, which no file can hold, replaced by question marks."""
    return text.encode("utf-8", "replace").decode()


def plain_name(name: str) -> str:
    """A tool's name in the form of the log."""
    return plain_text(name[:MAX_NAME])


def plain_arguments(arguments: object) -> dict[str, Json]:
    """Arguments in the form of the log: an independent copy, as JSON."""
    try:
        copy = orjson.loads(orjson.dumps(arguments, option=orjson.OPT_NON_STR_KEYS))
    except (TypeError, ValueError):
        copy = None
    return cast("dict[str, Json]", copy) if isinstance(copy, dict) else {"unreadable": glimpse(arguments, 200)}


def plain_call(call: ToolCall) -> ToolCall:
    """A call in the form of the log."""
    return ToolCall(tool=plain_name(call.tool), arguments=plain_arguments(call.arguments))


def has_safe_integers(value: Json) -> bool:
    """Whether every integer in `value` is one that JSON represents exactly."""
    if isinstance(value, int):
        return value in INT_RANGE
    if isinstance(value, dict):
        return all(map(has_safe_integers, value.values()))
    return not isinstance(value, list) or all(map(has_safe_integers, value))
