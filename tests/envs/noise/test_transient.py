"""Failures, a limit on calls, delay and deadline: what time and luck do to calls."""

import json
from typing import Any

import pytest

from palaestra.envs import ToolEnv
from palaestra.envs.noise.delay import Delay
from palaestra.envs.noise.failures import IN_A_ROW, Failures
from palaestra.envs.noise.quota import WINDOW, Quota
from palaestra.records import EndReason, ToolCall
from palaestra.seeding import Stream
from worlds.noisy import storefront

TASK = "storefront/price-match/5000"
LOOK: dict[str, Any] = {"tool": "read_handbook", "arguments": {"section_id": "RET-1"}}


def begun(noise: dict[str, Any], seed: int = 0) -> ToolEnv:
    env = storefront(noise)
    env.reset(seed=seed, options={"task": TASK})
    return env


def error_of(observation: Any) -> Any:
    return json.loads(observation[-1]["content"]).get("error", {}).get("code")


def call(name: str, **arguments: str) -> ToolCall:
    return ToolCall(tool=name, arguments=arguments)


def test_the_same_call_fails_at_most_twice_in_a_row_even_among_others() -> None:
    failures = Failures(100, Stream.root("t"))
    calls = [call("a"), call("a", x="1"), call("b")]
    refused = [[failures.refuse(c, 3 * turn + n) is not None for n, c in enumerate(calls)] for turn in range(7)]
    wanted = [turn % (IN_A_ROW + 1) != IN_A_ROW for turn in range(7)]
    assert refused == [[w] * 3 for w in wanted]


def test_about_as_many_calls_fail_as_was_asked_for() -> None:
    failures = Failures(20, Stream.root("t"))
    failed = sum(failures.refuse(call("a", x=str(n)), n) is not None for n in range(5_000))
    assert 900 < failed < 1_100  # 1,000 expected, with a standard deviation of 28


def test_which_call_fails_does_not_depend_on_the_calls_before() -> None:
    alone, later = Failures(50, Stream.root("t")), Failures(50, Stream.root("t"))
    for n in range(30):
        later.refuse(call("b"), n)
    assert [alone.refuse(call("a", x=str(n)), n) for n in range(30, 60)] == [
        later.refuse(call("a", x=str(n)), n) for n in range(30, 60)
    ]


def test_a_failed_call_touches_no_row_takes_time_and_stands_in_the_log() -> None:
    env = begun({"failures": 100})
    rows = env.state_hash()
    observation, reward, terminated, _, info = env.step(LOOK)
    [event] = info["events"]
    assert (error_of(observation), event.error, reward, terminated) == ("unavailable", "unavailable", 0.0, False)
    assert (event.tool, event.executed, event.schema_ok, event.semantic_ok) == ("read_handbook", False, True, False)
    assert (event.written, event.shown, event.mentioned) == (0, (), frozenset())
    assert env.snapshot().elapsed == event.latency > 0
    assert env.state_hash() == rows
    assert info["noise"]["refused"] == {"rate_limited": 0, "unavailable": 1}


def test_an_unknown_tool_and_junk_arguments_can_fail_and_are_logged_as_what_they_are() -> None:
    env = begun({"failures": 100})
    for arguments in ({"section_id": 7}, {"nothing": object()}):
        event = env.step({"tool": "read_handbook", "arguments": arguments})[-1]["events"][0]
        assert (event.error, event.schema_ok, event.named) == ("unavailable", False, ())
    event = env.step({"tool": "\ud800" * 99, "arguments": {}})[-1]["events"][0]
    assert (event.error, event.tool) == ("unavailable", "?" * 64)


@pytest.mark.parametrize("tool", ["reply", "finish", "give_up"])
def test_talking_and_ending_never_fail(tool: str) -> None:
    env = begun({"failures": 100, "rate_limit": 1})
    env.step(LOOK)
    arguments = {"reply": {"message": "Good morning"}, "give_up": {"reason": "no"}}.get(tool, {})
    assert env.step({"tool": tool, "arguments": arguments})[-1]["events"][0].executed


def test_a_quota_takes_so_many_calls_in_any_minute() -> None:
    quota, second, taken = Quota(3), 0, list[int]()
    for step in range(200):
        refusal = quota.refuse(second)
        if refusal is None:
            taken.append(second)
        else:
            assert 0 < refusal.latency <= WINDOW
        second += refusal.latency if refusal else step % 7
    for start in taken:
        assert sum(start <= s < start + WINDOW for s in taken) <= 3
    assert len(taken) > 30


def test_a_call_too_many_waits_is_refused_and_is_taken_when_made_again() -> None:
    env = begun({"rate_limit": 2})
    quick = {"tool": "search_handbook", "arguments": {"query": "returns"}}
    codes = [error_of(env.step(quick)[0]) for _ in range(4)]
    assert codes == [None, None, "rate_limited", None]
    assert env.snapshot().elapsed >= WINDOW


def test_calls_take_longer_by_no_more_than_was_asked_for_and_the_log_says_by_how_much() -> None:
    delay = Delay(50, Stream.root("t"))
    extras = {delay.of(100, number) for number in range(400)}
    assert extras == set(range(51))
    env, quick = begun({"latency": 300}), begun({"caps": True})
    for _ in range(5):
        slow = env.step(LOOK)[-1]["events"][0].latency
        assert quick.step(LOOK)[-1]["events"][0].latency <= slow <= 4 * 30
    assert env.snapshot().elapsed == sum(event.latency for event in env.events) > quick.snapshot().elapsed


def test_an_episode_ends_when_its_deadline_has_passed_and_the_calls_after_that_are_not_made() -> None:
    env = begun({"deadline": 65})
    info = env.step([LOOK, LOOK])[-1]
    assert info["end"] is None
    _, _, terminated, truncated, info = env.step([LOOK, LOOK, LOOK])
    assert (info["end"], terminated, truncated) == (EndReason.DEADLINE, True, False)
    assert len(info["events"]) == 1
    assert not info["score"].passed


def test_who_finishes_with_the_call_that_passes_the_deadline_has_finished() -> None:
    env = begun({"deadline": 1})
    assert env.step({"tool": "finish", "arguments": {}})[-1]["end"] is EndReason.FINISHED


def test_the_agent_is_told_of_the_deadline_and_of_nothing_else() -> None:
    plain, timed = storefront(None), storefront({"deadline": 90})
    quiet, told = (env.reset(seed=0, options={"task": TASK})[0] for env in (plain, timed))
    start = timed.instance.start
    assert told[0]["content"].startswith(quiet[0]["content"])
    assert f"until {start:%Y-%m-%d}, 09:01:30" in told[0]["content"]
    assert told[1:] == quiet[1:]
