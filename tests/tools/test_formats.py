from typing import Any

import gymnasium as gym
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.errors import UnknownNameError
from palaestra.records import ToolCall
from palaestra.tools import CHAT_FORMATS, FORMATS, HermesFormat, JsonFormat
from palaestra.tools.formats.with_facts import SUFFIX

HERMES, JSON = HermesFormat(), JsonFormat()

safe = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | safe,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(safe, inner, max_size=3),
    max_leaves=8,
)
calls = st.builds(
    ToolCall, tool=st.from_regex(r"[a-z_]{1,12}", fullmatch=True), arguments=st.dictionaries(safe, values, max_size=3)
)
prose = st.text("abc .,!?\n é", max_size=20).map(str.strip)


def markup_free(call: ToolCall) -> bool:
    return "tool_call>" not in str(call) and "think>" not in str(call)


@given(turn=st.lists(calls.filter(markup_free), max_size=3), said=prose)
def test_hermes_reads_back_what_it_wrote(turn: list[ToolCall], said: str) -> None:
    parsed = HERMES.parse(HERMES.render(turn, said))
    if not turn and not said:
        assert parsed.error == "the turn is empty: write a call, or something to say"
        return
    assert parsed.error is None
    assert (list(parsed.calls), parsed.prose) == (turn, said)


@given(turn=st.lists(calls.filter(markup_free), min_size=1, max_size=3))
def test_json_reads_back_the_calls_it_wrote(turn: list[ToolCall]) -> None:
    assert list(JSON.parse(JSON.render(turn, "lost")).calls) == turn


@given(said=prose.filter(bool))
def test_json_reads_back_prose_without_calls(said: str) -> None:
    assert JSON.parse(JSON.render([], said)).prose == said


@given(
    text=st.text(max_size=40)
    | st.lists(
        st.sampled_from(
            [
                "<tool_call>",
                "</tool_call>",
                "<think>",
                "</think>",
                "{",
                "}",
                '"',
                "name",
                ":",
                " ",
                "```json\n",
                "[",
                "]",
            ]
        ),
        max_size=12,
    ).map("".join)
)
@pytest.mark.parametrize("name", sorted(FORMATS))
def test_no_text_makes_a_format_crash_or_half_read_a_turn(name: str, text: str) -> None:
    parsed = FORMATS.get(name).parse(text)
    if parsed.error is not None:
        assert not parsed.calls
    else:
        assert parsed.calls or parsed.prose or parsed.program is not None


def one(text: str) -> ToolCall:
    parsed = HERMES.parse(text)
    assert parsed.error is None
    (call,) = parsed.calls
    return call


LOOK = ToolCall(tool="look", arguments={"id": "A"})


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>\n{"name": "look", "arguments": {"id": "A"}}\n</tool_call>',
        '<tool_call>{"name":"look","arguments":{"id":"A"}}</tool_call>',
        '<tool_call>\n{"name": "look", "arguments": {"id": "A"}}\n',
        (
            '<think>Or <tool_call>{"name": "drop"}</tool_call>?</think>\n'
            '<tool_call>{"name": "look", "arguments": {"id": "A"}}</tool_call>'
        ),
        '<tool_call>{"name": "look", "arguments": "{\\"id\\": \\"A\\"}"}</tool_call>',
        '<tool_call>{"tool": "look", "parameters": {"id": "A"}}</tool_call>',
    ],
    ids=["qwen", "tight", "cut off by a stop token", "thinking", "arguments as a string", "other keys"],
)
def test_what_hermes_and_qwen_models_write_is_read(text: str) -> None:
    assert one(text) == LOOK


def test_several_blocks_are_several_calls_and_the_rest_is_prose() -> None:
    block = '<tool_call>{"name": "look", "arguments": {"id": "A"}}</tool_call>'
    parsed = HERMES.parse(f"First this.\n{block}\n{block}")
    assert parsed.calls == (LOOK, LOOK)
    assert parsed.prose == "First this."


def test_a_call_without_arguments_has_none() -> None:
    assert one('<tool_call>{"name": "finish"}</tool_call>') == ToolCall(tool="finish", arguments={})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the turn is empty"),
        ("<think>hm</think>", "the turn is empty"),
        ("<think>hm", "<think> is never closed"),
        ("look</tool_call>", "</tool_call> without <tool_call>"),
        ('<tool_call>{"name": }</tool_call>', "a call is not valid JSON"),
        ("<tool_call></tool_call>", "a call is not valid JSON"),
        ('<tool_call>["look"]</tool_call>', "a call is a JSON object, not list"),
        ('<tool_call>{"arguments": {}}</tool_call>', "a call names its tool"),
        ('<tool_call>{"name": 7}</tool_call>', "a call names its tool"),
        (
            '<tool_call>{"name": "look", "arguments": [1]}</tool_call>',
            "the arguments of look are a JSON object, not list",
        ),
        ('<tool_call>{"name": "look", "arguments": "{"}</tool_call>', "the arguments of look are a JSON object, not"),
        ('<tool_call>{"name": "look"}</tool_call><tool_call>{</tool_call>', "a call is not valid JSON"),
    ],
)
def test_what_cannot_be_read_is_explained(text: str, says: str) -> None:
    parsed = HERMES.parse(text)
    assert parsed.calls == ()
    assert parsed.error is not None
    assert says in parsed.error


@pytest.mark.parametrize(
    "text",
    [
        '{"tool": "look", "arguments": {"id": "A"}}',
        '[{"tool": "look", "arguments": {"id": "A"}}]',
        '```json\n{"tool": "look", "arguments": {"id": "A"}}\n```',
        '```\n{"tool": "look", "arguments": {"id": "A"}}```',
        '<think>{"tool": "drop"}</think>{"name": "look", "arguments": {"id": "A"}}',
    ],
)
def test_json_is_read_bare_listed_fenced_and_after_thinking(text: str) -> None:
    assert JSON.parse(text).calls == (LOOK,)


@pytest.mark.parametrize(("text", "says"), [("{", "not valid JSON"), ("[1]", "not int"), ("[]", "the turn is empty")])
def test_json_that_is_no_call_is_explained(text: str, says: str) -> None:
    error = JSON.parse(text).error
    assert error is not None
    assert says in error


@pytest.mark.parametrize(
    "text",
    [
        'Sure! {"tool": "get_order", "arguments": {}}',
        'I will look.\n```json\n{"name": "get_order"}\n```',
        'So: [{"tool":"a"}]',
    ],
)
def test_a_call_behind_prose_is_not_something_said(text: str) -> None:
    turn = JSON.parse(text)
    assert turn.error == "a call stands alone, without text around it; this one has some"
    assert not turn.calls
    assert not turn.prose


def test_prose_may_quote_json_that_is_no_call() -> None:
    said = 'Your order is {"id": "ORD-1", "name of the tool": 3}.'
    assert JSON.parse(said).prose == said


def test_formats_are_known_by_name() -> None:
    models = ["qwen", "qwen2.5", "smollm2"]
    planners = ["planner", *(f"planner-{model}{facts}" for model in models for facts in ("", "-facts"))]
    qwen = ["qwen", "qwen-facts", "qwen-thinking", "qwen-thinking-facts", "qwen2.5", "qwen2.5-facts"]
    whole = [*qwen, "smollm2", "smollm2-described", "smollm2-described-facts", "smollm2-facts"]
    assert list(FORMATS) == [
        "browsergym",
        "compact",
        "compact-tools",
        *("deepseek-v3", "deepseek-v31", "glm", "gpt-oss"),
        "hermes",
        "json",
        *("kimi-k2", "llama3"),
        "opaque",
        *planners,
        "python",
        *qwen,
        "qwen3-coder",
        *whole[6:],
        "ui-tars",
    ]
    assert list(CHAT_FORMATS) == ["compact", "compact-tools", "opaque", *planners, *whole]
    assert [CHAT_FORMATS.get(name).name for name in CHAT_FORMATS] == list(CHAT_FORMATS)
    with pytest.raises(UnknownNameError, match="unknown action format 'qwem'; did you mean 'qwen'"):
        FORMATS.get("qwem")


def test_text_that_begins_inside_the_thinking_has_only_its_end() -> None:
    text = 'maybe <tool_call>{"name": "give_up"}</tool_call> no</think><tool_call>{"name": "finish"}</tool_call>'
    assert [call.tool for call in HermesFormat().parse(text).calls] == ["finish"]


@pytest.mark.parametrize("text", ['{"name": "finish", "arguments": {}}', '```json\n{"name": "finish"}\n```'])
def test_a_call_without_its_wrapper_is_not_something_said(text: str) -> None:
    parsed = HermesFormat().parse(text)
    assert (parsed.calls, parsed.prose) == ((), "")
    assert parsed.error is not None
    assert "<tool_call>" in parsed.error


@pytest.mark.parametrize("text", ["</tool_call>", "<think>a</think>", "</think>", "a < b"])
def test_arguments_may_hold_what_looks_like_markup(text: str) -> None:
    call = ToolCall(tool="reply", arguments={"message": text})
    assert HermesFormat().parse(HermesFormat().render([call])).calls == (call,)


def test_calls_are_spaced_as_chat_templates_space_them() -> None:
    call = ToolCall(tool="look", arguments={"id": "é", "at": [1, 2.5]})
    assert HERMES.render([call]) == (
        '<tool_call>\n{"name": "look", "arguments": {"id": "é", "at": [1, 2.5]}}\n</tool_call>'
    )
    assert JSON.render([call]) == '{"tool": "look", "arguments": {"id": "é", "at": [1, 2.5]}}'


def one_task_of_each_family() -> dict[str, str]:
    env: Any = gym.make("palaestra/Storefront-v0")
    ids = [task for split in ("train", "heldout") for task in env.unwrapped.task_set.ids(split)]
    return {task.split("/")[1]: task for task in reversed(ids)}


# A format with facts writes and reads turns as the format without: test_facts_of_families.py plays one of them.
@pytest.mark.parametrize("name", sorted(name for name in CHAT_FORMATS if not name.endswith(SUFFIX)))
def test_the_oracle_of_every_storefront_family_reads_back_from_what_a_policy_would_write(name: str) -> None:
    form = CHAT_FORMATS.get(name)
    env: Any = gym.make("palaestra/Storefront-v0")
    families = one_task_of_each_family()
    assert len(families) >= 90
    for task in families.values():
        observation, info = env.reset(options={"task": task})
        rendering = form.rendering()
        rendering.opening(observation, info["tools"])
        for call in env.unwrapped.oracle():
            text = rendering.read(rendering.write_turn([call]))
            assert form.parse(text).calls == form.parse(form.render([call])).calls == (call,)
            assert form.parts or text == form.render([call])
            observation, *_ = env.step({"tool": call.tool, "arguments": dict(call.arguments)})
            rendering.following(observation)
        assert env.unwrapped.score().passed
