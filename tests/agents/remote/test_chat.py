"""What a chat model elsewhere is asked, and what is made of its replies."""

import asyncio
import pickle
import threading
from typing import Any

import pytest

from chatserver import Answer, Asked, ChatServer, chat, chat_server, said
from palaestra.agents.remote import ChatReply, EndpointConfig, RemoteChat, RemoteChatConfig, RequestedCall, TokenUsage
from palaestra.errors import ConfigError, ReplyError, ServerError, WaitError
from palaestra.protocols import ChatModel
from palaestra.records import JsonObject, Message

HELLO: list[Message] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello?"}]
TOOL: JsonObject = {
    "type": "function",
    "function": {"name": "look", "parameters": {"type": "object", "properties": {}}},
}


def talker(server: ChatServer, **settings: Any) -> RemoteChat:
    endpoint = EndpointConfig(base_url=server.url, tries=1, timeout=settings.pop("timeout", 30.0))
    return RemoteChat(RemoteChatConfig(endpoint=endpoint, model="tiny", **settings))


def written(server: ChatServer, **settings: Any) -> str:
    """What a caller is given that waits for text."""
    with talker(server, **settings) as model:
        asked: ChatModel = model
        return asked.complete(HELLO, seed=7)


def reply(answer: Answer) -> ChatReply:
    with chat_server(answer) as server:
        return asyncio.run(_turn(talker(server)))


async def _turn(model: RemoteChat, *tools: Any) -> ChatReply:
    try:
        return await model.chat(HELLO, tools, seed=7)
    finally:
        await model.aclose()


def test_a_chat_model_is_asked_in_openai_s_words_and_answers_with_text() -> None:
    with chat_server(chat("Hi.")) as server:
        assert written(server, options={"temperature": 0, "max_tokens": 9}) == "Hi."
    (asked,) = server.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.body == {"model": "tiny", "messages": HELLO, "seed": 7, "temperature": 0, "max_tokens": 9}


@pytest.mark.parametrize(("name", "sent"), [("random_seed", {"random_seed": 7}), (None, {})])
def test_a_seed_goes_where_the_server_wants_it(name: str | None, sent: dict[str, int]) -> None:
    with chat_server(chat("Hi.")) as server:
        written(server, seed_field=name)
    assert server.asked[0].body == {"model": "tiny", "messages": HELLO, **sent}


def test_options_cannot_set_what_a_request_sets() -> None:
    endpoint = EndpointConfig(base_url="http://host/v1")
    with pytest.raises(ConfigError, match="options set model, stream, which each request sets"):
        RemoteChat(RemoteChatConfig(endpoint=endpoint, model="m", options={"stream": True, "model": "x", "top_p": 1}))


def test_tools_go_along_and_calls_come_back() -> None:
    with chat_server(chat("Let me see.", ("look", {"at": [1, None]}), ("look", ""))) as server:
        turn = asyncio.run(_turn(talker(server), TOOL))
    assert server.asked[0].body["tools"] == [TOOL]
    assert turn == ChatReply(
        content="Let me see.",
        calls=(
            RequestedCall(id="chatcmpl-tool-0", tool="look", arguments={"at": [1, None]}, raw='{"at":[1,null]}'),
            RequestedCall(id="chatcmpl-tool-1", tool="look", arguments={}, raw=""),
        ),
        finish_reason="tool_calls",
        usage=TokenUsage(prompt=11, completion=7),
    )
    assert not turn.cut_off


@pytest.mark.parametrize("raw", ["{", '{"a": 1', "[1]", "3", '"text"', "null", "{'a': 1}", '{"a": NaN}'])
def test_arguments_that_are_no_json_object_are_told_and_not_raised(raw: str) -> None:
    (call,) = reply(chat(None, ("look", raw))).calls
    assert (call.tool, call.arguments, call.raw) == ("look", None, raw)


def test_arguments_that_are_given_as_json_are_taken() -> None:
    answer = said({"choices": [{"message": {"tool_calls": [{"function": {"name": "look", "arguments": {"a": 1}}}]}}]})
    assert reply(answer) == ChatReply(
        content=None,
        calls=(RequestedCall(id="", tool="look", arguments={"a": 1}, raw='{"a":1}'),),
        finish_reason="",
        usage=None,
    )


def test_a_reply_that_was_cut_off_says_so() -> None:
    turn = reply(chat("Let me", ("look", '{"a'), finish="length"))
    assert turn.cut_off
    assert (turn.content, turn.calls[0].arguments) == ("Let me", None)


NO_CHATS: list[tuple[JsonObject, str]] = [
    ({}, "choices: Field required"),
    ({"choices": []}, "choices: List should have at least 1 item"),
    ({"choices": [{}]}, r"choices\.0\.message: Field required"),
    ({"choices": [{"message": {"content": 3}}]}, r"choices\.0\.message\.content: Input should be a valid string"),
    ({"choices": [{"message": {"tool_calls": [{"id": "x"}]}}]}, r"tool_calls\.0\.function: Field required"),
    ({"error": {"message": "but status 200"}}, "choices: Field required"),
]


@pytest.mark.parametrize(("answer", "says"), NO_CHATS)
def test_what_is_no_chat_completion_is_told_with_the_field(answer: Any, says: str) -> None:
    with pytest.raises(ReplyError, match=rf"tiny at http://.* gave no chat completion: .*{says}"):
        reply(said(answer))


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (chat(None), "wrote nothing; it ended with finish_reason='stop'"),
        (chat(""), "wrote nothing"),
        (chat(None, finish="content_filter"), "finish_reason='content_filter'"),
        (chat(None, ("look", {})), "wrote nothing; it ended with finish_reason='tool_calls'"),
        (chat("I want my mon", finish="length"), "was cut off by its limit of tokens after 'I want my mon'; set more"),
        (Answer(status=400, body=b'{"error": {"message": "too long"}}'), "refused .* 400: too long"),
    ],
)
def test_a_completion_that_is_no_text_is_a_value_error(answer: Answer, says: str) -> None:
    with chat_server(answer) as server, pytest.raises(ValueError, match=says) as told:
        written(server)
    assert isinstance(told.value, ReplyError)


def test_the_contract_s_other_errors_are_kept() -> None:
    with chat_server(Answer(status=500)) as server, pytest.raises(ConnectionError) as broken:
        written(server)
    assert isinstance(broken.value, ServerError)

    def slow(asked: Asked) -> Answer:
        del asked
        server.ended.wait()
        return chat("late")

    with chat_server(behaviour=slow) as server, pytest.raises(TimeoutError) as late:
        written(server, timeout=0.1)
    assert isinstance(late.value, WaitError)


def test_callers_that_wait_may_be_many_and_stand_within_an_event_loop() -> None:
    def echo(asked: Asked) -> Answer:
        return chat(f"{asked.body['seed']}")

    async def inside(model: RemoteChat) -> str:
        return model.complete(HELLO, seed=99)

    heard: dict[int, str] = {}
    with chat_server(behaviour=echo) as server:
        model = talker(server)

        def call(seed: int) -> None:
            heard[seed] = model.complete(HELLO, seed=seed)

        threads = [threading.Thread(target=call, args=(seed,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert asyncio.run(inside(model)) == "99"
        model.close()
        model.close()
        assert model.complete(HELLO, seed=1) == "1"
        model.close()
    assert heard == {seed: str(seed) for seed in range(8)}


def test_a_pickled_model_asks_the_same_server_in_the_same_words() -> None:
    with chat_server(chat("Hi.")) as server:
        with talker(server, options={"temperature": 0}) as model:
            model.complete(HELLO, seed=1)
            pickled = pickle.dumps(model)
        again: RemoteChat = pickle.loads(pickled)
        with again:
            assert again.complete(HELLO, seed=1) == "Hi."
    assert server.asked[0].body == server.asked[1].body
