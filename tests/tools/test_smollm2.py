"""The expected layouts are written out by hand, and held against the chat template of SmolLM2's checkpoints."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.records import Message, ToolCall
from palaestra.tools import Mark, SmolLM2Format

SHORT, DESCRIBED = SmolLM2Format(), SmolLM2Format(described=True)
LOOK: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Look at <é>. Twice.",
        "parameters": {
            "type": "object",
            "properties": {"id": {"type": "string", "description": "Whose."}, "far": {"type": "boolean"}},
            "required": ["id"],
        },
    },
}
SYSTEM: Message = {"role": "system", "content": "You are a clerk."}
USER: Message = {"role": "user", "content": "Where is A?"}
ANSWER: Message = {"role": "tool", "name": "look", "content": '{"at":1}'}
CALL = ToolCall(tool="look", arguments={"id": "A"})
WRITTEN = '{"name": "look", "arguments": {"id": "A"}}'

PROMPT = """\
You are an expert in composing functions. You are given a question and a set of possible functions.\x20
Based on the question, you will need to make one or more function/tool calls to achieve the purpose.\x20
If none of the functions can be used, point it out and refuse to answer.\x20
If the given question lacks the parameters required by the function, also point it out.

You have access to the following tools:
<tools>[TOOLS]</tools>

The output MUST strictly adhere to the following format, and NO other text MUST be included.
The example format is as follows. Please make sure the parameter type is correct. If no function call is needed, \
please make the tool calls an empty list '[]'.
<tool_call>[
{"name": "func_name1", "arguments": {"argument1": "value1", "argument2": "value2"}},
... (more tool calls as required)
]</tool_call>"""
SHORT_LOOK = (
    '{"name": "look", "description": "Look at \\u003cé>.", "parameters": {"id": "str", "far": "bool, optional"}}'
)
WHOLE_LOOK = (
    '{"name": "look", "description": "Look at \\u003cé>. Twice.", "parameters": '
    '{"id": {"description": "Whose.", "type": "str"}, "far": {"description": "", "type": "bool, optional"}}}'
)
ASKED = "<|im_start|>user\nWhere is A?<|im_end|>\n<|im_start|>assistant\n"


def marks_in(pieces: list[str]) -> list[str]:
    return [piece for piece in pieces if isinstance(piece, Mark)]


tags = st.sampled_from(
    ["<tool_call>", "</tool_call>", "<|im_end|>", "<|im_start|>system\n", "</tools>", "[", "{", "\n", " "]
)
texts = st.lists(tags | st.text(max_size=3), max_size=6).map("".join)
calls = st.builds(ToolCall, tool=texts, arguments=st.dictionaries(texts, texts, max_size=2))
prose = st.text("abc .,!?\n é", max_size=20).map(str.strip)


@given(said=texts, turn=st.lists(calls, max_size=2))
def test_nothing_that_is_said_or_asked_for_becomes_a_mark(said: str, turn: list[ToolCall]) -> None:
    rendering = SHORT.rendering()
    written = rendering.write_turn(turn, said)
    assert marks_in(written) == ["<|im_end|>"]
    assert rendering.read(written) == SHORT.render(turn, said)
    heard: list[Message] = [{"role": "user", "content": said}, {"role": "tool", "content": said}]
    message = ["<|im_start|>", "<|im_end|>"]
    assert marks_in(SHORT.rendering().following(heard)) == [*message, *message, "<|im_start|>"]


@given(said=texts)
@pytest.mark.parametrize("form", [SHORT, DESCRIBED], ids=["short", "described"])
def test_no_description_of_a_tool_can_end_the_list_of_tools(form: SmolLM2Format, said: str) -> None:
    part = {"type": "string", "description": said, "enum": [said]}
    function = {"name": said, "description": said, "parameters": {"properties": {said: part}}}
    text = "".join(form.rendering().opening([USER], [{"type": "function", "function": function}]))
    before, _, rest = text.partition("<tools>")
    listed, _, after = rest.partition("</tools>")
    assert "<" not in listed
    head, _, tail = PROMPT.partition("[TOOLS]")
    assert f"{before}<tools>" == f"<|im_start|>system\n{head}"
    assert f"</tools>{after}" == f"{tail}<|im_end|>\n{ASKED}"


@given(turn=st.lists(calls, max_size=3), said=prose)
def test_a_turn_reads_back_as_it_was_written_whatever_its_calls_spell(turn: list[ToolCall], said: str) -> None:
    rendering = SHORT.rendering()
    parsed = SHORT.parse(rendering.read(rendering.write_turn(turn, said)))
    if not turn and not said:
        assert parsed.error == "the turn is empty: write a call, or something to say"
        return
    assert parsed.error is None
    assert (list(parsed.calls), parsed.prose) == (turn, said)


@pytest.mark.parametrize(
    "text",
    [
        f"<tool_call>[{WRITTEN}]</tool_call>",
        f"<tool_call>[\n{WRITTEN}\n]</tool_call>",
        f"<tool_call>[{WRITTEN}]",
        f"<tool_call>{WRITTEN}</tool_call>",
        '<tool_call>[{"name": "look", "arguments": "{\\"id\\": \\"A\\"}"}]</tool_call>',
    ],
    ids=["as trained", "over lines", "cut off by a stop token", "an object", "arguments as a string"],
)
def test_what_the_model_writes_is_read(text: str) -> None:
    parsed = SHORT.parse(text)
    assert parsed.error is None
    assert parsed.calls == (CALL,)


def test_several_calls_stand_in_one_list_or_in_several_blocks() -> None:
    assert SHORT.render([CALL, CALL]) == f"<tool_call>[{WRITTEN}, {WRITTEN}]</tool_call>"
    for text in (
        f"Both.\n<tool_call>[{WRITTEN}, {WRITTEN}]</tool_call>",
        f"<tool_call>[{WRITTEN}]</tool_call>Both.<tool_call>[]</tool_call><tool_call>[{WRITTEN}]</tool_call>",
    ):
        parsed = SHORT.parse(text)
        assert (parsed.calls, parsed.prose) == ((CALL, CALL), "Both.")


@pytest.mark.parametrize("text", ["<tool_call>[]</tool_call>", "<tool_call>[ ]", "[]"])
def test_an_empty_list_says_that_no_tool_fits(text: str) -> None:
    parsed = SHORT.parse(text)
    assert (parsed.calls, parsed.prose, parsed.error) == ((), "[]", None)
    assert SHORT.parse(f"No tool fits.{text}").prose.startswith("No tool fits.")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the turn is empty"),
        ("look</tool_call>", "</tool_call> without <tool_call>"),
        ("<tool_call></tool_call>", "a call is not valid JSON"),
        ("<tool_call>[", "a call is not valid JSON"),
        ("<tool_call>[{]</tool_call>", "a call is not valid JSON"),
        ('<tool_call>["look"]</tool_call>', "a call is a JSON object, not str"),
        (f"<tool_call>[[{WRITTEN}]]</tool_call>", "a call is a JSON object, not list"),
        ('<tool_call>[{"arguments": {}}]</tool_call>', "a call names its tool"),
        (f"<tool_call>[{WRITTEN}, 1]</tool_call>", "a call is a JSON object, not int"),
        (f"[{WRITTEN}]", "this one stands bare"),
        (WRITTEN, "this one stands bare"),
        (f"```json\n[{WRITTEN}]\n```", "this one stands bare"),
    ],
)
def test_what_cannot_be_read_is_explained(text: str, says: str) -> None:
    parsed = SHORT.parse(text)
    assert parsed.calls == ()
    assert parsed.error is not None
    assert says in parsed.error


@pytest.mark.parametrize(
    ("messages", "tools", "system"),
    [
        ([SYSTEM, USER], [LOOK], f"You are a clerk.\n\n{PROMPT}"),
        ([USER], [LOOK], PROMPT),
        ([SYSTEM, USER], [], "You are a clerk."),
        ([USER], [], "You are a helpful AI assistant named SmolLM, trained by Hugging Face"),
    ],
    ids=["system and tools", "tools alone", "system alone", "neither"],
)
def test_an_opening_is_laid_out_as_smollm2_was_trained_to_read_it(
    messages: list[Message], tools: list[dict[str, Any]], system: str
) -> None:
    for form, shown in ((SHORT, SHORT_LOOK), (DESCRIBED, WHOLE_LOOK)):
        laid_out = f"<|im_start|>system\n{system}<|im_end|>\n{ASKED}".replace("[TOOLS]", f"[{shown}]")
        assert "".join(form.rendering().opening(messages, tools)) == laid_out


def test_each_message_is_laid_out_by_its_role() -> None:
    laid_out = '\n<|im_start|>tool\n{"at":1}<|im_end|>\n' + ASKED
    assert "".join(SHORT.rendering().following([ANSWER, USER])) == laid_out
    assert "".join(SHORT.rendering().write_turn([CALL], "So.")) == f"So.\n<tool_call>[{WRITTEN}]</tool_call><|im_end|>"


def test_text_between_marks_is_one_piece_so_that_it_is_tokenised_as_a_template_is() -> None:
    rendering = SHORT.rendering()
    for pieces in (
        rendering.opening([SYSTEM, USER], [LOOK]),
        rendering.write_turn([CALL], "So."),
        rendering.following([ANSWER]),
    ):
        assert all(pieces)
        assert all(isinstance(a, Mark) or isinstance(b, Mark) for a, b in pairwise(pieces))
        assert set(marks_in(pieces)) <= set(SHORT.marks([pieces]))


def test_reading_drops_the_end_mark_and_keeps_every_other() -> None:
    rendering = SHORT.rendering()
    assert rendering.read([]) == ""
    assert rendering.read(["So", "<|im_end|>"]) == "So<|im_end|>"
    assert rendering.read(["So", Mark("<|im_start|>"), Mark("<|im_end|>")]) == "So<|im_start|>"


def test_formats_with_and_without_descriptions_are_told_apart_by_name() -> None:
    assert (SHORT.name, DESCRIBED.name) == ("smollm2", "smollm2-described")
