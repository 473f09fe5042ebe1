"""The full format: ChatML with schemas in the prompt, laid out like the chat templates of Qwen3 and Qwen2.5.

The layout is written out here, because a checkpoint's template renders the whole conversation anew, which would then be
tokenised again after every turn. Here each turn is appended. Thinking of earlier turns is kept as sampled.
"""

import itertools
import json
from collections.abc import Sequence

from palaestra.records import JsonSchema, Message, ToolCall
from palaestra.tools.formats.calls import encode_call
from palaestra.tools.formats.format import Mark, TurnPart, join_text
from palaestra.tools.formats.hermes import HermesFormat
from palaestra.tools.images import read_text

_START, _END = Mark("<|im_start|>"), Mark("<|im_end|>")
_TAGS = tuple(Mark(f"<{end}{tag}>") for tag in ("tool_call", "tool_response", "think") for end in ("", "/"))
_CALL, _CALL_END, _ANSWER, _ANSWER_END, _THINK, _THINK_END = _TAGS

# The prompt text that Qwen was trained with for tools; it must match exactly.
_TOOLS_BEFORE = (
    "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>"
)
_TOOLS_AFTER = (
    "\n</tools>\n\nFor each function call, return a json object with function name and arguments within ",
    _CALL,
    _CALL_END,
    " XML tags:\n",
    _CALL,
    '\n{"name": <function-name>, "arguments": <args-json-object>}\n',
    _CALL_END,
)
_QWEN25_SYSTEM = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."
"""Qwen2.5's text if there is no system message."""


class QwenFormat(HermesFormat):
    """Hermes calls in ChatML, with the tools' schemas in the system message.

    Args:
        thinking: Whether Qwen3 may think before it calls; without it, the prompt closes the thinking at once. `None`
            for Qwen2.5, which has no thinking.
    """

    end = _END
    parts: tuple[TurnPart, ...] = ()
    plain_answers = True

    def __init__(self, *, thinking: bool | None = False) -> None:
        self.name = {True: "qwen-thinking", False: "qwen", None: "qwen2.5"}[thinking]
        self._thinking = thinking

    def rendering(self) -> "QwenRendering":
        """The rendering of a new episode."""
        return QwenRendering(thinking=self._thinking)

    def marks(self, corpus: Sequence[Sequence[str]]) -> list[Mark]:
        """ChatML's marks, and the tags that are tokens of the models."""
        del corpus
        return [_START, _END, *(_TAGS if self._thinking is not None else (_CALL, _CALL_END, _ANSWER, _ANSWER_END))]


class QwenRendering:
    """One episode in the full format."""

    def __init__(self, *, thinking: bool | None) -> None:
        closed = (_THINK, "\n\n", _THINK_END, "\n\n") if thinking is False else ()
        self._turn = [_START, "assistant\n", *closed]
        self._system = _QWEN25_SYSTEM if thinking is None else None

    def opening(self, messages: Sequence[Message], tools: Sequence[JsonSchema]) -> list[str]:
        """The system message with schemas, the other messages, and the start of the policy's turn."""
        has_system = bool(messages) and messages[0]["role"] == "system"
        system = read_text(messages[0]) if has_system else self._system
        head = [] if system is None else [system]
        if tools:
            schemas = (f"\n{json.dumps(schema, ensure_ascii=False)}" for schema in tools)
            head = [*head, *(["\n\n"] if head else []), _TOOLS_BEFORE, *schemas, *_TOOLS_AFTER]
        block = [_START, "system\n", *head, _END, "\n"] if head else []
        return join_text([*block, *self._messages(messages[1:] if has_system else messages)])

    def following(self, messages: Sequence[Message]) -> list[str]:
        """The messages, and the start of the policy's next turn."""
        return join_text(["\n", *self._messages(messages)])

    def _messages(self, messages: Sequence[Message]) -> list[str]:
        """The messages, with consecutive tool answers as one user message, and the start of the policy's turn."""
        pieces: list[str] = []
        for answers, group in itertools.groupby(messages, lambda message: message["role"] == "tool"):
            if answers:
                blocks = (("\n", _ANSWER, f"\n{read_text(answer)}\n", _ANSWER_END) for answer in group)
                pieces += [_START, "user", *itertools.chain.from_iterable(blocks), _END, "\n"]
            else:
                for message in group:
                    pieces += [_START, f"{message['role']}\n{read_text(message)}", _END, "\n"]
        return [*pieces, *self._turn]

    def write_turn(self, calls: Sequence[ToolCall], prose: str = "") -> list[str]:
        """A turn with tags as marks, and the end mark."""
        pieces = [prose]
        for call in calls:
            pieces += ["\n" if any(pieces) else "", _CALL, f"\n{encode_call(call, 'name')}\n", _CALL_END]
        return join_text([*pieces, _END])

    def read(self, pieces: Sequence[str]) -> str:
        """The text, unchanged."""
        ended = pieces and isinstance(pieces[-1], Mark) and pieces[-1] == _END
        return "".join(pieces[:-1] if ended else pieces)
