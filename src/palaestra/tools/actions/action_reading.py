"""The result of reading an action, and the parts that all forms share: the plain call and a call's arguments."""

from collections.abc import Mapping
from typing import Any, cast

import orjson

from palaestra.errors import ActionError
from palaestra.record import constructor, record
from palaestra.records import ToolCall
from palaestra.tools.wire import glimpse, plain_name

_tool_call = constructor(ToolCall)


@record
class ActionReading:
    """The content of an action: calls, a model's text, or the reason why it cannot be read."""

    calls: tuple[ToolCall, ...] = ()
    ids: tuple[str, ...] = ()
    """The caller's ids, one for each stated call, readable or not; "" for a call without one. Empty if no call has
    one."""
    text: str | None = None
    """The model's text if the action states no call; an action format reads it."""
    error: str | None = None
    """Why the model's action cannot be read; then there are no calls."""


def read_plain_call(action: object) -> ToolCall | None:
    """The common case in a third of the time: one call, as a dictionary with a name and a dictionary of arguments."""
    if type(action) is not dict:
        return None
    fields = cast("dict[object, object]", action)
    name, arguments = fields.get("tool"), fields.get("arguments")
    if len(fields) != 2 or type(name) is not str or type(arguments) is not dict:
        return None
    return _tool_call(tool=name, arguments=cast("dict[str, Any]", arguments).copy())


def read_arguments(tool: str, given: object) -> dict[str, Any] | str:
    """The arguments of a call, or why they cannot be read. JSON text is parsed; missing arguments are empty.

    If JSON repeats a key, the last value counts.

    Raises:
        ActionError: `given` is not a JSON value.
    """
    if isinstance(given, str):
        try:
            given = orjson.loads(given or "{}")
        except orjson.JSONDecodeError as error:
            return f"the arguments of {plain_name(tool)} are not valid JSON: {error}"
    if isinstance(given, (dict, Mapping)):
        return dict(cast("Mapping[str, Any]", given))
    if given is None:
        return {}
    if not isinstance(given, str | list | int | float):
        raise ActionError(f"the arguments of {plain_name(tool)} are a mapping or JSON text, not {glimpse(given, 80)}")
    return f"the arguments of {plain_name(tool)} are a JSON object, not {type(cast('object', given)).__name__}"
