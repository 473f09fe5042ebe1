"""Messages keep what they say in OpenAI's and Anthropic's form, keep the rules of both, and come back."""

import json
from itertools import pairwise
from typing import Any

import gymnasium as gym
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palaestra.errors import ActionError
from palaestra.records import Message, MessageCall, ToolCall
from palaestra.tools.chats import add_turn, anthropic_tools, from_anthropic, from_openai, to_anthropic, to_openai
from worlds.registration import LIBRARY_ID

PNG = "data:image/png;base64,iVBORw0KGgo="
words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
arguments: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    words, st.none() | st.booleans() | st.integers(-(2**53), 2**53) | words | st.lists(words, max_size=2), max_size=3
)


@st.composite
def chats(draw: st.DrawFn) -> list[Message]:
    """A chat as worlds give it: an opening, then turns with calls and their answers, and what people say."""
    chat: list[Message] = [{"role": "system", "content": draw(words)}, {"role": "user", "content": draw(words)}]
    if draw(st.booleans()):
        chat[1]["images"] = [PNG] * draw(st.integers(1, 2))
    for turn in range(draw(st.integers(0, 3))):
        calls = [ToolCall(tool=draw(words), arguments=draw(arguments)) for _ in range(draw(st.integers(1, 3)))]
        answers: list[Message] = [
            {"role": "tool", "tool_call_id": f"call_{turn}_{n}", "name": call.tool, "content": draw(words)}
            for n, call in enumerate(calls)
        ]
        said: list[Message] = [{"role": "user", "content": draw(words)}] if draw(st.booleans()) else []
        add_turn(chat, calls, [*answers, *said], prose=draw(st.just("") | words))
    return chat


@settings(max_examples=60)
@given(chat=chats())
def test_a_chat_comes_back_from_both_forms(chat: list[Message]) -> None:
    assert from_openai(to_openai(chat)) == chat
    assert from_anthropic(to_anthropic(chat)) == chat
    assert from_openai(json.loads(json.dumps(to_openai(chat)))) == chat
    assert from_anthropic(json.loads(json.dumps(to_anthropic(chat)))) == chat


@settings(max_examples=60)
@given(chat=chats())
def test_the_rules_of_both_interfaces_hold(chat: list[Message]) -> None:
    asked: set[str] = set()
    for message in to_openai(chat):
        if message["role"] == "tool":
            assert message["tool_call_id"] in asked
            assert set(message) == {"role", "tool_call_id", "content"}
        asked |= {call["id"] for call in message.get("tool_calls", ())}
    turns = to_anthropic(chat)["messages"]
    assert [turn["role"] for turn in turns] == [("user", "assistant")[n % 2] for n in range(len(turns))]
    for before, turn in pairwise(turns):
        kinds = [block["type"] == "tool_result" for block in turn["content"]]
        assert kinds == sorted(kinds, reverse=True)
        uses = [block["id"] for block in before["content"] if block["type"] == "tool_use"]
        assert uses == [block["tool_use_id"] for block in turn["content"] if block["type"] == "tool_result"]


ASKED: MessageCall = {"id": "c", "tool": "get_loan", "arguments": {"loan_id": "L"}}
CHAT: list[Message] = [
    {"role": "system", "content": "You are a librarian."},
    {"role": "user", "content": "Renew it."},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "c", "tool": "get_loan", "arguments": {"loan_id": "L"}}],
    },
    {"role": "tool", "tool_call_id": "c", "name": "get_loan", "content": "{}", "images": [PNG]},
    {"role": "user", "content": "And?"},
]
SHOWN = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}


def test_openai_gets_images_of_answers_from_the_user_behind_the_answers() -> None:
    function = {"name": "get_loan", "arguments": '{"loan_id":"L"}'}
    assert to_openai(CHAT) == [
        {"role": "system", "content": "You are a librarian."},
        {"role": "user", "content": "Renew it."},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "c", "content": "{}"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Images of get_loan:"},
                {"type": "image_url", "image_url": {"url": PNG}},
            ],
        },
        {"role": "user", "content": "And?"},
    ]


def test_anthropic_gets_the_system_apart_and_answers_before_what_people_say() -> None:
    assert to_anthropic(CHAT) == {
        "system": [{"type": "text", "text": "You are a librarian."}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Renew it."}]},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "c", "name": "get_loan", "input": {"loan_id": "L"}}],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "{}"}, SHOWN]},
                    {"type": "text", "text": "And?"},
                ],
            },
        ],
    }
    assert from_anthropic(to_anthropic(CHAT)) == CHAT
    swapped = [*CHAT[:3], CHAT[4], CHAT[3]]
    assert to_anthropic(swapped) == to_anthropic(CHAT)


def test_an_answer_that_names_no_call_is_said_by_the_user() -> None:
    chat: list[Message] = [{"role": "tool", "content": "unreadable"}]
    assert to_openai(chat) == [{"role": "user", "content": "unreadable"}]
    assert to_anthropic(chat)["messages"] == [{"role": "user", "content": [{"type": "text", "text": "unreadable"}]}]
    assert "system" not in to_anthropic(chat)


def test_chats_as_others_write_them_are_read() -> None:
    said: list[Message] = [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}]
    parts = [{"type": "text", "text": "U"}]
    assert from_openai([{"role": "developer", "content": "S"}, {"role": "user", "content": parts}]) == said
    assert from_anthropic({"system": "S", "messages": [{"role": "user", "content": "U"}]}) == said
    shown: Any = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    (message,) = from_anthropic({"messages": [{"role": "user", "content": [shown]}]})
    assert message.get("images") == ["https://example.org/a.png"]
    assert to_anthropic([message])["messages"][0]["content"] == [shown]


@pytest.mark.parametrize(
    ("chat", "says"),
    [
        ([{"role": "robot", "content": ""}], "has a role such as 'user', not 'robot'"),
        ([{"role": "user", "content": 7}], "text or a list of parts, not 7"),
        ([{"role": "user", "content": [{"type": "input_audio"}]}], "a part of a message is text or an image"),
        (
            [{"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "a", "arguments": "["}}]}],
            "the arguments of a are not valid JSON",
        ),
    ],
)
def test_what_is_no_message_of_openais_is_refused(chat: Any, says: str) -> None:
    with pytest.raises(ActionError, match=says):
        from_openai(chat)


def test_what_is_no_block_of_anthropics_is_refused() -> None:
    with pytest.raises(ActionError, match="a block of a user's message"):
        from_anthropic({"messages": [{"role": "user", "content": [{"type": "document"}]}]})
    use = {"type": "tool_use", "id": "c", "name": "a", "input": [1]}
    with pytest.raises(ActionError, match="a JSON object, not list"):
        from_anthropic({"messages": [{"role": "assistant", "content": [use]}]})


def test_an_episode_becomes_a_chat_of_either_kind() -> None:
    env: Any = gym.make(LIBRARY_ID, task="library/renew-loan/0000").unwrapped
    observation, info = env.reset(seed=0)
    chat = list(observation)
    for call in env.oracle():
        observation, *_, after = env.step(call)
        add_turn(chat, after["record"].calls, observation)
    assert from_openai(to_openai(chat)) == chat
    assert from_anthropic(to_anthropic(chat)) == chat
    assert [tool["name"] for tool in anthropic_tools(info["tools"])] == [t["function"]["name"] for t in info["tools"]]
    assert all(set(tool) == {"name", "description", "input_schema"} for tool in anthropic_tools(info["tools"]))


def test_a_call_behind_the_end_of_an_episode_has_an_id_of_its_own() -> None:
    chat: list[Message] = []
    call = ToolCall(tool="finish", arguments={})
    add_turn(chat, [call, call], [{"role": "tool", "tool_call_id": "a", "content": "{}"}])
    assert [asked["id"] for asked in chat[0].get("tool_calls", ())] == ["a", "unanswered_1"]
