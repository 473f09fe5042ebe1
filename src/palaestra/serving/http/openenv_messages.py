"""Messages of OpenEnv's WebSocket protocol, as its client 0.3 speaks it.

The client sends `{"type": "reset" | "step" | "state" | "close", "data": {...}}`. The answer to a reset or a step is
`{"type": "observation", "data": {"observation": {...}, "reward": ..., "done": ...}}`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import orjson

from palaestra.errors import ActionError, LimitError, PalaestraError, RequestError
from palaestra.record import record

TYPES = ("reset", "step", "state", "close")
_TOOL_CALL, _LISTING = "call_tool", "list_tools"


class OpenEnvTypeError(RequestError):
    """A message has a type that the protocol does not know, or that is not served."""


class OpenEnvJsonError(RequestError):
    """A message is not a JSON object."""


@record
class OpenEnvMessage:
    """A message of a client."""

    type: str
    data: Mapping[str, Any]
    """The message's content. Any: JSON."""

    @property
    def is_listing(self) -> bool:
        """Whether it is a step that asks for the tools and plays no turn."""
        return self.type == "step" and self.data.get("type") == _LISTING


def read_openenv(body: bytes) -> OpenEnvMessage:
    """A message.

    Raises:
        OpenEnvJsonError: it is not a JSON object.
        OpenEnvTypeError: its type is not served.
        RequestError: its data is not an object.
    """
    try:
        read: object = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise OpenEnvJsonError(f"the message is no JSON ({error})") from error
    if not isinstance(read, dict):
        raise OpenEnvJsonError("a message is an object with `type` and `data`")
    fields = cast("dict[str, object]", read)
    kind, data = fields.get("type"), fields.get("data", {})
    if kind not in TYPES:
        raise OpenEnvTypeError(f"type={str(kind)[:80]!r}: one of {', '.join(TYPES)}")
    if not isinstance(data, dict):
        raise RequestError("`data` is an object")
    return OpenEnvMessage(type=str(kind), data=cast("dict[str, Any]", data))


def read_action(data: Mapping[str, Any]) -> object:
    """The action of a step: OpenEnv's tool call, or a call as over HTTP; text under `action`. JSON.

    Raises:
        ActionError: it is none of these.
    """
    if data.get("type") == _TOOL_CALL:
        return {"tool": data.get("tool_name"), "arguments": data.get("arguments") or {}}
    fields = {name: value for name, value in data.items() if name != "metadata"}
    if set(fields) == {"action"}:
        return fields["action"]
    if "tool" in fields:
        return fields
    raise ActionError("a step is a tool call, {'tool': ..., 'arguments': {...}}, or text under 'action'")


def write_observation(
    messages: Sequence[Mapping[str, Any]], *, end: str | None, reward: float | None, **more: Any
) -> str:
    """The answer to a reset or a step.

    Args:
        messages: The messages that are new to the agent. Any: JSON.
        end: Why the episode has ended, if it has.
        reward: The reward; `None` if players do not see it.
        more: Further fields of the observation. Any: JSON.
    """
    # The tool-call client shows only the metadata of a reset.
    observation = {**more, "metadata": {"messages": messages, "end": end, **more.get("metadata", {})}}
    answer = {"observation": observation, "reward": reward, "done": end is not None}
    return _write("observation", answer)


def write_tools(schemas: Sequence[Mapping[str, Any]], *, end: str | None) -> str:
    """The answer to a step that asks for the tools."""
    tools = [
        {"name": f["name"], "description": f["description"], "input_schema": f["parameters"]}
        for f in (schema["function"] for schema in schemas)
    ]
    return _write("observation", {"observation": {"tools": tools}, "reward": None, "done": end is not None})


def write_state(session: str | None, turns: int) -> str:
    """The answer to a question about the state."""
    return _write("state", {"episode_id": session, "step_count": turns})


def write_openenv_error(error: Mapping[str, Any], kind: str = "EXECUTION_ERROR") -> str:
    """An error, with the code of the HTTP interface in addition to OpenEnv's. Any: the JSON of `error_json`."""
    return _write("error", {"message": error["message"], "code": kind, "palaestra_code": error["code"]})


def openenv_code(error: PalaestraError) -> str:
    """OpenEnv's code of an error."""
    if isinstance(error, OpenEnvJsonError):
        return "INVALID_JSON"
    if isinstance(error, OpenEnvTypeError):
        return "UNKNOWN_TYPE"
    if isinstance(error, LimitError):
        return "CAPACITY_REACHED"
    return "VALIDATION_ERROR" if isinstance(error, RequestError | ActionError) else "EXECUTION_ERROR"


def _write(kind: str, data: Mapping[str, Any]) -> str:
    return orjson.dumps({"type": kind, "data": data}).decode()
