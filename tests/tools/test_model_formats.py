"""The formats of other models: they read what they write, vLLM's parsers read the same, and no text makes them fail."""

# ruff: noqa: RUF001  the models' own tokens

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palaestra.records import ToolCall
from palaestra.tools import FORMATS, ActionFormat, ParsedTurn, bind_tools
from vllmparsers.recorder import PARSES
from vllmparsers.recorder import TOOLS as RECORDED_TOOLS

NAMES = ("deepseek-v3", "deepseek-v31", "glm", "gpt-oss", "kimi-k2", "llama3", "qwen3-coder", "smollm2")
PROSE_BESIDE_CALLS = tuple(name for name in NAMES if name != "llama3")
TYPED = ("glm", "qwen3-coder")
CORPUS: list[dict[str, Any]] = json.loads(PARSES.read_text(encoding="utf-8"))

PROPERTIES: dict[str, Any] = {
    "title": {"type": "string"},
    "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    "amount": {"type": ["string", "integer"]},
    "either": {"anyOf": [{"$ref": "#/$defs/Word"}, {"type": "boolean"}, {"type": "array"}]},
    "word": {"enum": ["a", "b"]},
    "count": {"type": "integer"},
    "share": {"type": "number"},
    "urgent": {"type": "boolean"},
    "tags": {"type": "array", "items": {"type": "string"}},
    "extra": {"type": "object"},
    "anything": {},
}
TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "file_case",
            "parameters": {
                "type": "object",
                "properties": PROPERTIES,
                "$defs": {"Word": {"type": "string"}, "Loop": {"$ref": "#/$defs/Loop"}},
            },
        },
    }
]
BOUND: dict[str, ActionFormat] = {name: bind_tools(FORMATS.get(name), TOOLS) for name in NAMES}

tags = [
    *("<think>", "</think>", "<tool_call>", "</tool_call>", "<function=x>", "</function>", "<parameter=x>"),
    *("</parameter>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "<|python_tag|>", "<|eot_id|>"),
    *("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_begin|>", "<|tool_call_end|>"),
    *("<|tool_call_argument_begin|>", "<|start|>assistant", "<|channel|>", "<|message|>", "<|call|>", "<|end|>"),
    *("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>"),
    *("<｜tool▁call▁end｜>", "<｜end▁of▁sentence｜>", "functions.x:0", "to=functions.x", "commentary", "final"),
    *("```json\n", "\n```", "{", "}", "[", "]", '"', '"name"', ": ", ", ", "; ", "\n", " ", "x", "5", "null", "true"),
    *('{"name": "x", "parameters": {}}', '{"name": "x", "arguments": {"a": 1}}'),
]
junk = st.lists(st.sampled_from(tags), max_size=14).map("".join) | st.text(st.characters(), max_size=40)
texts = (
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
    | st.lists(st.sampled_from(tags), max_size=4).map("".join)
    | st.sampled_from(["5", "-0", "null", "None", "True", "true", '"null"', '"5"', "[1]", "{}", "1e400", " 5 ", "\n\n"])
)
whole_numbers = st.integers(-(2**53), 2**53)
numbers = st.floats(allow_nan=False, allow_infinity=False)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | whole_numbers | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=4,
)
VALID: dict[str, st.SearchStrategy[Any]] = {
    "title": texts,
    "note": texts | st.none(),
    "amount": texts | whole_numbers,
    "either": texts | st.booleans() | st.lists(values, max_size=3),
    "word": st.sampled_from(["a", "b"]),
    "count": whole_numbers,
    "share": whole_numbers | numbers,
    "urgent": st.booleans(),
    "tags": st.lists(texts, max_size=3),
    "extra": st.dictionaries(texts, values, max_size=3),
    "anything": values,
}
valid_calls = st.builds(ToolCall, tool=st.just("file_case"), arguments=st.fixed_dictionaries({}, optional=VALID))
names = st.from_regex(r"[a-z_]{1,12}", fullmatch=True)
calls = st.builds(ToolCall, tool=names, arguments=st.dictionaries(names, values, max_size=3))
prose = st.text("abc .,!?\n é", max_size=20).map(str.strip)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40)
@given(turn=st.lists(valid_calls, min_size=1, max_size=3))
def test_calls_that_fit_the_schemas_are_read_back(name: str, turn: list[ToolCall]) -> None:
    form = BOUND[name]
    parsed = form.parse(form.render(turn))
    assert (parsed.error, list(parsed.calls), parsed.prose) == (None, turn, "")


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40)
@given(turn=st.lists(calls, min_size=1, max_size=3))
def test_calls_of_unknown_tools_are_read_back(name: str, turn: list[ToolCall]) -> None:
    for form in (FORMATS.get(name), BOUND[name]):
        assert list(form.parse(form.render(turn)).calls) == turn


@pytest.mark.parametrize("name", PROSE_BESIDE_CALLS)
@settings(max_examples=40)
@given(turn=st.lists(calls, max_size=2), said=prose)
def test_prose_beside_calls_is_read_back(name: str, turn: list[ToolCall], said: str) -> None:
    form = FORMATS.get(name)
    parsed = form.parse(form.render(turn, said))
    if turn or said:
        assert (parsed.error, list(parsed.calls), parsed.prose) == (None, turn, said)
    else:
        assert parsed.error == "the turn is empty: write a call, or something to say"


def test_llama3_says_something_or_calls_and_reads_what_stands_before_a_call() -> None:
    form = FORMATS.get("llama3")
    call = ToolCall(tool="look", arguments={"n": 1})
    assert form.render([call], "lost") == '{"name": "look", "parameters": {"n": 1}}'
    assert form.parse("I look.\n" + form.render([call])) == ParsedTurn(calls=(call,), prose="I look.")
    assert form.parse("I look. <|python_tag|>" + form.render([call])) == ParsedTurn(calls=(call,), prose="I look.")
    assert form.parse('<function=look>{"n": 1}</function><|eom_id|>') == ParsedTurn(calls=(call,))
    assert form.parse(form.render([], "I look.") + "<|eot_id|>") == ParsedTurn(prose="I look.")


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40)
@given(text=junk)
def test_junk_is_read_whole_or_not_at_all(name: str, text: str) -> None:
    for form in (FORMATS.get(name), BOUND[name]):
        parsed = form.parse(text)
        assert not (parsed.error and parsed.calls)
        assert parsed.error or parsed.calls or parsed.prose
        assert parsed.error is None or len(parsed.error) < 400


LARGE = 1_000_000
HOSTILE = {
    "a megabyte of text": "x" * LARGE,
    "a megabyte of line ends": "\n" * LARGE,
    "deep lists": '{"name": "x", "parameters": ' + "[" * LARGE,
    "deep objects": '{"a":' * (LARGE // 5),
    "a number without end": '{"name": "x", "parameters": {"n": ' + "9" * LARGE + "}}",
    "lone surrogates": '{"name": "x", "parameters": {"n": "\ud800"}}',
    **{f"a megabyte of {tag.strip()}": tag * (LARGE // len(tag)) for tag in tags if "<" in tag},
    "parameters without end": "<tool_call><function=x>" + "<parameter=a>" * 70_000,
    "keys without end": "<tool_call>x" + "<arg_key>a</arg_key>" * 50_000,
    "quotes in quotes": "<tool_call>x<arg_key>a</arg_key><arg_value>" + '"' + '\\"' * 400_000 + '"' + "</arg_value>",
}


@pytest.mark.parametrize("what", sorted(HOSTILE))
def test_hostile_text_is_answered_with_a_short_reason_or_read(what: str) -> None:
    for name in NAMES:
        parsed = BOUND[name].parse(HOSTILE[what])
        assert parsed.error is None or (not parsed.calls and len(parsed.error) < 400)


@pytest.mark.parametrize("number", range(len(CORPUS)))
def test_vllms_own_parser_reads_the_same(number: int) -> None:
    recorded = CORPUS[number]
    parsed = bind_tools(FORMATS.get(recorded["format"]), RECORDED_TOOLS).parse(recorded["text"])
    assert parsed.error is None
    assert [(call.tool, dict(call.arguments)) for call in parsed.calls] == [
        (call["tool"], call["arguments"]) for call in recorded["calls"]
    ]
    assert recorded["calls"]
    assert list(parsed.ids) == [call["id"] for call in recorded["calls"] if "id" in call]
    assert parsed.prose == (recorded["content"] or "").strip()


LOOK = ToolCall(tool="look", arguments={"id": "A", "n": 2})
AS_TEMPLATES_WRITE_IT = {
    "llama3": '{"name": "look", "parameters": {"id": "A", "n": 2}}',
    "kimi-k2": (
        "I look.<|tool_calls_section_begin|><|tool_call_begin|>functions.look:0<|tool_call_argument_begin|>"
        '{"id": "A", "n": 2}<|tool_call_end|><|tool_calls_section_end|>'
    ),
    "deepseek-v3": (
        "I look.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>look\n```json\n"
        '{"id": "A", "n": 2}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
    ),
    "deepseek-v31": (
        "I look.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>look<｜tool▁sep｜>"
        '{"id": "A", "n": 2}<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
    ),
    "glm": (
        "I look.\n<tool_call>look\n<arg_key>id</arg_key>\n<arg_value>A</arg_value>\n<arg_key>n</arg_key>\n"
        "<arg_value>2</arg_value>\n</tool_call>"
    ),
    "qwen3-coder": (
        "I look.\n\n<tool_call>\n<function=look>\n<parameter=id>\nA\n</parameter>\n<parameter=n>\n2\n</parameter>\n"
        "</function>\n</tool_call>"
    ),
    "gpt-oss": (
        "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant"
        '<|channel|>commentary to=functions.look <|constrain|>json<|message|>{"id": "A", "n": 2}<|call|>'
    ),
    "smollm2": 'I look.\n<tool_call>[{"name": "look", "arguments": {"id": "A", "n": 2}}]</tool_call>',
}
"""A turn as the published chat templates lay it out, behind the mark with which they open the assistant's turn."""


@pytest.mark.parametrize("name", NAMES)
def test_turns_are_laid_out_as_the_chat_template_does(name: str) -> None:
    assert FORMATS.get(name).render([LOOK], "I look.") == AS_TEMPLATES_WRITE_IT[name]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("gpt-oss", ' to=functions.look<|channel|>commentary json<|message|>{"id": "A", "n": 2}<|call|>'),
        (
            "gpt-oss",
            (
                "<|channel|>analysis<|message|>hm {} </think><|end|><|start|>assistant to=functions.look"
                '<|channel|>commentary <|constrain|>json<|message|>{"id": "A", "n": 2}'
            ),
        ),
        ("gpt-oss", '<|start|>assistant<|channel|>commentary to=functions.look<|message|>{"id":"A","n":2}<|end|>'),
        ("qwen3-coder", "<think>\n<function=x>\n</think>\n" + AS_TEMPLATES_WRITE_IT["qwen3-coder"].split("\n\n")[1]),
        ("qwen3-coder", "<tool_call><function=look><parameter=id>A</parameter><parameter=n>2</parameter>"),
        (
            "glm",
            (
                "<think>x</think><tool_call>look<arg_key>id</arg_key><arg_value>A</arg_value><arg_key>n</arg_key>"
                "<arg_value>2</arg_value></tool_call>"
            ),
        ),
        (
            "deepseek-v3",  # vLLM's parser reads arguments on one line only
            (
                "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>look\n```json\n"
                '{\n  "id": "A",\n  "n": 2\n}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
            ),
        ),
        ("deepseek-v31", AS_TEMPLATES_WRITE_IT["deepseek-v3"].removeprefix("I look.") + "<｜end▁of▁sentence｜>"),
        ("deepseek-v3", "hm</think>\n" + AS_TEMPLATES_WRITE_IT["deepseek-v31"].removeprefix("I look.")),
        ("kimi-k2", AS_TEMPLATES_WRITE_IT["kimi-k2"].removeprefix("I look.").replace("functions.", "")),
        ("kimi-k2", AS_TEMPLATES_WRITE_IT["kimi-k2"].removeprefix("I look.") + " and more<|im_end|>"),
    ],
)
def test_other_ways_in_which_models_write_a_call_are_read(name: str, text: str) -> None:
    parsed = FORMATS.get(name).parse(text)
    assert (parsed.error, parsed.calls, parsed.prose) == (None, (LOOK,), "")


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("qwen3-coder", "<tool_call>\n<function=look\n", "is never closed by >"),
        ("qwen3-coder", "<function=look>\n<parameter=id>\nA\n", "no whole parameter of look"),
        ("qwen3-coder", "<function=look>\nid=A\n</function>", "no whole parameter of look"),
        ("qwen3-coder", "I look.\n</tool_call>", "</tool_call> stands outside a call"),
        ("qwen3-coder", '{"name": "look"}', "this one stands bare"),
        ("glm", "<tool_call>look\n<arg_key>id</arg_key>\n<arg_value>A", "is never closed by </arg_value>"),
        ("glm", "<tool_call>look\n<arg_value>A</arg_value></tool_call>", "is no argument of look"),
        ("glm", "A</arg_value>", "stands outside a call"),
        ("glm", '{"name": "look"}', "this one stands bare"),
        ("kimi-k2", "<|tool_call_begin|>functions.look:0", "a call stands after"),
        ("kimi-k2", "<|tool_calls_section_begin|>", "is followed by"),
        ("kimi-k2", "<|tool_calls_section_begin|>x<|tool_call_begin|>", "not by 'x'"),
        ("kimi-k2", "<|tool_calls_section_begin|><|tool_call_begin|>functions.look:0{}", "a call is"),
        ("kimi-k2", AS_TEMPLATES_WRITE_IT["kimi-k2"].replace("2}", "}"), "the arguments of look are a JSON object"),
        ("kimi-k2", '{"name": "look"}', "this one stands bare"),
        ("deepseek-v3", "<｜tool▁call▁begin｜>look", "a call stands after"),
        ("deepseek-v3", "<｜tool▁calls▁begin｜>look", "not by 'look'"),
        ("deepseek-v3", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>look", "a call is"),
        ("deepseek-v3", '{"name": "look"}', "this one stands bare"),
        ("llama3", "<|python_tag|>", "without a call behind it"),
        ("llama3", "<|python_tag|>brave_search.call(query='x')", "not valid JSON"),
        ("llama3", '{"name": "look", "parameters": {}} done', "not valid JSON"),
        ("llama3", '{"name": "look", "parameters": {"n": NaN}}', "not valid JSON"),
        ("gpt-oss", "<|channel|>final", "a message holds <|message|>"),
        ("gpt-oss", "<|channel|>commentary to=python<|message|>1+1<|call|>", "to=python: calls go to functions."),
        ("gpt-oss", "<|channel|>final<|message|>a<|end|>b", "and no more"),
        ("gpt-oss", '{"name": "look"}', "this one stands bare"),
        *(
            (name, "<think>hm", "<think> is never closed")
            for name in NAMES
            if name not in ("llama3", "gpt-oss", "smollm2")
        ),
    ],
)
def test_what_cannot_be_read_says_why(name: str, text: str, says: str) -> None:
    parsed = FORMATS.get(name).parse(text)
    assert parsed.calls == ()
    assert says in str(parsed.error)


@pytest.mark.parametrize("name", TYPED)
def test_the_schema_decides_whether_a_text_is_a_number(name: str) -> None:
    text = FORMATS.get(name).render([ToolCall(tool="file_case", arguments={"title": 5, "count": 5, "note": None})])
    assert BOUND[name].parse(text).calls[0].arguments == {"title": "5", "count": 5, "note": None}
    assert FORMATS.get(name).parse(text).calls[0].arguments == {"title": 5, "count": 5, "note": None}
    written = text.replace("5", "five").replace("null", "None")
    assert BOUND[name].parse(written).calls[0].arguments == {"title": "five", "count": "five", "note": "None"}


@pytest.mark.parametrize("name", TYPED)
def test_truth_values_as_python_writes_them_are_read_where_the_schema_wants_one(name: str) -> None:
    call = ToolCall(tool="file_case", arguments={"urgent": True, "title": "x"})
    text = BOUND[name].render([call]).replace("true", "True").replace("x", "True")
    assert BOUND[name].parse(text).calls[0].arguments == {"urgent": True, "title": "True"}
