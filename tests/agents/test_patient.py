import json
from collections.abc import Sequence
from typing import Any

import pytest

from palaestra.agents import PatientAgent
from palaestra.agents.patient import TRANSIENT
from palaestra.protocols import Action
from palaestra.records import JsonSchema, Message

NO_ARGUMENTS: dict[str, Any] = {}
CALLS = [{"tool": name, "arguments": NO_ARGUMENTS} for name in ("a", "b", "c")]


class Scribe:
    """Acts as it is told and notes what it reads."""

    def __init__(self, *actions: Action) -> None:
        self.actions = list(actions)
        self.read: list[tuple[Message, ...]] = []

    def reset(self, tools: Sequence[JsonSchema], *, seed: int) -> None:
        del tools, seed

    def act(self, messages: Sequence[Message]) -> Action:
        self.read.append(tuple(messages))
        return self.actions.pop(0)


def answer(name: str, code: str | None = None) -> Message:
    body = {"id": name} if code is None else {"error": {"code": code, "message": "..."}}
    return {"role": "tool", "name": name, "content": json.dumps(body)}


def patient(*actions: Action) -> tuple[PatientAgent, Scribe]:
    scribe = Scribe(*actions)
    agent = PatientAgent(scribe)
    agent.reset([], seed=0)
    return agent, scribe


OPENING: Message = {"role": "user", "content": "Hello"}


@pytest.mark.parametrize("code", sorted(TRANSIENT))
def test_only_the_calls_that_were_refused_for_the_moment_are_made_again(code: str) -> None:
    agent, scribe = patient(CALLS, "done")
    assert agent.act([OPENING]) == CALLS
    again = agent.act([answer("a", code), answer("b"), answer("c", code)])
    assert again == [CALLS[0], CALLS[2]]
    assert agent.act([answer("a"), answer("c", code)]) == [CALLS[2]]
    assert agent.act([answer("c")]) == "done"
    assert scribe.read == [(OPENING,), (answer("b"), answer("a"), answer("c"))]


def test_calls_of_a_message_are_made_again_with_their_ids() -> None:
    uses = [{"type": "tool_use", "id": f"id-{name}", "name": name, "input": NO_ARGUMENTS} for name in ("a", "b")]
    agent, _ = patient({"role": "assistant", "content": uses}, "done")
    agent.act([OPENING])
    again = agent.act([answer("a"), answer("b", "unavailable")])
    assert again == [{"id": "id-b", "tool": "b", "arguments": {}}]


@pytest.mark.parametrize("action", ["<tool_call>...", {"tool": "a", "arguments": {}}])
def test_text_and_a_single_call_are_repeated_whole(action: Action) -> None:
    agent, _ = patient(action, "done")
    agent.act([OPENING])
    assert agent.act([answer("a", "unavailable")]) == action
    assert agent.act([answer("a")]) == "done"


@pytest.mark.parametrize(
    "message",
    [
        answer("a", "not_found"),
        Message(role="tool", content="no json"),
        Message(role="tool", content='["unavailable"]'),
        Message(role="tool", content='{"error": "unavailable"}'),
        Message(role="user", content='{"error": {"code": "unavailable"}}'),
    ],
)
def test_any_other_answer_is_for_the_other_agent_to_read(message: Message) -> None:
    agent, scribe = patient(CALLS, "next")
    agent.act([OPENING])
    assert agent.act([message]) == "next"
    assert scribe.read[-1] == (message,)


def test_a_new_episode_forgets_the_last_one() -> None:
    agent, scribe = patient(CALLS, "first", "second")
    agent.act([OPENING])
    agent.act([answer("a", "unavailable"), answer("b")])
    agent.reset([], seed=1)
    assert agent.act([OPENING]) == "first"
    assert scribe.read[-1] == (OPENING,)
