"""Actions as JSON text, for values that a model may write but the JSON of requests cannot hold.

Such values are integers of more than 64 bits, lone surrogates, and the numbers NaN and Infinity. A client sends them as
`{"action": "...", "as_json": true}`, so a world answers as in process.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

import orjson
from pydantic import BaseModel

from palaestra.errors import RequestError
from palaestra.records import ToolCall
from palaestra.serving.core.depth import MAX_DEPTH


def write_action(action: object) -> dict[str, Any]:
    """The fields of a step that hold an action: `action`, and `as_json` if it is JSON text. Any: JSON.

    Raises:
        RequestError: it holds something that is not JSON.
    """
    try:
        written = orjson.dumps(action, default=_plain)
    except TypeError:
        return _as_text(action)
    # No finite number is written as `null`, so most actions need only one pass.
    return _as_text(action) if b"null" in written else {"action": action}


def _as_text(action: object) -> dict[str, Any]:
    try:
        text = json.dumps(action, default=_plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise RequestError(f"the action cannot be sent ({error}); give text, numbers, lists and mappings") from error
    return {"action": text, "as_json": True}


def read_action_text(text: object) -> Any:
    """The action that a text holds. Any: JSON, which the environment judges.

    Raises:
        RequestError: the text is not JSON.
    """
    try:
        return json.loads(cast("str", text))
    except (TypeError, ValueError, RecursionError) as error:
        raise RequestError(f"as_json: the action is no text that holds JSON with {MAX_DEPTH} levels at most") from error


def _plain(value: object) -> object:
    if isinstance(value, BaseModel):  # an action as a client of a model server has it
        return value.model_dump(exclude_none=True)
    if isinstance(value, ToolCall):
        return {"tool": value.tool, "arguments": value.arguments}
    if isinstance(value, Mapping):
        return dict(value)  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType]
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return list(value)  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType]
    name = type(value).__name__  # pyright: ignore[reportUnknownArgumentType]  what a memoryview holds
    raise TypeError(f"a {name} is no JSON: {value!r:.80}")
