"""Each bundled agent's contract: what it does, on what it depends, and that it begins every episode anew."""

import itertools
from collections.abc import Sequence
from typing import Any, cast

import pytest

from palaestra.agents import (
    AlwaysRefuse,
    JunkText,
    LegalRandom,
    ReadOnlyAgent,
    SchemaRandom,
    ScriptedAgent,
    as_action,
    finish_at_once,
    no_op,
    oracle,
)
from palaestra.protocols import Action, Agent
from palaestra.records import Message, ToolCall
from palaestra.seeding import Stream
from palaestra.tools import FORMATS

FINISH: Action = {"tool": "finish", "arguments": {}}
NOTHING: Sequence[Message] = ()


def user(text: str) -> list[Message]:
    return [Message(role="system", content="Ticket TCK-1 is not this one."), Message(role="user", content=text)]


def actions(agent: Agent, count: int, *, seed: int = 0, messages: Sequence[Message] = NOTHING) -> list[Action]:
    """The first actions of an episode."""
    agent.reset((), seed=seed)
    return [agent.act(messages) for _ in range(count)]


def test_a_script_is_played_in_order_and_then_finished_for_ever() -> None:
    script: list[Action] = [{"tool": "a", "arguments": {}}, "text", []]
    assert actions(ScriptedAgent(lambda: script), 6) == [*script, FINISH, FINISH, FINISH]


def test_a_script_begins_anew_with_every_episode() -> None:
    made = itertools.count()
    agent = ScriptedAgent(lambda: [f"episode {next(made)}", "more"])
    assert [actions(agent, 1), actions(agent, 2), actions(agent, 1)] == [
        ["episode 0"],
        ["episode 1", "more"],
        ["episode 2"],
    ]


def test_a_scripted_agent_acts_only_after_reset() -> None:
    with pytest.raises(AttributeError):
        ScriptedAgent(list).act(NOTHING)


def test_the_oracle_asks_for_its_calls_when_the_episode_begins() -> None:
    calls: list[ToolCall] = []
    agent = oracle(lambda: calls)
    calls.append(ToolCall(tool="get_order", arguments={"order_id": "ORD-1"}))
    assert actions(agent, 2) == [{"tool": "get_order", "arguments": {"order_id": "ORD-1"}}, FINISH]


def test_a_call_as_an_action_owns_its_arguments() -> None:
    call = ToolCall(tool="get_order", arguments={"order_id": "ORD-1"})
    action = as_action(call)
    assert isinstance(action, dict)
    action["arguments"]["order_id"] = "ORD-2"
    assert call.arguments == {"order_id": "ORD-1"}


def test_no_op_takes_empty_turns_without_end() -> None:
    assert actions(no_op(), 100) == [[]] * 100


def test_finish_at_once_only_finishes() -> None:
    assert actions(finish_at_once(), 3) == [FINISH] * 3


def test_schema_random_seeds_its_source_with_the_episodes_seed_and_says_what_it_draws() -> None:
    seeds: list[int] = []
    drawn = iter(["first", "second"])
    assert actions(SchemaRandom(lambda: next(drawn), seeds.append), 2, seed=7) == ["first", "second"]
    assert seeds == [7]


def test_legal_random_draws_one_call_a_turn_from_the_stream_of_its_own_seed() -> None:
    asked: list[tuple[int, int]] = []

    def legal(count: int, *, seed: int) -> list[Action]:
        asked.append((count, seed))
        return ["legal"] * count

    agent = LegalRandom(legal)
    assert actions(agent, 3, seed=7) == ["legal"] * 3
    first = list(asked)
    assert [count for count, _ in first] == [1, 1, 1]
    assert len({seed for _, seed in first}) == 3
    asked.clear()
    actions(agent, 3, seed=7)
    assert asked == first
    asked.clear()
    actions(agent, 3, seed=8)
    assert not {seed for _, seed in asked} & {seed for _, seed in first}


def test_junk_is_text_that_calls_nothing_in_any_format() -> None:
    written = set[str]()
    for seed in range(20):
        for action in actions(JunkText(), 10, seed=seed):
            assert isinstance(action, str)
            written.add(action)
    assert len(written) == 8
    for name in FORMATS:
        assert [text for text in written if FORMATS.get(name).parse(text).calls] == []
    assert any("100/100" in text for text in written)


def refusing(messages: Sequence[Message], stream: Stream) -> list[Action]:
    """Refuses under one of five grounds."""
    del messages
    return [{"tool": "no", "arguments": {"ground": stream.below(5)}}]


def test_junk_and_refusals_follow_the_seed_alone() -> None:
    asked = user("Ticket TCK-1050, from a@b.c: Refund\n\nORD-1001 and LIN-10002 are broken.")
    for agent in (JunkText(), AlwaysRefuse(refusing)):
        runs = [actions(agent, 4, seed=seed, messages=asked) for seed in range(12)]
        assert runs == [actions(agent, 4, seed=seed, messages=asked) for seed in range(12)]
        assert len({repr(run) for run in runs}) > 1


def test_always_refuse_refuses_as_it_is_told_apologises_and_finishes() -> None:
    declined, sorry, *finished = actions(AlwaysRefuse(refusing), 5, messages=user("I want it."))
    assert isinstance(declined, dict)
    assert declined["tool"] == "no"
    assert "sorry" in str(sorry)
    assert finished == [FINISH] * 3


def test_always_refuse_only_apologises_where_nothing_refuses() -> None:
    sorry, *finished = actions(AlwaysRefuse(lambda _, __: ()), 3, messages=user("I want it."))
    assert isinstance(sorry, str)
    assert finished == [FINISH] * 2


def test_a_reader_makes_every_look_up_once_and_finishes() -> None:
    def lookups(text: str) -> list[Action]:
        return [{"tool": "see", "arguments": {"id": word}} for word in text.split() if word.isupper()]

    agent = ReadOnlyAgent(lookups)
    agent.reset((), seed=0)
    assert agent.act(user("A and B and A")[1:]) == [
        {"tool": "see", "arguments": {"id": "A"}},
        {"tool": "see", "arguments": {"id": "B"}},
    ]
    assert agent.act([Message(role="tool", content="B C")]) == [{"tool": "see", "arguments": {"id": "C"}}]
    assert agent.act([Message(role="tool", content="A B C")]) == FINISH


def test_a_look_up_of_several_calls_is_made_whole_though_it_shares_calls_with_another() -> None:
    scroll: dict[str, Any] = {"tool": "scroll", "arguments": {}}

    def lookups(text: str) -> list[Action]:
        return [[{"tool": "open", "arguments": {"id": word}}, scroll] for word in text.split() if word.isupper()]

    agent = ReadOnlyAgent(lookups)
    agent.reset((), seed=0)
    opened = [{"tool": "open", "arguments": {"id": word}} for word in "AB"]
    assert agent.act(user("A and B and A")[1:]) == [opened[0], scroll, opened[1], scroll]
    assert agent.act([Message(role="tool", content="B A")]) == FINISH


def test_a_reader_makes_as_many_calls_as_a_turn_may_hold_and_no_more_than_are_of_use() -> None:
    agent = ReadOnlyAgent(lambda _: [{"tool": "see", "arguments": {"id": n}} for n in range(1_000)])
    agent.reset((), seed=0)
    actions = itertools.takewhile(lambda action: action != FINISH, (agent.act(user("all")) for _ in range(99)))
    turns = [cast("list[Any]", action) for action in actions]
    assert {len(turn) for turn in turns} <= set(range(1, 65))
    assert sum(map(len, turns)) == 400
