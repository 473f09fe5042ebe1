"""Calls as bare JSON with `parameters`, in the format of Llama 3.1 to 3.3 and Llama 4."""

import re
from collections.abc import Sequence
from json import JSONDecodeError, JSONDecoder

from palaestra.records import ToolCall
from palaestra.tools.formats.calls import decode_json, encode_arguments, encode_value, turn_of
from palaestra.tools.formats.format import ParsedTurn

_TAG = "<|python_tag|>"
_ENDS = re.compile(r"(?:<\|eot_id\|>|<\|eom_id\|>|<\|eot\|>|<\|eom\|>)\s*\Z")
_OPENS = re.compile(r'^[^\S\n]*\{\s*"(?:name|type|function|parameters)"', re.MULTILINE)
_TAGGED = re.compile(r"<function=([^>\n]{1,200})>(.*?)(?:</function>|\Z)", re.DOTALL)
_BETWEEN = re.compile(r"[\s;]*")
_DECODER = JSONDecoder()


class Llama3Format:
    """`{"name": ..., "parameters": {...}}`, bare or after `<|python_tag|>`.

    Several calls follow one another, separated by semicolons. Text before the first call is prose; text after it makes
    the turn unreadable. `<function=NAME>{...}</function>`, the models' form for custom tools, is parsed too. Code for
    Llama's built-in tools is unreadable.
    """

    def parse(self, text: str) -> ParsedTurn:
        """Parse one turn."""
        text = _ENDS.sub("", text)
        prose, tagged, rest = text.partition(_TAG)
        if not tagged:
            if _TAGGED.search(text):
                tagged_calls = [
                    {"name": name, "arguments": said.strip() or "{}"} for name, said in _TAGGED.findall(text)
                ]
                return turn_of(tagged_calls, _TAGGED.sub("", text).strip())
            opens = _OPENS.search(text)
            begin = 0 if text.lstrip().startswith("{") else len(text) if opens is None else opens.start()
            prose, rest = text[:begin], text[begin:]
            if not rest.strip():
                return turn_of((), prose.strip())
        values = _values(rest.strip())
        return turn_of(values, prose.strip()) if values else ParsedTurn(error=f"{_TAG} without a call behind it")

    def render(self, calls: Sequence[ToolCall], prose: str = "") -> str:
        """Write one turn; prose in addition to calls cannot be written in this format and is left out."""
        if not calls:
            return prose
        return "; ".join(
            f'{{"name": {encode_value(call.tool)}, "parameters": {encode_arguments(call)}}}' for call in calls
        )


def _values(text: str) -> list[object]:
    """The consecutive JSON values of a text; an error in place of an invalid one."""
    values: list[object] = []
    at = 0
    while at < len(text):
        try:
            _, end = _DECODER.raw_decode(text, at)
        except (JSONDecodeError, RecursionError, ValueError):  # a number with too many digits raises ValueError
            end = len(text)
        values.append(decode_json(text[at:end]))
        between = _BETWEEN.match(text, end)
        at = end if between is None else between.end()
    return values
