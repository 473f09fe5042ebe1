"""A chat model elsewhere plays episodes: what it is shown, what it does, and what its faults cost."""

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import orjson
import pytest

from chatserver import Answer, Asked, chat, chat_server
from palaestra.agents import rollout
from palaestra.agents.remote import EndpointConfig, RemoteAgent, RemoteChat, RemoteChatConfig
from palaestra.envs import ToolEnv
from palaestra.errors import ServerError
from palaestra.records import EndReason, ToolCall
from palaestra.trajectory import Episode
from worlds.registration import LIBRARY_ID

TASK = "library/renew-loan/0000"
Script = Sequence[Answer]


def library() -> ToolEnv:
    env = gym.make(LIBRARY_ID).unwrapped
    assert isinstance(env, ToolEnv)
    return env


def solution() -> list[ToolCall]:
    env = library()
    env.reset(seed=3, options={"task": TASK})
    return list(env.oracle())


def played(*script: Answer, behaviour: Callable[[Asked], Answer] | None = None) -> tuple[Episode, list[Asked]]:
    """An episode of a model that gives these replies, and what the model was asked."""
    with chat_server(*script, behaviour=behaviour) as server:
        endpoint = EndpointConfig(base_url=server.url, tries=1)
        with RemoteChat(RemoteChatConfig(endpoint=endpoint, model="tiny")) as model:
            episode = rollout(library(), RemoteAgent(model), name="tiny", seed=3, task=TASK)
    return episode, server.asked


def test_a_model_that_knows_the_solution_passes() -> None:
    calls = [chat(None, (call.tool, dict(call.arguments))) for call in solution()]
    episode, asked = played(*calls)
    assert episode.score.passed
    assert episode.end is EndReason.FINISHED
    assert len(asked) == len(calls)


def test_the_chat_is_one_that_servers_take() -> None:
    first, second = solution()[0], solution()[-1]
    assert second.tool == "finish"
    _, asked = played(
        chat("Let me see.", (first.tool, dict(first.arguments)), (first.tool, dict(first.arguments))),
        chat(None, ("finish", {})),
    )
    env = library()
    prompt, info = env.reset(seed=3, options={"task": TASK})
    opening = [{"role": message["role"], "content": message["content"]} for message in prompt]
    assert asked[0].body["messages"] == opening
    assert asked[0].body["tools"] == list(info["tools"])
    said, *answers = asked[1].body["messages"][len(opening) :]
    assert (said["role"], said["content"]) == ("assistant", "Let me see.")
    assert [call["function"]["name"] for call in said["tool_calls"]] == [first.tool] * 2
    ids = [call["id"] for call in said["tool_calls"]]
    assert [(answer["role"], answer["tool_call_id"]) for answer in answers] == [("tool", name) for name in ids]
    assert all(answer["content"].startswith("{") for answer in answers)


def test_every_turn_has_a_seed_of_its_own_that_follows_from_the_episode_s() -> None:
    def seeds() -> list[int]:
        return [asked.body["seed"] for asked in played(chat("Hm."), chat("Hm."), chat(None, ("finish", {})))[1]]

    assert seeds() == seeds()
    assert len(set(seeds())) == 3


@pytest.mark.parametrize(
    "turn",
    [
        chat(None, ("finish", "{")),
        chat(None, ("finish", {}), ("finish", "[]")),
        chat(None, ("finish", {}), finish="length"),
        chat("I will now fini", finish="length"),
        chat(None),
        chat(""),
    ],
    ids=["no JSON", "one call of two", "cut off in a call", "cut off in prose", "nothing", "empty"],
)
def test_a_turn_that_cannot_be_read_runs_nothing_and_counts_against_the_model(turn: Answer) -> None:
    episode, asked = played(turn)
    assert episode.end is EndReason.UNPARSABLE
    assert [event for turn in episode.turns for event in turn.events] == []
    assert len(asked) == 3


@pytest.mark.parametrize(
    ("turn", "told"),
    [
        (chat(None, ("finish", '{"a')), 'The arguments were no JSON object: {"a'),
        (chat(None, ("finish", {}), finish="length"), "Your last turn was cut off by its limit of tokens"),
        (chat("I will now fini", finish="length"), "Your last turn was cut off by its limit of tokens"),
    ],
)
def test_a_model_is_told_why_its_turn_was_not_run(turn: Answer, told: str) -> None:
    _, asked = played(turn)
    assert any(told in message["content"] for message in asked[1].body["messages"])


def test_broken_arguments_do_not_go_back_to_the_server_as_they_are() -> None:
    _, asked = played(chat(None, ("finish", '{"a')))
    calls = [call for message in asked[2].body["messages"] for call in message.get("tool_calls", [])]
    assert [call["function"]["arguments"] for call in calls] == ["{}", "{}"]


@pytest.mark.parametrize("given", [["", ""], ["same", "same"]], ids=["no ids", "equal ids"])
def test_calls_without_ids_of_their_own_get_ours(given: list[str]) -> None:
    def behave(asked: Asked) -> Answer:
        del asked
        calls: list[Any] = [{"id": name, "function": {"name": "nonsense", "arguments": "{}"}} for name in given]
        return Answer(body=orjson.dumps({"choices": [{"message": {"tool_calls": calls}}]}))

    _, asked = played(behaviour=behave)
    messages = asked[-1].body["messages"]
    names = [call["id"] for message in messages for call in message.get("tool_calls", [])]
    answered = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    assert names == answered
    assert len(set(names)) == len(names) > 2


def test_what_the_world_says_to_prose_comes_from_the_user() -> None:
    _, asked = played(chat("Dear reader, ..."), chat(None, ("finish", {})))
    *_, said, answer = asked[1].body["messages"]
    assert said == {"role": "assistant", "content": "Dear reader, ..."}
    assert answer["role"] == "user"


def test_a_second_episode_knows_nothing_of_the_first() -> None:
    with chat_server(chat(None, ("finish", {}))) as server:
        endpoint = EndpointConfig(base_url=server.url, tries=1)
        with RemoteChat(RemoteChatConfig(endpoint=endpoint, model="tiny")) as model:
            agent = RemoteAgent(model)
            for _ in range(2):
                rollout(library(), agent, name="tiny", seed=3, task=TASK)
                assert len(agent.replies) == 1
    assert server.asked[0].body == server.asked[1].body


def test_a_server_that_fails_is_no_move_of_the_model() -> None:
    with pytest.raises(ServerError):
        played(Answer(status=503))
