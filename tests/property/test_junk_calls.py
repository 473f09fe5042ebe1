"""Whatever an agent sends, a step answers: no crash, a typed refusal, and rows as they were."""

import datetime
from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from palaestra.digest import canonical
from palaestra.envs.check.subject import make
from palaestra.errors import ActionError
from worlds.registration import LIBRARY_ID

ENV = make(LIBRARY_ID, task="library/renew-loan/0000", max_turns=10**6)
ENV.reset(seed=0)
TOOLS = [tool.name for tool in ENV.world.toolbox if tool.name not in ("finish", "give_up")]

texts = (
    st.text(max_size=8) | st.text(st.characters(), max_size=4) | st.sampled_from(["LN-1", "\ud800", "\0", "x" * 5000])
)
numbers = st.integers() | st.floats() | st.just(2**70)
junk: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | numbers
    | texts
    | st.binary(max_size=3)
    | st.just(datetime.date(2031, 1, 1))
    | st.just(object()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts | st.integers(), inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(["loan_id", "member_id", "text", "message", "times", "loan_ids", "\ud800"]) | texts
calls = st.fixed_dictionaries(
    {"tool": st.sampled_from(TOOLS) | texts, "arguments": st.dictionaries(names, junk, max_size=3) | junk}
)


@settings(max_examples=300, deadline=None)
@given(action=calls | st.lists(calls, max_size=3) | junk)
def test_junk_is_refused_without_a_crash_or_a_change(action: Any) -> None:
    env = ENV.fork()
    rows, digest = env.state_hash(), env.digest()
    try:
        observation, reward, *_, info = env.step(action)
    except ActionError:
        assert env.digest() == digest
        return
    assert isinstance(reward, float)
    assert orjson.loads(canonical(observation)) == list(observation)
    assert observation in env.observation_space
    for event in info["events"]:
        canonical(event.arguments)
        canonical(event.tool)
    if all(event.error for event in info["events"]):
        assert env.state_hash() == rows
    assert env.digest() != digest


@settings(max_examples=200, deadline=None)
@given(answer=st.dictionaries(texts, st.booleans() | st.integers() | texts, max_size=3))
def test_any_answer_can_be_given_and_logged(answer: dict[str, Any]) -> None:
    env = ENV.fork()
    *_, info = env.step({"tool": "finish", "arguments": {"answer": answer}})
    canonical(env.snapshot().answer)
    env.digest()
    canonical([event.arguments for event in info["events"]])
