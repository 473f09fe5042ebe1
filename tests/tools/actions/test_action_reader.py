"""Every form of an action says the same calls, and who made a mistake decides whether it raises."""

from collections import UserDict, UserList
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from palaestra.errors import ActionError
from palaestra.records import ToolCall
from palaestra.tools import FORMATS, read_action
from palaestra.tools.actions import ActionReading, read_model_value

LOOK = ToolCall(tool="look", arguments={"id": "A", "n": 2})
ARGUMENTS: dict[str, Any] = {"id": "A", "n": 2}
TEXT = '{"id": "A", "n": 2}'
CHAT = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": TEXT}}
RESPONSES = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": TEXT}
USE = {"type": "tool_use", "id": "c1", "name": "look", "input": ARGUMENTS}
SAID = {"type": "text", "text": "I look."}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}


class Function(BaseModel):
    """A call's function, as OpenAI's client has it."""

    name: str
    arguments: str


class ClientCall(BaseModel):
    """A call, as OpenAI's client has it."""

    id: str
    type: str = "function"
    function: Function


class ClientMessage(BaseModel):
    """An assistant's message, as OpenAI's client has it."""

    role: str = "assistant"
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[ClientCall] | None = None


CLIENT = ClientMessage(tool_calls=[ClientCall(id="c1", function=Function(name="look", arguments=TEXT))])

WITHOUT_ID: dict[str, Any] = {
    "our own": {"tool": "look", "arguments": ARGUMENTS},
    "our own with JSON text": {"tool": "look", "arguments": TEXT},
    "a ToolCall": LOOK,
    "a mapping that is no dict": UserDict({"tool": "look", "arguments": UserDict(ARGUMENTS)}),
    "a call of text formats": {"name": "look", "arguments": ARGUMENTS},
    "a call with parameters": {"name": "look", "parameters": ARGUMENTS},
    "a function without its wrapper": {"function": {"name": "look", "arguments": TEXT}},
    "OpenAI's function_call": {"role": "assistant", "function_call": {"name": "look", "arguments": TEXT}},
    "JSON text in a list": [orjson.dumps({"tool": "look", "arguments": ARGUMENTS}).decode()],
}
WITH_ID: dict[str, Any] = {
    "our own": {"id": "c1", "tool": "look", "arguments": ARGUMENTS},
    "a chat completion's call": CHAT,
    "its arguments as a mapping": {**CHAT, "function": {"name": "look", "arguments": ARGUMENTS}},
    "a message": {"role": "assistant", "content": None, "tool_calls": [CHAT]},
    "a message that also says something": {"role": "assistant", "content": "I look.", "tool_calls": [CHAT]},
    "a chat completion": {"choices": [{"message": {"role": "assistant", "tool_calls": [CHAT]}, "finish_reason": "x"}]},
    "a responses item": RESPONSES,
    "responses items": [{"type": "reasoning", "summary": []}, RESPONSES],
    "a response": {"object": "response", "status": "completed", "output": [RESPONSES]},
    "Anthropic's block": USE,
    "Anthropic's content": [THOUGHT, SAID, USE],
    "Anthropic's message": {"type": "message", "role": "assistant", "content": [SAID, USE], "stop_reason": "tool_use"},
    "an object of a client": CLIENT,
    "a list of such": [CLIENT],
    "a list that is no list": UserList([USE]),
    "JSON text in a list": [orjson.dumps(USE).decode()],
}


@pytest.mark.parametrize("form", sorted(WITHOUT_ID))
def test_a_call_without_an_id_is_read_in_every_form(form: str) -> None:
    assert read_action(WITHOUT_ID[form]) == ActionReading(calls=(LOOK,))


@pytest.mark.parametrize("form", sorted(WITH_ID))
def test_a_call_with_an_id_is_read_in_every_form(form: str) -> None:
    assert read_action(WITH_ID[form]) == ActionReading(calls=(LOOK,), ids=("c1",))


def test_a_list_may_mix_the_forms_and_keeps_their_order() -> None:
    action: list[Any] = [{"tool": "a", "arguments": {}}, {**CHAT, "id": "x"}, LOOK, {**USE, "id": "y"}]
    turn = read_action(action)
    assert [call.tool for call in turn.calls] == ["a", "look", "look", "look"]
    assert turn.ids == ("", "x", "", "y")


WORDS: list[Any] = [
    "I look.",
    {"role": "assistant", "content": "I look."},
    {"role": "assistant", "content": [THOUGHT, SAID]},
    {"role": "assistant", "content": None, "refusal": "I look."},
    {"choices": [{"message": {"content": "I look.", "tool_calls": []}, "finish_reason": "stop"}]},
    {"output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]}]},
    ClientMessage(content="I look."),
    [SAID],
]


@pytest.mark.parametrize("action", WORDS)
def test_a_turn_without_calls_is_a_models_text(action: Any) -> None:
    assert read_action(action) == ActionReading(text="I look.")


def test_an_empty_turn_says_nothing() -> None:
    empties: list[Any] = [[], {"role": "assistant", "content": None}, {"role": "assistant", "content": ""}]
    for empty in empties:
        assert read_action(empty) == ActionReading()


BROKEN: dict[str, tuple[Any, str]] = {
    "no JSON": ("{", "not valid JSON"),
    "not a number": ('{"n": NaN}', "not valid JSON"),
    "infinity": ('{"n": Infinity}', "not valid JSON"),
    "a lone surrogate": ('{"id": "\\ud800"}', "not valid JSON"),
    "a surrogate in the text": ('{"id": "\ud800"}', "not valid JSON"),
    "nested without end": ('{"a":' + "[" * 100_000, "not valid JSON"),
    "nested deeply": ('{"a":' + "[" * 5_000 + "]" * 5_000 + "}", "not valid JSON"),
    "two values": ("{}{}", "not valid JSON"),
    "a list": ("[1]", "a JSON object, not list"),
    "a text": ('"x"', "a JSON object, not str"),
}


@pytest.mark.parametrize("what", sorted(BROKEN))
def test_arguments_that_a_model_broke_make_the_turn_unreadable_and_keep_every_id(what: str) -> None:
    given, says = BROKEN[what]
    bad = {**CHAT, "id": "c2", "function": {"name": "look", "arguments": given}}
    turn = read_action({"role": "assistant", "tool_calls": [CHAT, bad, {**CHAT, "id": "c3"}]})
    assert (turn.calls, turn.ids, turn.text) == ((), ("c1", "c2", "c3"), None)
    assert turn.error is not None
    assert "the arguments of look" in turn.error
    assert says in turn.error
    assert len(turn.error) < 300


@pytest.mark.parametrize("given", ["", "{}", "null", None, {}])
def test_no_arguments_are_an_empty_object(given: Any) -> None:
    assert read_action({**CHAT, "function": {"name": "look", "arguments": given}}).calls == (
        ToolCall(tool="look", arguments={}),
    )


def test_hostile_values_that_json_has_are_read() -> None:
    def arguments(text: str) -> Any:
        (call,) = read_action({**CHAT, "function": {"name": "look", "arguments": text}}).calls
        return call.arguments

    assert arguments('{"id": "a", "id": "b"}') == {"id": "b"}
    assert arguments(f'{{"n": {2**63 - 1}}}') == {"n": 2**63 - 1}
    assert arguments('{"text": "' + "x" * 1_000_000 + '"}') == {"text": "x" * 1_000_000}


@pytest.mark.parametrize(
    "action",
    [
        {"choices": [{"message": {"content": "I lo"}, "finish_reason": "length"}]},
        {"output": [RESPONSES], "status": "incomplete"},
        {"role": "assistant", "content": [USE], "stop_reason": "max_tokens"},
    ],
)
def test_a_turn_that_was_cut_off_is_not_run(action: Any) -> None:
    turn = read_action(action)
    assert turn.calls == ()
    assert turn.error is not None
    assert "cut off" in turn.error


@pytest.mark.parametrize(
    ("action", "says"),
    [
        (7, "not int: 7"),
        (None, "not NoneType"),
        (b"{}", "not bytes"),
        ([b"{}"], "not bytes"),
        ([[LOOK]], "not list"),
        (["look"], "a text in a list is a call as JSON, not 'look'"),
        ({}, "^an empty mapping is no action; write "),
        ({"name": "look"}, "a mapping with 'name' is no action"),
        ({"tool": 7}, "a call is"),
        ({"tool": "look", "arguments": 7}, "a call is"),
        ({"tool": "look", "args": {}}, "no 'args'; did you mean 'arguments'[?]"),
        ({"tool": "look", "arguments": {}, "args": {}}, "no 'args'$"),
        ({"tool": "look", "why": "x"}, "no 'why'$"),
        ({"type": "function_call", "name": 7, "arguments": "{}"}, "names its tool in `name`, a text; this one has 7"),
        ({**USE, "input": object()}, "a mapping or JSON text, not <object"),
        ({"type": "server_tool_use", "id": "s", "input": {}}, "of the type 'server_tool_use' is no action"),
        ({"type": [], "id": "s"}, "is no action"),
        ({"role": "user", "content": "hi"}, "of the role 'user' is no action"),
        ({"role": "assistant", "content": 7}, "`content` of a message is a list, not 7"),
        ({"role": "assistant", "content": [7]}, "not int: 7|is a mapping with a `type`, not 7"),
        ({"role": "assistant", "tool_calls": "x"}, "`tool_calls` of a message is a list, not 'x'"),
        ({"choices": []}, "is no action"),
        ({"choices": [7]}, "is no action"),
        ({"choices": [{"message": 7}]}, "a message is a mapping"),
        ({"output": "x"}, "is no action"),
        ({"type": "text", "text": 7}, "the text of a message is text, not 7"),
    ],
)
def test_what_a_program_did_wrong_raises_and_names_the_value(action: Any, says: str) -> None:
    with pytest.raises(ActionError, match=says):
        read_action(action)


def test_messages_nested_in_messages_raise_at_once() -> None:
    action: Any = {"role": "assistant", "tool_calls": [CHAT]}
    for _ in range(20_000):
        action = {"role": "assistant", "tool_calls": [action]}
    with pytest.raises(ActionError, match="nests messages"):
        read_action(action)
    for _ in range(20_000):
        action = {"output": [action]}
    with pytest.raises(ActionError, match="nests messages"):
        read_action(action)


def test_arguments_nested_without_end_are_no_reason_to_fail() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    (call,) = read_action({"type": "tool_use", "name": "look", "input": {"a": deep}}).calls
    assert call.arguments["a"] is deep


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "role", "content", "tool_calls", "function", "name", "arguments", "input", "id", "output"]
            )
            | st.text(max_size=3),
            inner,
            max_size=4,
        )
        | st.fixed_dictionaries({"type": st.sampled_from(["text", "tool_use", "function", "function_call"])})
    ),
    max_leaves=10,
)


@given(value=json)
def test_junk_is_a_reading_or_an_action_error(value: Any) -> None:
    try:
        turn = read_action(value)
    except ActionError:
        return
    assert turn.error is None or not turn.calls
    assert not turn.ids or turn.error is not None or len(turn.ids) == len(turn.calls)


@given(value=json)
def test_what_a_model_wrote_never_raises(value: Any) -> None:
    said = read_model_value(value)
    assert said is None or said.error is None or not said.calls


AS_TEXT: dict[str, Any] = {name: form for name, form in WITH_ID.items() if type(form) is dict and name != "our own"}


@pytest.mark.parametrize("form", sorted(AS_TEXT))
def test_the_format_json_reads_every_form_as_text(form: str) -> None:
    both: list[Any] = [AS_TEXT[form], [AS_TEXT[form]]]
    for value in both:
        parsed = FORMATS.get("json").parse(orjson.dumps(value).decode())
        assert (parsed.calls, parsed.ids, parsed.error) == ((LOOK,), ("c1",), None)
