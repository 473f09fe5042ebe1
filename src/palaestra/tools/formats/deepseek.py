"""Calls between DeepSeek's special tokens, as V3, R1 and V3.1 write them."""

import re
from collections.abc import Sequence

from palaestra.records import ToolCall
from palaestra.tools.formats.calls import encode_arguments, turn_of
from palaestra.tools.formats.format import ParsedTurn
from palaestra.tools.formats.hermes import is_bare_call, strip_thinking

_CALLS, _CALLS_END = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"  # noqa: RUF001  the model's own tokens
_CALL, _SEPARATOR, _CALL_END = "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"  # noqa: RUF001
_TURN_END = "<｜end▁of▁sentence｜>"  # noqa: RUF001
_FENCED = re.compile(r"([^\n]*)\n```(?:json)?[^\S\n]*\n(.*)\n```\s*\Z", re.DOTALL)


class DeepSeekFormat:
    """Calls between special tokens; arguments in a JSON code fence (V3 and R1) or bare (V3.1). Both are parsed.

    Text after the calls has no effect.

    Args:
        fenced: Whether calls are written in the form of V3 and R1: `function`, separator, name, fence.
    """

    def __init__(self, *, fenced: bool) -> None:
        self._fenced = fenced

    def parse(self, text: str) -> ParsedTurn:
        """Parse one turn."""
        text, error = strip_thinking(text)
        if error is not None:
            return ParsedTurn(error=error)
        prose, begun, rest = text.removesuffix(_TURN_END).partition(_CALLS)
        prose = prose.strip()
        if _CALL in prose or _CALLS_END in prose:
            return ParsedTurn(error=f"a call stands after {_CALLS}")
        if not begun:
            if is_bare_call(prose):
                return ParsedTurn(error=f"a call stands between {_CALL} and {_CALL_END}; this one stands bare")
            return turn_of((), prose)
        before, *blocks = rest.partition(_CALLS_END)[0].split(_CALL)
        if before.strip() or not blocks:
            return ParsedTurn(error=f"{_CALLS} is followed by {_CALL}, not by {before.strip()[:40]!r}")
        values: list[object] = []
        for block in blocks:
            body, _, behind = block.partition(_CALL_END)
            head, found, tail = body.partition(_SEPARATOR)
            if not found or behind.strip():
                return ParsedTurn(error=f"a call is {_CALL}name{_SEPARATOR}{{...}}{_CALL_END}")
            fenced = _FENCED.match(tail)
            name, arguments = (head, tail) if fenced is None else (fenced[1], fenced[2])
            values.append({"name": name.strip(), "arguments": arguments.strip() or "{}"})
        return turn_of(values, prose)

    def render(self, calls: Sequence[ToolCall], prose: str = "") -> str:
        """Write one turn."""
        blocks = [f"{_CALL}{self._body(call)}{_CALL_END}" for call in calls]
        between = "\n" if self._fenced else ""
        return f"{prose}{_CALLS}{between.join(blocks)}{_CALLS_END}" if blocks else prose

    def _body(self, call: ToolCall) -> str:
        arguments = encode_arguments(call)
        if not self._fenced:
            return f"{call.tool}{_SEPARATOR}{arguments}"
        return f"function{_SEPARATOR}{call.tool}\n```json\n{arguments}\n```"
