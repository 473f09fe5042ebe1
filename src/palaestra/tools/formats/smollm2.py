"""SmolLM2's format: ChatML with the tools in the system message, and calls as one JSON list.

    <tool_call>[{"name": "get_order", "arguments": {"order_id": "ORD-1042"}}]</tool_call>

The prompt is the one with which SmolLM2's instruct models were trained to call functions (Ben Allal et al. 2025,
arXiv:2502.02737). Messages are laid out as by the checkpoint's chat template. The tags are text and not tokens, so they
are only parsed in a policy's own turns.
"""

import re
from collections.abc import Sequence
from json import dumps
from typing import cast

from palaestra.records import JsonSchema, Message, ToolCall
from palaestra.tools.formats.calls import decode_json, encode_call, turn_of
from palaestra.tools.formats.format import Mark, ParsedTurn, TurnPart, join_text
from palaestra.tools.formats.hermes import strip_fence
from palaestra.tools.images import read_text
from palaestra.tools.short_schemas import short_schema

_START, _END = Mark("<|im_start|>"), Mark("<|im_end|>")
_BLOCK = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
NO_CALLS = "[]"
"""The prose of a turn whose list of calls is empty; the prompt asks for an empty list if no tool fits."""

# The prompts that the model was trained with; they must match exactly, including spaces at ends of lines.
_DEFAULT_SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
_TOOLS_BEFORE = (
    "You are an expert in composing functions. You are given a question and a set of possible functions. \n"
    "Based on the question, you will need to make one or more function/tool calls to achieve the purpose. \n"
    "If none of the functions can be used, point it out and refuse to answer. \n"
    "If the given question lacks the parameters required by the function, also point it out.\n\n"
    "You have access to the following tools:\n<tools>"
)
_TOOLS_AFTER = (
    "</tools>\n\n"
    "The output MUST strictly adhere to the following format, and NO other text MUST be included.\n"
    "The example format is as follows. Please make sure the parameter type is correct. If no function call is needed, "
    "please make the tool calls an empty list '[]'.\n"
    "<tool_call>[\n"
    '{"name": "func_name1", "arguments": {"argument1": "value1", "argument2": "value2"}},\n'
    "... (more tool calls as required)\n"
    "]</tool_call>"
)


class SmolLM2Format:
    """Calls as a JSON list between `<tool_call>` and `</tool_call>`; see the module's text.

    An object instead of the list is one call. An empty list alone is the prose `[]`. The last block may lack its end. A
    call without its wrapper is unreadable.

    Args:
        described: Whether tools are shown with full descriptions. Without them the prompt is about half as long.
    """

    end = _END
    parts: tuple[TurnPart, ...] = ()
    plain_answers = True

    def __init__(self, *, described: bool = False) -> None:
        self.name = "smollm2-described" if described else "smollm2"
        self._described = described

    def parse(self, text: str) -> ParsedTurn:
        """Parse one turn."""
        prose = _BLOCK.sub("", text).strip()
        if "</tool_call>" in prose:
            return ParsedTurn(error="</tool_call> without <tool_call> before it")
        blocks = _BLOCK.findall(text)
        if not blocks and _is_bare_call(prose):
            return ParsedTurn(error="calls stand between <tool_call> and </tool_call>; this one stands bare")
        values = [value for block in blocks for value in _as_list(decode_json(block))]
        return turn_of(values, prose or (NO_CALLS if blocks and not values else ""))

    def render(self, calls: Sequence[ToolCall], prose: str = "") -> str:
        """Write one turn."""
        block = f"<tool_call>[{', '.join(encode_call(call, 'name') for call in calls)}]</tool_call>"
        return "\n".join(part for part in (prose, block if calls else "") if part)

    def rendering(self) -> "SmolLM2Rendering":
        """The rendering of a new episode."""
        return SmolLM2Rendering(self, described=self._described)

    def marks(self, corpus: Sequence[Sequence[str]]) -> list[Mark]:
        """ChatML's marks: the only tokens that the format needs."""
        del corpus
        return [_START, _END]


class SmolLM2Rendering:
    """One episode in SmolLM2's format."""

    def __init__(self, form: SmolLM2Format, *, described: bool) -> None:
        self._format = form
        self._described = described

    def opening(self, messages: Sequence[Message], tools: Sequence[JsonSchema]) -> list[str]:
        """The system message with the tools, the other messages, and the start of the policy's turn.

        Without a system message and without tools, it has the chat template's own system message.
        """
        begins = bool(messages) and messages[0]["role"] == "system"
        head = [read_text(messages[0])] if begins else []
        if tools:
            head.append(f"{_TOOLS_BEFORE}{self._listing(tools)}{_TOOLS_AFTER}")
        system: Message = {"role": "system", "content": "\n\n".join(head) if head else _DEFAULT_SYSTEM}
        return join_text(_turns([system, *(messages[1:] if begins else messages)]))

    def _listing(self, tools: Sequence[JsonSchema]) -> str:
        """The tools as a JSON list. A description cannot close the list: every "<" is escaped."""
        schemas = [short_schema(tool, described=self._described) for tool in tools]
        return dumps(schemas, ensure_ascii=False).replace("<", "\\u003c")

    def following(self, messages: Sequence[Message]) -> list[str]:
        """The messages, and the start of the policy's next turn."""
        return join_text(["\n", *_turns(messages)])

    def write_turn(self, calls: Sequence[ToolCall], prose: str = "") -> list[str]:
        """A turn and the end mark."""
        return join_text([self._format.render(calls, prose), _END])

    def read(self, pieces: Sequence[str]) -> str:
        """The text, unchanged."""
        ended = pieces and isinstance(pieces[-1], Mark) and pieces[-1] == _END
        return "".join(pieces[:-1] if ended else pieces)


def _turns(messages: Sequence[Message]) -> list[str]:
    pieces: list[str] = []
    for message in messages:
        pieces += [_START, f"{message['role']}\n{read_text(message)}", _END, "\n"]
    return [*pieces, _START, "assistant\n"]


def _as_list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else [value]


def _is_bare_call(prose: str) -> bool:
    """Whether text is a call, or a list of calls, without its wrapper, which must not be taken for prose."""
    values = _as_list(decode_json(strip_fence(prose)))
    return any(isinstance(value, dict) and "name" in value for value in values)
