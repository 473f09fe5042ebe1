"""Calls as bare JSON."""

import re
from collections.abc import Sequence
from typing import cast

from palaestra.records import ToolCall
from palaestra.tools.actions import read_model_value
from palaestra.tools.formats.calls import decode_json, encode_call, turn_of
from palaestra.tools.formats.format import ParsedTurn
from palaestra.tools.formats.hermes import THINKING, strip_fence

_CALL = re.compile(r'\{\s*"(?:tool|name)"\s*:\s*"')


class JsonFormat:
    """A bare JSON object `{"tool": ..., "arguments": {...}}`, or a list of them; a code fence around it is ignored.

    Calls and messages in the forms of OpenAI and Anthropic are read as well. Text that does not begin as JSON is prose,
    unless it contains a call: an intended call must not become a message.
    """

    def parse(self, text: str) -> ParsedTurn:
        """Parse one turn."""
        text = strip_fence(THINKING.sub("", text).strip())
        if not text.startswith(("{", "[")):
            if _CALL.search(text):
                return ParsedTurn(error="a call stands alone, without text around it; this one has some")
            return turn_of((), text)
        value = decode_json(text)
        said = read_model_value(value)
        if said is None or not (said.calls or said.text or said.error):
            return turn_of(cast("list[object]", value) if isinstance(value, list) else [value], "")
        return ParsedTurn(calls=said.calls, prose=said.text or "", error=said.error, ids=said.ids)

    def render(self, calls: Sequence[ToolCall], prose: str = "") -> str:
        """Write one turn; prose in addition to calls cannot be written in this format and is left out."""
        if not calls:
            return prose
        written = [encode_call(call, "tool") for call in calls]
        return written[0] if len(written) == 1 else f"[{', '.join(written)}]"
