"""Calls in tags with pairs of key and value, in the format of GLM models from 4.5 on."""

import re
from collections.abc import Sequence

from palaestra.records import Json, ToolCall
from palaestra.tools.formats.calls import turn_of
from palaestra.tools.formats.format import ParsedTurn
from palaestra.tools.formats.hermes import is_bare_call, strip_thinking
from palaestra.tools.formats.parameter_types import read_value, write_value
from palaestra.tools.formats.typed_text import TypedTextFormat

_CALL, _CALL_END = "<tool_call>", "</tool_call>"
_VALUE_END = "</arg_value>"
_TAGS = (_VALUE_END, "<think>", "</think>")
_NAME = re.compile(r"[^<]*")
_TOOL = re.compile(r"\w[\w.:/-]*")
_PAIR = re.compile(r"\s*<arg_key>([^<]*)</arg_key>\s*<arg_value>")


class GlmFormat(TypedTextFormat):
    """`<tool_call>` with a name, then `<arg_key>` and `<arg_value>` for each argument.

        <tool_call>get_order
        <arg_key>order_id</arg_key>
        <arg_value>ORD-1042</arg_value>
        </tool_call>

    Several blocks are several calls. Line ends between the tags are ignored: GLM-4.7 writes none.
    """

    def parse(self, text: str) -> ParsedTurn:
        """Parse one turn."""
        text, error = strip_thinking(text)
        prose: list[str] = []
        values: list[object] = []
        at = 0
        while error is None and (begin := text.find(_CALL, at)) >= 0:
            prose.append(text[at:begin])
            call, at, error = self._call(text, begin + len(_CALL))
            values.append(call)
        if error is not None:
            return ParsedTurn(error=error)
        said = "".join([*prose, text[at:]]).strip()
        for tag in (_CALL_END, "<arg_key>", "<arg_value>", _VALUE_END):
            if tag in said:
                return ParsedTurn(error=f"{tag} stands outside a call; a call begins with {_CALL}name")
        if not values and is_bare_call(said):
            return ParsedTurn(error=f"a call stands between {_CALL} and {_CALL_END}; this one stands bare")
        return turn_of(values, said)

    def _call(self, text: str, at: int) -> tuple[object, int, str | None]:
        """The call whose name begins at `at`, its end, and why it cannot be parsed."""
        named = _NAME.match(text, at)
        assert named is not None, "the pattern fits anywhere"
        name, at = named[0].strip(), named.end()
        if not _TOOL.fullmatch(name):
            return None, at, f"{name[:40]!r} is no name of a tool; write {_CALL}name"
        arguments: dict[str, Json] = {}
        while pair := _PAIR.match(text, at):
            key, begin = pair[1].strip(), pair.end()
            end = text.find(_VALUE_END, begin)
            if end < 0:
                return None, at, f"<arg_value> of {key[:40]} is never closed by {_VALUE_END}"
            arguments[key] = read_value(text[begin:end], self._types.of(name, key), _TAGS)
            at = end + len(_VALUE_END)
        rest = text[at : at + 400].lstrip()
        if rest and not rest.startswith(_CALL_END):
            return None, at, f"{rest[:40]!r} is no argument of {name[:40]}; write <arg_key> and <arg_value>"
        end = text.find(_CALL_END, at)
        return {"name": name, "arguments": arguments}, len(text) if end < 0 else end + len(_CALL_END), None

    def render(self, calls: Sequence[ToolCall], prose: str = "") -> str:
        """Write one turn."""
        return "\n".join([*([prose] if prose else []), *map(self._write_call, calls)])

    def _write_call(self, call: ToolCall) -> str:
        lines = [f"{_CALL}{call.tool}"]
        for name, value in call.arguments.items():
            written = write_value(value, self._types.of(call.tool, name), _TAGS)
            lines += [f"<arg_key>{name}</arg_key>", f"<arg_value>{written}{_VALUE_END}"]
        return "\n".join([*lines, _CALL_END])
