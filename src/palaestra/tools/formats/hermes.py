"""Calls between `<tool_call>` and `</tool_call>`, in the format of Hermes and Qwen models."""

import re
from collections.abc import Sequence
from typing import Any, cast

from palaestra.records import ToolCall
from palaestra.tools.formats.calls import decode_json, encode_call, turn_of
from palaestra.tools.formats.format import ParsedTurn

# Chat templates may open the thinking in the prompt, so that the text has only the closing tag.
THINKING = re.compile(r"\A.*</think>", re.DOTALL)
_BLOCK = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
_FENCE = "```"
# Only the opening is a pattern: one for the whole fence would backtrack over long runs of line ends.
_FENCE_OPENS = re.compile(r"\A```(?:json)?[^\S\n]*\n")


class HermesFormat:
    """`<tool_call>{"name": ..., "arguments": {...}}</tool_call>`, the format of Hermes and Qwen models.

    Several blocks are several calls. Everything before `</think>` is dropped, calls included. The last block may lack
    its end, which stop tokens cut off. A call without its wrapper is unreadable, not prose.
    """

    def parse(self, text: str) -> ParsedTurn:
        """Parse one turn."""
        text, error = strip_thinking(text)
        if error is not None:
            return ParsedTurn(error=error)
        prose = _BLOCK.sub("", text).strip()
        if "</tool_call>" in prose:
            return ParsedTurn(error="</tool_call> without <tool_call> before it")
        blocks = _BLOCK.findall(text)
        if not blocks and is_bare_call(prose):
            return ParsedTurn(error="a call stands between <tool_call> and </tool_call>; this one stands bare")
        return turn_of((decode_json(block) for block in blocks), prose)

    def render(self, calls: Sequence[ToolCall], prose: str = "") -> str:
        """Write one turn."""
        blocks = [f"<tool_call>\n{encode_call(call, 'name')}\n</tool_call>" for call in calls]
        return "\n".join([prose, *blocks] if prose else blocks)


def strip_thinking(text: str) -> tuple[str, str | None]:
    """A turn without the thinking before it, and why thinking cannot be separated."""
    text = THINKING.sub("", text)
    return text, "<think> is never closed by </think>" if "<think>" in text else None


def strip_fence(text: str) -> str:
    """The content of a code fence around all of `text`; otherwise `text` itself."""
    opening = _FENCE_OPENS.match(text)
    if opening is None or len(text) < opening.end() + len(_FENCE) or not text.endswith(_FENCE):
        return text
    return text[opening.end() : -len(_FENCE)].strip()


def is_bare_call(prose: str) -> bool:
    """Whether text is a call without its wrapper, which must not be taken for prose."""
    value = decode_json(strip_fence(prose))
    return isinstance(value, dict) and not {"name", "tool"}.isdisjoint(cast("dict[str, Any]", value))
