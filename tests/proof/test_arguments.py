"""Reaching into arguments: every single value is found, and nothing but it is changed."""

from functools import cache

import gymnasium as gym
from hypothesis import given, settings
from hypothesis import strategies as st

from palaestra.envs import ToolEnv
from palaestra.proof.arguments import leaf_paths, places, with_value
from palaestra.proof.directory import IdDirectory
from palaestra.proof.knowledge import leaves
from palaestra.records import ANY_TABLE, Json, ToolCall

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=10,
)
ARGUMENTS = st.dictionaries(st.text(max_size=2), VALUES, max_size=3)


@cache
def env(surface: str | None = None) -> ToolEnv:
    made = gym.make("palaestra/Storefront-v0", surface=surface).unwrapped
    assert isinstance(made, ToolEnv)
    made.reset(seed=0, options={"task": "storefront/cancel-order/0000"})
    return made


@cache
def directory() -> IdDirectory:
    return IdDirectory(env().world, env().instance.initial_state)


@settings(derandomize=True)
@given(ARGUMENTS)
def test_paths_lead_to_the_leaves_in_their_order(arguments: dict[str, Json]) -> None:
    assert [repr(leaf) for _, leaf in leaf_paths(arguments)] == [repr(leaf) for leaf in leaves(arguments)]


@settings(derandomize=True)
@given(ARGUMENTS, st.integers())
def test_a_changed_value_is_the_only_difference(arguments: dict[str, Json], value: int) -> None:
    call = ToolCall(tool="f", arguments=arguments)
    before = list(leaf_paths(arguments))
    for position, (path, old) in enumerate(before):
        after = list(leaf_paths(with_value(call, path, value).arguments))
        assert [p for p, _ in after] == [p for p, _ in before]
        assert [repr(v) for _, v in after] == [
            repr(v) if n != position else repr(value) for n, (_, v) in enumerate(before)
        ]
        assert repr(with_value(with_value(call, path, value), path, old)) == repr(call)


def test_at_the_top_a_value_is_what_its_tool_says() -> None:
    tool = env().world.toolbox["decline_request"]
    call = ToolCall(tool=tool.name, arguments={"ticket_id": "TCK-9", "policy_id": "RET-1", "evidence_id": "ORD-1"})
    found = {place.name: place for place in places(call, tool, directory())}
    assert {name: place.table for name, place in found.items()} == {
        "ticket_id": "tickets",
        "policy_id": "handbook",
        "evidence_id": ANY_TABLE,
    }
    reply = env().world.toolbox["reply"]
    [said] = places(ToolCall(tool="reply", arguments={"message": "RET-1"}), reply, directory())
    assert (said.prose, said.table) == (True, None)


def test_deeper_down_an_id_is_known_by_its_value_and_prose_by_its_name() -> None:
    tool = env().world.toolbox["finish"]
    deep: dict[str, Json] = {"steps": [{"arguments": {"line": "LIN-10001", "body": "RET-1 says so", "cents": 5}}]}
    found = {place.name: place for place in places(ToolCall(tool="finish", arguments=deep), tool, directory())}
    assert found["steps.0.arguments.line"].table == "order_lines"
    assert found["steps.0.arguments.body"].prose
    assert found["steps.0.arguments.cents"].table is None


def test_an_id_is_known_by_its_row_or_by_the_form_of_a_new_one() -> None:
    for info in env().world.schema:
        for key in directory().ids(info.name):
            assert directory().table_of(key) == info.name
            assert directory().stands(key)
    assert directory().table_of("RFD-999999") == "refunds"
    assert not directory().stands("RFD-999999")
    assert directory().table_of("hello-there") is None
    assert directory().table_of("XYZ-1") is None


def test_any_table_holds_every_id_once() -> None:
    every = [key for info in env().world.schema for key in directory().ids(info.name)]
    assert sorted(directory().ids(ANY_TABLE)) == sorted(set(every))
