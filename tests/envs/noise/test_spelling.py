"""Other names for tools and arguments: the agent's outside, the world's own inside."""

import json
import pickle
import re
from typing import Any

import pytest

from palaestra.agents import oracle, rollout
from palaestra.envs import ToolEnv
from palaestra.envs.noise.spelling import KEPT, RenamedTool, Spelling
from palaestra.envs.worlds.storefront.noise import NOISE
from palaestra.envs.worlds.storefront.tools import TOOLBOX
from palaestra.records import ToolCall
from palaestra.seeding import Stream
from worlds.noisy import STOREFRONT, storefront

TASK = "storefront/price-match/5000"
SEEDS = range(25)


def spelling(seed: int) -> Spelling:
    return Spelling(tuple(TOOLBOX), NOISE.synonyms, Stream.root("t", seed))


def begun(seed: int = 0) -> tuple[ToolEnv, dict[str, Any]]:
    env = storefront({"renames": True})
    return env, env.reset(seed=seed, options={"task": TASK})[1]


@pytest.mark.parametrize("seed", SEEDS)
def test_every_name_is_another_one_and_no_two_are_the_same(seed: int) -> None:
    names = spelling(seed)
    assert names.tools.keys() == {tool.name for tool in TOOLBOX} - KEPT
    for own, outer in ((names.tools, names.tools.values()), (names.arguments, names.arguments.values())):
        assert len(set(outer)) == len(own)
        assert own.keys().isdisjoint(outer)
    assert all(re.fullmatch(r"[a-z0-9_]{1,64}", name) for name in names.tools.values())


@pytest.mark.parametrize("seed", SEEDS)
def test_what_the_world_would_write_is_read_back_as_it_was(seed: int) -> None:
    names = spelling(seed)
    for tool in TOOLBOX:
        call = ToolCall(tool=tool.name, arguments=dict.fromkeys(tool.parameters["properties"], 1))
        assert names.read(names.write(call)) == call


def test_a_word_without_a_synonym_stays_and_a_name_without_any_gets_a_number() -> None:
    tool = next(t for t in TOOLBOX if t.name == "check_compatibility")
    names = Spelling([tool], {"check": ("check",), "product": ("product",), "ids": ("ids",)}, Stream.root("t"))
    assert names.tools == {"check_compatibility": "check_compatibility_2"}
    assert names.arguments == {"product_ids": "product_ids_2"}


def test_another_world_s_words_change_no_choice_of_these() -> None:
    some = Spelling(tuple(TOOLBOX), {}, Stream.root("t"))
    more = Spelling(tuple(TOOLBOX), {"zebra": ("horse",)}, Stream.root("t"))
    assert some.tools == more.tools


def test_the_schemas_hold_the_outer_names_alone() -> None:
    env, info = begun()
    names = env.episode.noise_state
    assert names is not None
    assert names.noise_plan.spelling is not None
    text = json.dumps(list(info["tools"]))
    for own in (*names.noise_plan.spelling.tools, *names.noise_plan.spelling.arguments):
        if "_" in own:
            assert not re.search(rf"\b{own}\b", text), own
    assert {"reply", "finish", "give_up"} <= {tool["function"]["name"] for tool in info["tools"]}


def test_a_call_in_the_world_s_own_names_is_an_unknown_tool() -> None:
    env, _ = begun()
    observation, _, _, _, info = env.step({"tool": "get_order", "arguments": {"order_id": "ORD-1042"}})
    [event] = info["events"]
    assert (event.error, event.executed, event.schema_ok) == ("unknown_tool", False, False)
    message = json.loads(observation[0]["content"])["error"]["message"]
    assert "unknown tool 'get_order'" in message
    near = re.findall(r"'(\w+)'", message)[1:]
    assert set(near) <= {tool.name for tool in env.offered_tools}


def test_an_argument_in_the_world_s_own_name_does_not_fit() -> None:
    env, _ = begun()
    look = next(c for c in env.oracle() if len(c.arguments) == 1 and c.tool not in KEPT)
    [outer] = look.arguments
    noise_state = env.episode.noise_state
    assert noise_state is not None
    assert noise_state.noise_plan.spelling is not None
    [own] = noise_state.noise_plan.spelling.read(look).arguments
    observation, _, _, _, info = env.step({"tool": look.tool, "arguments": {own: look.arguments[outer]}})
    assert info["events"][0].error == "invalid_arguments"
    assert f"{own}: there is no such argument" in observation[0]["content"]
    for arguments in ({}, {outer: 7}):
        observation, _, _, _, info = env.step({"tool": look.tool, "arguments": arguments})
        [event] = info["events"]
        assert event.error == "invalid_arguments"
        assert (event.tool, own in event.arguments) == (
            noise_state.noise_plan.spelling.read(look).tool,
            bool(arguments),
        )
        assert f"{outer}: " in observation[0]["content"]


def test_a_closed_tool_stays_closed_under_its_other_name() -> None:
    env, _ = begun()
    noise_state = env.episode.noise_state
    assert noise_state is not None
    assert noise_state.noise_plan.spelling is not None
    outer = noise_state.noise_plan.spelling.tools["approve_refund"]
    observation, _, _, _, info = env.step({"tool": outer, "arguments": {}})
    assert info["events"][0].error in {"forbidden", "invalid_arguments"}
    assert "approve_refund" not in observation[0]["content"]


def test_events_keep_the_world_s_names_and_calls_and_messages_those_of_the_agent() -> None:
    env, _ = begun()
    inner = storefront(None)
    inner.reset(seed=0, options={"task": TASK})
    for outer, own in zip(env.oracle(), inner.oracle(), strict=True):
        observation, _, _, _, info = env.step({"tool": outer.tool, "arguments": dict(outer.arguments)})
        [event] = info["events"]
        assert (event.tool, event.arguments) == (own.tool, own.arguments)
        assert info["calls"] == (outer,)
        assert observation[0].get("name") == outer.tool


def test_a_recorded_episode_replays_by_its_calls() -> None:
    env = storefront({"renames": True, "failures": 30})
    episode = rollout(env, oracle(env.oracle), name="oracle", seed=4, task=TASK)
    again = storefront({"renames": True, "failures": 30})
    again.reset(seed=4, options={"task": TASK})
    for turn in episode.turns:
        observation, reward, *_ = again.step([{"tool": c.tool, "arguments": dict(c.arguments)} for c in turn.calls])
        assert (observation, reward) == (turn.observation, turn.reward)
    assert episode.env_id == STOREFRONT


def test_a_renamed_tool_pickles_with_its_names() -> None:
    env, _ = begun()
    tool = next(tool for tool in env.offered_tools if isinstance(tool, RenamedTool))
    copy = pickle.loads(pickle.dumps(tool))
    assert copy.export() == tool.export()
    assert copy.own.export() == tool.own.export()  # a generated tool is made again, of the same parts
