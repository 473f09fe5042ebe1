"""Calls between Kimi K2's special tokens, each with an id that is also its name."""

import re
from collections.abc import Sequence

from palaestra.records import ToolCall
from palaestra.tools.formats.calls import encode_arguments, turn_of
from palaestra.tools.formats.format import ParsedTurn
from palaestra.tools.formats.hermes import is_bare_call, strip_thinking

_SECTION, _SECTION_END = "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"
_CALL, _ARGUMENTS, _CALL_END = "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"
_INDEX = re.compile(r":\d+\Z")
_PREFIX = "functions."


class KimiK2Format:
    """A section of calls, each `functions.NAME:NUMBER` and its arguments as JSON, between special tokens.

    The text before the arguments is the call's id, number included; the answer names it. Text after the section has no
    effect. Written calls are numbered from 0 in each turn.
    """

    def parse(self, text: str) -> ParsedTurn:
        """Parse one turn."""
        text, error = strip_thinking(text)
        if error is not None:
            return ParsedTurn(error=error)
        prose, section, rest = text.removesuffix("<|im_end|>").partition(_SECTION)
        prose = prose.strip()
        if _CALL in prose or _SECTION_END in prose:
            return ParsedTurn(error=f"a call stands after {_SECTION}")
        if not section:
            if is_bare_call(prose):
                return ParsedTurn(error=f"a call stands between {_CALL} and {_CALL_END}; this one stands bare")
            return turn_of((), prose)
        values: list[object] = []
        ids: list[str] = []
        before, *blocks = rest.partition(_SECTION_END)[0].split(_CALL)
        if before.strip() or not blocks:
            return ParsedTurn(error=f"{_SECTION} is followed by {_CALL}, not by {before.strip()[:40]!r}")
        for block in blocks:
            head, found, tail = block.partition(_ARGUMENTS)
            arguments, _, behind = tail.partition(_CALL_END)
            if not found or behind.strip():
                return ParsedTurn(error=f"a call is {_CALL}functions.name:0{_ARGUMENTS}{{...}}{_CALL_END}")
            ids.append(head.strip())
            name = _INDEX.sub("", head.strip()).removeprefix(_PREFIX)
            values.append({"name": name, "arguments": arguments.strip() or "{}"})
        return turn_of(values, prose, ids=ids)

    def render(self, calls: Sequence[ToolCall], prose: str = "") -> str:
        """Write one turn."""
        blocks = [
            f"{_CALL}{_PREFIX}{call.tool}:{number}{_ARGUMENTS}{encode_arguments(call)}{_CALL_END}"
            for number, call in enumerate(calls)
        ]
        return f"{prose}{_SECTION}{''.join(blocks)}{_SECTION_END}" if blocks else prose
