"""Action formats: how a model's raw text becomes calls, and calls text.

A format reads a turn whole or not at all: one call that cannot be read makes the turn unreadable, so that half a
turn is never run. Text without a call is prose, which the environment takes as something said to the user.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import orjson

from palaestra.records import ToolCall
from palaestra.registry import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedTurn:
    """What a turn's text says."""

    calls: tuple[ToolCall, ...] = ()
    prose: str = ""
    """The text outside calls, without the model's thinking."""
    error: str | None = None
    """Why the text could not be read; then there are no calls."""


class ActionFormat(Protocol):
    """A way to write calls as text."""

    def parse(self, text: str) -> ParsedTurn:
        """Read one turn."""
        ...

    def render(self, calls: Sequence[ToolCall], prose: str = "") -> str:
        """Write one turn; `parse` gives the same calls and prose back."""
        ...


# Chat templates may open the thinking in the prompt, so that the text begins inside it and holds its end alone.
_THINKING = re.compile(r"\A.*</think>", re.DOTALL)
_BLOCK = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
_FENCE = re.compile(r"\A```(?:json)?\s*\n(.*?)\n?```\Z", re.DOTALL)


class HermesFormat:
    """`<tool_call>{"name": ..., "arguments": {...}}</tool_call>`, as Hermes and Qwen models write calls.

    Several blocks are several calls. Whatever stands before `</think>` is dropped, calls included. The last block may
    lack its end, which stop tokens cut off. A call without its wrapper is not taken for prose: it is unreadable.
    """

    def parse(self, text: str) -> ParsedTurn:
        """Read one turn."""
        text = _THINKING.sub("", text)
        if "<think>" in text:
            return ParsedTurn(error="<think> is never closed by </think>")
        prose = _BLOCK.sub("", text).strip()
        if "</tool_call>" in prose:
            return ParsedTurn(error="</tool_call> without <tool_call> before it")
        blocks = _BLOCK.findall(text)
        if not blocks and _is_bare_call(prose):
            return ParsedTurn(error="a call stands between <tool_call> and </tool_call>; this one stands bare")
        return _turn((_decoded(block) for block in blocks), prose)

    def render(self, calls: Sequence[ToolCall], prose: str = "") -> str:
        """Write one turn."""
        blocks = [f"<tool_call>\n{_encoded(call, 'name')}\n</tool_call>" for call in calls]
        return "\n".join([prose, *blocks] if prose else blocks)


class JsonFormat:
    """A bare JSON object `{"tool": ..., "arguments": {...}}`, or a list of them; a code fence around it is ignored.

    Text that does not begin as JSON is prose.
    """

    def parse(self, text: str) -> ParsedTurn:
        """Read one turn."""
        text = _THINKING.sub("", text).strip()
        if fenced := _FENCE.match(text):
            text = fenced.group(1).strip()
        if not text.startswith(("{", "[")):
            return _turn((), text)
        value = _decoded(text)
        values = cast("list[object]", value) if isinstance(value, list) else [value]
        return _turn(values, "")

    def render(self, calls: Sequence[ToolCall], prose: str = "") -> str:
        """Write one turn; prose beside calls cannot be written in this format and is left out."""
        if not calls:
            return prose
        written = [_encoded(call, "tool") for call in calls]
        return written[0] if len(written) == 1 else f"[{', '.join(written)}]"


def _is_bare_call(prose: str) -> bool:
    """Whether text is a call without its wrapper, which must not pass for something said."""
    fenced = _FENCE.match(prose)
    value = _decoded(fenced.group(1) if fenced else prose)
    return isinstance(value, dict) and not {"name", "tool"}.isdisjoint(cast("dict[str, Any]", value))


def _decoded(text: str) -> object:
    """The JSON value of `text`, or the error that reading it gave."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        return error


def _encoded(call: ToolCall, key: str) -> str:
    text = orjson.dumps({key: call.tool, "arguments": dict(call.arguments)}).decode()
    return text.replace("<", "\\u003c")  # inside JSON it stands in strings only, where it could end the block


def _turn(values: Iterable[object], prose: str) -> ParsedTurn:
    calls: list[ToolCall] = []
    for value in values:
        call = _call(value)
        if isinstance(call, str):
            return ParsedTurn(error=call)
        calls.append(call)
    if not calls and not prose:
        return ParsedTurn(error="the turn is empty: write a call, or something to say")
    return ParsedTurn(calls=tuple(calls), prose=prose)


def _call(value: object) -> ToolCall | str:
    """The call that a JSON value describes, or why it describes none."""
    if isinstance(value, orjson.JSONDecodeError):
        return f"a call is not valid JSON: {value}"
    if not isinstance(value, dict):
        return f"a call is a JSON object, not {type(value).__name__}"
    fields = cast("dict[str, Any]", value)
    name = fields.get("name", fields.get("tool"))
    arguments = fields.get("arguments", fields.get("parameters", {}))
    if isinstance(arguments, str):  # OpenAI's own wire format has the arguments as a JSON string
        arguments = _decoded(arguments)
    if not isinstance(name, str):
        return 'a call names its tool: {"name": "...", "arguments": {...}}'
    if not isinstance(arguments, dict):
        return f"the arguments of {name} are a JSON object, not {type(arguments).__name__}"
    return ToolCall(tool=name, arguments=cast("dict[str, Any]", arguments))


FORMATS: Registry[ActionFormat] = Registry("action format")
FORMATS.register("hermes", HermesFormat())
FORMATS.register("qwen", HermesFormat())
FORMATS.register("json", JsonFormat())
