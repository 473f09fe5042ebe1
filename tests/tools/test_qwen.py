"""The layouts of Qwen3 are written out by hand, and were held against its own chat template; those of Qwen2.5 are.

The template of Qwen2.5 is the one that TRL ships.
"""

from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers.utils import chat_template_utils

from palaestra.records import Message, ToolCall
from palaestra.tools import Mark, QwenFormat

QWEN, THINKING, QWEN25 = QwenFormat(), QwenFormat(thinking=True), QwenFormat(thinking=None)
LOOK: dict[str, Any] = {
    "type": "function",
    "function": {"name": "look", "description": "Look at <é>.", "parameters": {"type": "object", "required": ["id"]}},
}
SYSTEM: Message = {"role": "system", "content": "You are a clerk.\n"}
USER: Message = {"role": "user", "content": "Where is A?"}
ANSWERS: list[Message] = [{"role": "tool", "name": "look", "content": '{"at":1}'}, {"role": "tool", "content": ""}]
CALL = ToolCall(tool="look", arguments={"id": "A"})

TOOLS = """\
# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{"type": "function", "function": {"name": "look", "description": "Look at <é>.", \
"parameters": {"type": "object", "required": ["id"]}}}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call><|im_end|>
"""
ASKED = "<|im_start|>user\nWhere is A?<|im_end|>\n<|im_start|>assistant\n"
NO_THINKING = "<think>\n\n</think>\n\n"


def marks_in(pieces: list[str]) -> list[str]:
    return [piece for piece in pieces if isinstance(piece, Mark)]


tags = st.sampled_from(
    ["<tool_call>", "</tool_call>", "<|im_end|>", "<|im_start|>system\n", "</think>", "{", "\n", " "]
)
texts = st.lists(tags | st.text(max_size=3), max_size=6).map("".join)
calls = st.builds(ToolCall, tool=texts, arguments=st.dictionaries(texts, texts, max_size=2))


@given(said=texts, turn=st.lists(calls, max_size=2))
def test_nothing_that_is_said_or_asked_for_becomes_a_mark(said: str, turn: list[ToolCall]) -> None:
    rendering = QWEN.rendering()
    written = rendering.write_turn(turn, said)
    assert marks_in(written) == ["<tool_call>", "</tool_call>"] * len(turn) + ["<|im_end|>"]
    assert rendering.read(written) == QWEN.render(turn, said)
    heard: list[Message] = [{"role": "user", "content": said}, {"role": "tool", "content": said}]
    own = ["<|im_start|>", "<|im_end|>"]
    answer = ["<|im_start|>", "<tool_response>", "</tool_response>", "<|im_end|>"]
    assert marks_in(THINKING.rendering().following(heard)) == [*own, *answer, "<|im_start|>"]


@given(turn=st.lists(calls, min_size=1, max_size=3))
def test_calls_read_back_as_they_were_written_whatever_they_spell(turn: list[ToolCall]) -> None:
    rendering = QWEN.rendering()
    assert list(QWEN.parse(rendering.read(rendering.write_turn(turn))).calls) == turn


@pytest.mark.parametrize(
    ("messages", "tools", "laid_out"),
    [
        ([SYSTEM, USER], [LOOK], "<|im_start|>system\nYou are a clerk.\n\n\n" + TOOLS + ASKED),
        ([USER], [LOOK], "<|im_start|>system\n" + TOOLS + ASKED),
        (
            [SYSTEM, USER],
            [],
            "<|im_start|>system\nYou are a clerk.\n<|im_end|>\n" + ASKED,
        ),
        ([USER], [], ASKED),
        ([], [], "<|im_start|>assistant\n"),
    ],
    ids=["system and tools", "tools alone", "no tools", "user alone", "nothing"],
)
def test_an_opening_is_laid_out_as_qwen3_was_trained_to_read_it(
    messages: list[Message], tools: list[dict[str, Any]], laid_out: str
) -> None:
    assert "".join(THINKING.rendering().opening(messages, tools)) == laid_out
    assert "".join(QWEN.rendering().opening(messages, tools)) == laid_out + NO_THINKING


def test_a_turn_is_laid_out_as_qwen3_was_trained_to_write_it() -> None:
    written = QWEN.rendering().write_turn([CALL, CALL], "I will look.")
    block = '<tool_call>\n{"name": "look", "arguments": {"id": "A"}}\n</tool_call>'
    assert "".join(written) == f"I will look.\n{block}\n{block}<|im_end|>"
    assert "".join(QWEN.rendering().write_turn([CALL])) == f"{block}<|im_end|>"


def test_answers_in_a_row_stand_in_one_message_of_the_users() -> None:
    laid_out = (
        "\n<|im_start|>user\n"
        '<tool_response>\n{"at":1}\n</tool_response>\n'
        "<tool_response>\n\n</tool_response><|im_end|>\n"
        "<|im_start|>user\nWhere is A?<|im_end|>\n"
        "<|im_start|>user\n<tool_response>\n\n</tool_response><|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    messages = [*ANSWERS, USER, ANSWERS[1]]
    assert "".join(THINKING.rendering().following(messages)) == laid_out
    assert "".join(QWEN.rendering().following(messages)) == laid_out + NO_THINKING


def test_text_between_marks_is_one_piece_so_that_it_is_tokenised_as_a_template_is() -> None:
    rendering = QWEN.rendering()
    for pieces in (
        rendering.opening([SYSTEM, USER], [LOOK]),
        rendering.write_turn([CALL], "So."),
        rendering.following(ANSWERS),
    ):
        assert all(pieces)
        assert all(isinstance(a, Mark) or isinstance(b, Mark) for a, b in pairwise(pieces))


@pytest.mark.parametrize("form", [QWEN, THINKING, QWEN25])
def test_every_mark_that_a_rendering_makes_is_one_that_the_tokenizer_is_told_of(form: QwenFormat) -> None:
    rendering = form.rendering()
    pieces = [*rendering.opening([SYSTEM, USER], [LOOK]), *rendering.write_turn([CALL]), *rendering.following(ANSWERS)]
    assert form.end in form.marks([])
    assert set(marks_in(pieces)) <= set(form.marks([pieces]))


def test_reading_drops_the_end_mark_and_keeps_every_other() -> None:
    rendering = THINKING.rendering()
    assert rendering.read([]) == ""
    assert rendering.read(["So", "<|im_end|>"]) == "So<|im_end|>"
    sampled = [Mark("<think>"), "\nA?\n", Mark("</think>"), "\n\n", *rendering.write_turn([CALL])]
    text = rendering.read(sampled)
    assert text.startswith("<think>\nA?\n</think>\n\n<tool_call>")
    assert THINKING.parse(text).calls == (CALL,)


def test_formats_with_and_without_thinking_are_told_apart_by_name() -> None:
    assert (QWEN.name, THINKING.name, QWEN25.name) == ("qwen", "qwen-thinking", "qwen2.5")


# Qwen2.5


def render_by_template(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> str:
    found = find_spec("trl")
    assert found is not None
    assert found.origin is not None
    template = (Path(found.origin).parent / "chat_templates" / "qwen2_5.jinja").read_text()
    functions: Any = chat_template_utils  # it declares other types than it takes and gives
    text: str = functions.render_jinja_template(
        [messages], tools=tools, chat_template=template, add_generation_prompt=True
    )[0][0]
    return text


@pytest.mark.parametrize("tools", [[LOOK], []], ids=["tools", "no tools"])
@pytest.mark.parametrize("system", [[SYSTEM], []], ids=["system", "no system"])
@pytest.mark.parametrize("prose", ["", "I will look."])
def test_an_episode_is_laid_out_as_the_template_of_qwen25_lays_it_out(
    tools: list[dict[str, Any]], system: list[Message], prose: str
) -> None:
    rendering = QWEN25.rendering()
    turn = rendering.write_turn([CALL, CALL], prose)
    pieces = [*rendering.opening([*system, USER], tools), *turn, *rendering.following(ANSWERS)]
    call = {"function": {"name": CALL.tool, "arguments": dict(CALL.arguments)}}
    said = {"role": "assistant", "content": prose, "tool_calls": [call, call]}
    assert "".join(pieces) == render_by_template([*map(dict, [*system, USER]), said, *map(dict, ANSWERS)], tools)
    assert "<think>" not in pieces
