"""An environment takes OpenAI's and Anthropic's calls as its own, and answers under the caller's ids."""

import json
from typing import Any

import gymnasium as gym
import pytest

from palaestra.envs.reading import MOST_CALLS, echo_ids
from palaestra.records import Message, ToolCall
from worlds.registration import LIBRARY_ID

RENEW = ToolCall(tool="get_loan", arguments={"loan_id": "LN-1"})
OWN = {"tool": RENEW.tool, "arguments": dict(RENEW.arguments)}


def begun(**switches: Any) -> Any:
    env: Any = gym.make(LIBRARY_ID, task="library/renew-loan/0000", **switches).unwrapped
    env.reset(seed=0)
    return env


def chat_call(call: ToolCall, call_id: str) -> dict[str, Any]:
    function = {"name": call.tool, "arguments": json.dumps(dict(call.arguments))}
    return {"id": call_id, "type": "function", "function": function}


def use(call: ToolCall, call_id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": call.tool, "input": dict(call.arguments)}


def answers(observation: tuple[Message, ...]) -> list[tuple[str | None, str]]:
    return [(message.get("tool_call_id"), message["content"]) for message in observation]


FORMS: dict[str, Any] = {
    "a ToolCall": RENEW,
    "a chat completion's message": {
        "role": "assistant",
        "content": "Let me see.",
        "tool_calls": [chat_call(RENEW, "c")],
    },
    "a responses item": [
        {"type": "function_call", "call_id": "c", "name": "get_loan", "arguments": '{"loan_id":"LN-1"}'}
    ],
    "Anthropic's content": [{"type": "text", "text": "Let me see."}, use(RENEW, "c")],
    "text": {
        "role": "assistant",
        "content": '<tool_call>{"name": "get_loan", "arguments": {"loan_id": "LN-1"}}</tool_call>',
    },
}


@pytest.mark.parametrize("form", sorted(FORMS))
def test_every_form_plays_the_same_turn_to_the_same_digest(form: str) -> None:
    ours, theirs = begun(), begun()
    observation, reward, terminated, truncated, info = ours.step(OWN)
    other, *rest, record = theirs.step(FORMS[form])
    assert FORMS[form] in theirs.action_space
    assert [content for _, content in answers(other)] == [content for _, content in answers(observation)]
    assert rest == [reward, terminated, truncated]
    assert record["record"].calls == info["record"].calls == (RENEW,)
    assert (theirs.digest(), theirs.anchor()) == (ours.digest(), ours.anchor())
    assert theirs.action_space.contains(FORMS[form])


def test_answers_go_under_the_callers_ids_in_the_order_of_the_calls() -> None:
    other = ToolCall(tool="get_loan", arguments={"loan_id": "LN-404"})
    env = begun()
    observation, *_ = env.step([use(RENEW, "one"), OWN, use(other, "three")])
    assert [message.get("tool_call_id") for message in observation] == ["one", "call_0_1", "three"]
    assert "LN-404" in observation[2]["content"]
    assert observation in env.observation_space


def test_a_turn_that_cannot_be_read_answers_every_id_with_the_reason() -> None:
    broken = {"id": "two", "type": "function", "function": {"name": "get_loan", "arguments": "{"}}
    env = begun()
    rows = env.state_hash()
    observation, _, _, _, info = env.step({"role": "assistant", "tool_calls": [chat_call(RENEW, "one"), broken]})
    assert [message.get("tool_call_id") for message in observation] == ["one", "two"]
    assert all("not valid JSON" in message["content"] for message in observation)
    assert info["record"].unreadable.startswith("the arguments of get_loan are not valid JSON")
    assert (env.state_hash(), info["record"].calls) == (rows, ())
    assert len(env.episode.observation) == 1


def test_text_of_a_message_without_calls_is_said_to_the_user() -> None:
    ours, theirs = begun(), begun()
    ours.step("Which loan is it?")
    theirs.step({"role": "assistant", "content": [{"type": "text", "text": "Which loan is it?"}]})
    assert theirs.digest() == ours.digest()


def test_an_empty_message_is_a_turn_without_a_call() -> None:
    _, _, _, _, info = begun().step({"role": "assistant", "content": None})
    assert info["record"].unreadable == "the turn holds no call"


def test_the_format_kimi_k2_gives_ids_in_its_text() -> None:
    env = begun(action_format="kimi-k2")
    text = (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_loan:7<|tool_call_argument_begin|>"
        '{"loan_id": "LN-1"}<|tool_call_end|><|tool_calls_section_end|>'
    )
    observation, *_ = env.step(text)
    assert [message.get("tool_call_id") for message in observation] == ["functions.get_loan:7"]


def test_ids_are_echoed_where_answers_are_and_nowhere_else() -> None:
    answer: Message = {"role": "tool", "tool_call_id": "call_0_0", "content": "yes"}
    said: Message = {"role": "user", "content": "And?"}
    assert echo_ids([answer, said], ["a", "b"]) == ({**answer, "tool_call_id": "a"}, said)
    assert echo_ids([answer, answer], ["", "b"]) == (answer, {**answer, "tool_call_id": "b"})
    assert echo_ids([answer], [""], unreadable=True) == (answer,)
    assert len(echo_ids([answer], ["x"] * 1000, unreadable=True)) == MOST_CALLS
    assert answer["tool_call_id"] == "call_0_0"
