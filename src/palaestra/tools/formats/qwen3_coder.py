"""Calls with a tag for each parameter, in the format of Qwen3-Coder models."""

import re
from collections.abc import Sequence

from palaestra.records import Json, ToolCall
from palaestra.tools.formats.calls import turn_of
from palaestra.tools.formats.format import ParsedTurn
from palaestra.tools.formats.hermes import is_bare_call, strip_thinking
from palaestra.tools.formats.parameter_types import read_value, write_value
from palaestra.tools.formats.typed_text import TypedTextFormat

_FUNCTION, _FUNCTION_END = "<function=", "</function>"
_PARAMETER, _PARAMETER_END = "<parameter=", "</parameter>"
_WRAPPER, _WRAPPER_END = "<tool_call>", "</tool_call>"
_TAGS = (_PARAMETER_END, "<think>", "</think>")
_SPACE = re.compile(r"\s*")


class Qwen3CoderFormat(TypedTextFormat):
    """`<tool_call>` with a `<function=...>` in it, and a `<parameter=...>` for each argument.

        <tool_call>
        <function=get_order>
        <parameter=order_id>
        ORD-1042
        </parameter>
        </function>
        </tool_call>

    Several functions are several calls, with or without the outer tags. Booleans are written as JSON, `true`; Python's
    `True`, which the chat template shows, is parsed too.
    """

    def parse(self, text: str) -> ParsedTurn:
        """Parse one turn."""
        text, error = strip_thinking(text)
        prose: list[str] = []
        values: list[object] = []
        at = 0
        while error is None and (begin := text.find(_FUNCTION, at)) >= 0:
            prose.append(text[at:begin])
            call, at, error = self._call(text, begin + len(_FUNCTION))
            values.append(call)
        if error is not None:
            return ParsedTurn(error=error)
        prose.append(text[at:])
        said = "".join(prose)
        if values:
            said = said.replace(_WRAPPER, "").replace(_WRAPPER_END, "")
        said = said.strip()
        for tag in (_WRAPPER, _WRAPPER_END, _FUNCTION_END, _PARAMETER, _PARAMETER_END):
            if tag in said:
                return ParsedTurn(error=f"{tag} stands outside a call; a call begins with {_FUNCTION}name>")
        if not values and is_bare_call(said):
            return ParsedTurn(error=f"a call stands in {_WRAPPER} as {_FUNCTION}name>; this one stands bare")
        return turn_of(values, said)

    def _call(self, text: str, at: int) -> tuple[object, int, str | None]:
        """The call whose name begins at `at`, its end, and why it cannot be parsed."""
        end = text.find(">", at)
        if end < 0:
            return None, at, f"{_FUNCTION} is never closed by >"
        name, at = text[at:end].strip(), end + 1
        arguments: dict[str, Json] = {}
        while True:
            at = _end_of_space(text, at)
            if text.startswith(_FUNCTION_END, at):
                return {"name": name, "arguments": arguments}, at + len(_FUNCTION_END), None
            if at == len(text) or text.startswith(_WRAPPER_END, at):
                return {"name": name, "arguments": arguments}, at, None
            begin, end = text.find(">", at), text.find(_PARAMETER_END, at)
            if not text.startswith(_PARAMETER, at) or not at < begin < end:
                return None, at, f"{text[at : at + 40]!r} is no whole parameter of {name[:40]}"
            parameter = text[at + len(_PARAMETER) : begin].strip()
            value = text[begin + 1 : end].removeprefix("\n").removesuffix("\n")
            arguments[parameter] = read_value(value, self._types.of(name, parameter), _TAGS)
            at = end + len(_PARAMETER_END)

    def render(self, calls: Sequence[ToolCall], prose: str = "") -> str:
        """Write one turn."""
        return "\n".join(
            [*([f"{prose}\n"] if prose and calls else [prose] if prose else []), *map(self._write_call, calls)]
        )

    def _write_call(self, call: ToolCall) -> str:
        lines = [_WRAPPER, f"{_FUNCTION}{call.tool}>"]
        for name, value in call.arguments.items():
            lines += [
                f"{_PARAMETER}{name}>",
                write_value(value, self._types.of(call.tool, name), _TAGS),
                _PARAMETER_END,
            ]
        return "\n".join([*lines, _FUNCTION_END, _WRAPPER_END])


def _end_of_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()
