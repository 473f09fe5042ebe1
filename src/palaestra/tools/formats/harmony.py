"""Calls as messages on channels, in OpenAI's harmony format of gpt-oss models."""

import re
from collections.abc import Sequence

from palaestra.records import ToolCall
from palaestra.tools.formats.calls import encode_arguments, turn_of
from palaestra.tools.formats.format import ParsedTurn
from palaestra.tools.formats.hermes import is_bare_call

_START, _CHANNEL, _MESSAGE = "<|start|>assistant", "<|channel|>", "<|message|>"
_ENDS = re.compile(r"<\|(?:end|call|return)\|>")
_STARTS = re.compile(r"<\|start\|>")
_ON_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)")
_RECIPIENT = re.compile(r"\bto=([^\s<]+)")
_PREFIX = "functions."


class HarmonyFormat:
    """Messages on channels: thinking on `analysis`, calls on `commentary` with a recipient, answers on `final`.

        <|channel|>commentary to=functions.get_order <|constrain|>json<|message|>{"order_id": "ORD-1042"}<|call|>

    The recipient may also be before the channel, where the chat template writes it for earlier calls. Thinking is
    dropped. Text without any message is prose. A call of one of gpt-oss's built-in tools is unreadable.
    """

    def parse(self, text: str) -> ParsedTurn:
        """Parse one turn."""
        if _MESSAGE not in text:
            if _CHANNEL in text or _STARTS.search(text):
                return ParsedTurn(error=f"a message holds {_MESSAGE}")
            if is_bare_call(text.strip()):
                return ParsedTurn(error=f"a call is a message with to={_PREFIX}name; this one stands bare")
            return turn_of((), text.strip())
        values: list[object] = []
        prose: list[str] = []
        for segment in _STARTS.split(text):
            if not segment.strip():
                continue
            head, found, tail = segment.partition(_MESSAGE)
            content, *behind = _ENDS.split(tail, maxsplit=1)
            if not found or "".join(behind).strip() or _MESSAGE in content:
                return ParsedTurn(error=f"a message is {_START}{_CHANNEL}name{_MESSAGE}text<|end|>, and no more")
            channel, recipient = _ON_CHANNEL.search(head), _RECIPIENT.search(head)
            if recipient is not None:
                if not recipient[1].startswith(_PREFIX):
                    return ParsedTurn(error=f"to={recipient[1][:40]}: calls go to {_PREFIX}name")
                name = recipient[1].removeprefix(_PREFIX)
                values.append({"name": name, "arguments": content.strip() or "{}"})
            elif channel is None or channel[1] != "analysis":
                prose.append(content.strip())
        return turn_of(values, "\n".join(filter(None, prose)))

    def render(self, calls: Sequence[ToolCall], prose: str = "") -> str:
        """Write one turn, to follow the `<|start|>assistant` at the end of the prompt."""
        if not calls:
            return f"{_CHANNEL}final{_MESSAGE}{prose}<|return|>" if prose else ""
        said = [f"{_CHANNEL}commentary{_MESSAGE}{prose}<|end|>"] if prose else []
        messages = [
            f"{_CHANNEL}commentary to={_PREFIX}{call.tool} <|constrain|>json{_MESSAGE}{encode_arguments(call)}<|call|>"
            for call in calls
        ]
        return _START.join([*said, *messages])
