"""How calls are written down: as JSON that every reader takes, whatever was given.

Chat interfaces hand over lone surrogates, integers of any size and values nested without end. None of them can be
logged, hashed or sent on, and an agent must not be able to stop a world with one.
"""

from typing import cast

import orjson

from palaestra.records import INT_RANGE, Json, ToolCall

MAX_NAME = 64
"""The longest name that a tool can have, as chat interfaces have it."""


def glimpse(value: object, limit: int = 60) -> str:
    """`value` as Python writes it, cut short; its type alone where that is too deep or too large, or fails."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):
        return f"a {type(value).__name__} too large to show"
    except Exception:  # an object's own `__repr__` may do anything
        return f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= limit else f"{text[:limit]}..."


def plain_text(text: str) -> str:
    """`text` with what no file can hold, lone surrogates, replaced by question marks."""
    return text.encode("utf-8", "replace").decode()


def plain_name(name: str) -> str:
    """A tool's name as the log keeps it."""
    return plain_text(name[:MAX_NAME])


def plain_arguments(arguments: object) -> dict[str, Json]:
    """Arguments as the log keeps them: a copy that nobody else holds, and JSON."""
    try:
        copy = orjson.loads(orjson.dumps(arguments, option=orjson.OPT_NON_STR_KEYS))
    except (TypeError, ValueError):
        copy = None
    return cast("dict[str, Json]", copy) if isinstance(copy, dict) else {"unreadable": glimpse(arguments, 200)}


def plain_call(call: ToolCall) -> ToolCall:
    """A call as the log keeps it."""
    return ToolCall(tool=plain_name(call.tool), arguments=plain_arguments(call.arguments))


def has_safe_integers(value: Json) -> bool:
    """Whether every integer in `value` is one that JSON carries."""
    if isinstance(value, int):
        return value in INT_RANGE
    if isinstance(value, dict):
        return all(map(has_safe_integers, value.values()))
    return not isinstance(value, list) or all(map(has_safe_integers, value))
