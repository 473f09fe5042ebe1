"""Reads actions as programs write them.

    {"tool": "get_order", "arguments": {...}}                           Palaestra's own, or a `ToolCall`
    {"name": "get_order", "arguments": {...}}                           the call of most text formats
    {"id": ..., "type": "function", "function": {...}}                  OpenAI's chat completions
    {"type": "function_call", "call_id": ..., "name": ..., ...}         OpenAI's responses
    {"type": "tool_use", "id": ..., "name": ..., "input": {...}}        Anthropic's messages
    {"role": "assistant", "content": ..., "tool_calls": [...]}          a whole message of any of them

A list of these is one turn; so is a whole response (`choices`, `output`), and so are the objects of their Python
clients. Text in addition to calls has no effect. Text without calls is a model's text, which an action format reads.

Faults are handled by their author. A model writes names, arguments and text: an unreadable one makes the turn
unreadable, with a reason. A program writes everything around them: a fault there raises `ActionError`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import orjson
from pydantic import BaseModel

from palaestra.errors import ActionError
from palaestra.records import ToolCall
from palaestra.tools.actions.action_reading import ActionReading, read_arguments, read_plain_call
from palaestra.tools.wire import glimpse, plain_name, plain_text

_CUT_OFF = "the turn was cut off by its limit of tokens, and nothing of it is run"
_DEEPEST = 2
_ARGUMENTS = ("arguments", "parameters", "input")
_NEAR_ARGUMENTS = frozenset({"args", "argument", "input", "kwargs", "parameters", "params"})
"""Wrong names for the arguments of a call."""
_IGNORED = frozenset({"reasoning", "thinking", "redacted_thinking"})
_TEXTS = {"text": "text", "output_text": "text", "refusal": "refusal"}
"""The field of a block that holds text, by the block's type."""
_API_KEYS = frozenset({"type", "function", "role", "choices", "output", "tool_calls"})
"""Keys of OpenAI's and Anthropic's forms; each form has at least one."""
_FORMS = (
    'write {"tool": "name", "arguments": {...}}, a call or message as OpenAI or Anthropic has it, a ToolCall, a list '
    "of these, or text"
)


def read_action(action: object) -> ActionReading:
    """Read an action.

    Raises:
        ActionError: it has none of the forms of actions. Faults of a model never raise.
    """
    plain = read_plain_call(action)
    if plain is not None:
        return ActionReading(calls=(plain,))
    if isinstance(action, str):
        return ActionReading(text=action)
    turn = _Turn()
    turn.read(action)
    return turn.reading()


def read_model_value(value: object) -> ActionReading | None:
    """Read a JSON value that a model wrote; `None` if it has no form of OpenAI or Anthropic."""
    whole = value
    parts = cast("list[object]", value) if isinstance(value, list) else [value]
    if not any(isinstance(part, dict) and _API_KEYS & cast("dict[str, object]", part).keys() for part in parts):
        return None
    try:
        return read_action(whole)
    except ActionError as error:
        return ActionReading(error=str(error))


class _Turn:
    """A turn that is being read."""

    def __init__(self) -> None:
        self._calls: list[ToolCall] = []
        self._ids: list[str] = []
        self._texts: list[str] = []
        self._error: str | None = None
        self._depth = 0

    def reading(self) -> ActionReading:
        """The result of the turn."""
        ids = tuple(self._ids) if any(self._ids) else ()
        if self._error is not None:
            return ActionReading(ids=ids, error=self._error)
        text = "\n".join(self._texts) if self._texts and not self._calls else None
        return ActionReading(calls=tuple(self._calls), ids=ids, text=text)

    def read(self, action: object) -> None:
        """Add an action, or the parts of one.

        Raises:
            ActionError: it is not an action.
        """
        given = action
        # `dict` and `list` first: the check for abstract classes is a slow Python call.
        if isinstance(action, (dict, Mapping, ToolCall, BaseModel)):
            self._part(cast("object", action))
        elif isinstance(action, (list, Sequence)) and not isinstance(action, (bytes, bytearray, memoryview)):
            for part in cast("Sequence[object]", action):
                self._part(part)
        else:
            raise ActionError(
                f"an action is a call, a list of calls or text, not {type(given).__name__}: {glimpse(given, 80)}; "
                f"{_FORMS}"
            )

    def _part(self, part: object) -> None:
        if isinstance(part, ToolCall):
            self._add(part.tool, part.arguments, "")
        elif isinstance(part, BaseModel):
            self._fields(_dump(part))
        elif isinstance(part, str):
            self._json(part)
        elif isinstance(part, (dict, Mapping)):
            self._fields(cast("Mapping[str, Any]", part))
        else:
            raise ActionError(
                f"a call is a mapping with `tool` and `arguments`, not {type(part).__name__}: {glimpse(part, 80)}; "
                f"{_FORMS}"
            )

    def _json(self, text: str) -> None:
        """Add a call that is JSON text in a list. Other text there is a mistake of the program."""
        if not text.lstrip().startswith(("{", "[")):
            raise ActionError(f"a text in a list is a call as JSON, not {glimpse(text, 80)}; give a model's text alone")
        try:
            value: object = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            self._fail(f"a call is not valid JSON: {error}")
            return
        if not isinstance(value, dict):
            self._fail(f"a call is a JSON object, not {type(value).__name__}")
            return
        try:
            self._fields(cast("dict[str, Any]", value))
        except ActionError as error:
            self._fail(str(error))

    def _fields(self, fields: Mapping[str, Any]) -> None:
        """Add a mapping of any form."""
        given = fields.get("type")
        kind = given if isinstance(given, str) else ""
        if "tool" in fields:
            self._own(fields)
        elif "choices" in fields or "output" in fields:
            self._nest(self._response, fields)
        elif kind == "tool_use":
            self._add_named(fields, fields.get("input"), fields.get("id"))
        elif kind == "function_call":
            self._add_named(fields, fields.get("arguments"), fields.get("call_id") or fields.get("id"))
        elif isinstance(fields.get("function"), (dict, Mapping)):
            function = cast("Mapping[str, Any]", fields["function"])
            self._add_named(function, function.get("arguments"), fields.get("id"))
        elif "role" in fields or kind == "message":
            self._nest(self._message, fields)
        elif kind in _TEXTS:
            self._text(fields.get(_TEXTS[kind]))
        elif kind in _IGNORED:
            pass
        elif "name" in fields and (key := next((key for key in _ARGUMENTS if key in fields), None)):
            self._add_named(fields, fields[key], fields.get("id"))
        else:
            self._refuse(fields)

    def _nest(self, read: Callable[[Any], None], given: object) -> None:
        """Add something that holds other parts: a response holds messages, and a message holds calls."""
        if self._depth == _DEEPEST:
            raise ActionError("an action nests messages in messages; give a response, a message, or calls")
        self._depth += 1
        read(given)
        self._depth -= 1

    def _own(self, fields: Mapping[str, Any]) -> None:
        name, arguments = fields["tool"], fields.get("arguments", {})
        if unknown := sorted(map(glimpse, fields.keys() - {"tool", "arguments", "id"})):
            hint = "" if "arguments" in fields or _NEAR_ARGUMENTS.isdisjoint(fields) else "; did you mean 'arguments'?"
            raise ActionError(f"a call has `tool` and `arguments`, and no {', '.join(unknown[:3])}{hint}")
        if not isinstance(name, str) or not isinstance(arguments, (dict, Mapping, str)):
            raise ActionError(f'a call is {{"tool": "name", "arguments": {{...}}}}, not {glimpse(dict(fields), 120)}')
        self._add(name, cast("object", arguments), fields.get("id"))

    def _add_named(self, fields: Mapping[str, Any], arguments: object, call_id: object) -> None:
        name = fields.get("name")
        if not isinstance(name, str):
            raise ActionError(f"a call names its tool in `name`, a text; this one has {glimpse(name)}")
        self._add(name, arguments, call_id)

    def _response(self, fields: Mapping[str, Any]) -> None:
        """Add a server's answer, in either of OpenAI's two kinds."""
        choices, output = fields.get("choices"), fields.get("output")
        if isinstance(choices, list) and choices:
            first = cast("list[object]", choices)[0]
            if isinstance(first, (dict, Mapping)):
                choice = cast("Mapping[str, Any]", first)
                self._nest(self._message, choice.get("message"))
                self._end(choice.get("finish_reason") == "length")
                return
        elif isinstance(output, list):
            self.read(cast("list[object]", output))
            self._end(fields.get("status") == "incomplete")
            return
        self._refuse(fields)

    def _message(self, given: object) -> None:
        """Add an assistant's message."""
        if not isinstance(given, (dict, Mapping)):
            raise ActionError(f"a message is a mapping with `role` and `content`, not {glimpse(given, 80)}")
        message = cast("Mapping[str, Any]", given)
        role = message.get("role", "assistant")
        if role != "assistant":
            raise ActionError(f"a message of the role {glimpse(role)} is no action; give one of the assistant's")
        content, calls = message.get("content"), message.get("tool_calls") or ()
        if isinstance(content, str):
            self._text(content)
        else:
            for block in _require_list(content, "content"):
                if not isinstance(block, (dict, Mapping)):
                    raise ActionError(f"a block of a message is a mapping with a `type`, not {glimpse(block, 80)}")
                self._fields(cast("Mapping[str, Any]", block))
        if isinstance(refusal := message.get("refusal"), str):
            self._text(refusal)
        for call in _require_list(calls, "tool_calls"):
            self._part(call)
        if isinstance(function := message.get("function_call"), (dict, Mapping)):  # OpenAI's form before tools
            self._part({"type": "function", "function": cast("object", function)})
        self._end(message.get("stop_reason") == "max_tokens")

    def _text(self, text: object) -> None:
        if not isinstance(text, str):
            raise ActionError(f"the text of a message is text, not {glimpse(text, 80)}")
        if text:
            self._texts.append(text)

    def _add(self, name: str, arguments: object, call_id: object) -> None:
        self._ids.append(plain_text(call_id) if isinstance(call_id, str) else "")
        read = read_arguments(name, arguments)
        if isinstance(read, str):
            self._fail(read)
        else:
            self._calls.append(ToolCall(tool=name, arguments=read))

    def _end(self, cut_off: bool) -> None:  # noqa: FBT001  one caller's question each
        if cut_off:
            self._fail(_CUT_OFF)

    def _fail(self, why: str) -> None:
        self._error = self._error or why

    def _refuse(self, fields: Mapping[str, Any]) -> None:
        if not fields:
            raise ActionError(f"an empty mapping is no action; {_FORMS}")
        kind = fields.get("type")
        what = (
            f"of the type {plain_name(kind)!r}"
            if isinstance(kind, str)
            else f"with {', '.join(sorted(map(glimpse, fields))[:5])}"
        )
        raise ActionError(f"a mapping {what} is no action; {_FORMS}")


def _require_list(value: object, field: str) -> Sequence[object]:
    if value is None:
        return ()
    if isinstance(value, str | bytes) or not isinstance(value, (list, Sequence)):
        raise ActionError(f"`{field}` of a message is a list, not {glimpse(value, 80)}")
    return cast("Sequence[object]", value)


def _dump(model: BaseModel) -> dict[str, Any]:
    """A client's object as a mapping; fields that the server did not send are left out."""
    return model.model_dump(exclude_none=True)
