"""Junk calls: whatever an agent sends, the world answers in JSON, logs it, and keeps its rows."""

import json
import pickle
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

import gymnasium as gym
import pytest

from palaestra.agents import rollout
from palaestra.envs import ToolEnv
from palaestra.envs.storefront.invariants import violations
from palaestra.protocols import Action
from palaestra.records import JsonSchema, Message
from palaestra.seeding import Stream
from palaestra.tools import FORMATS
from palaestra.trajectory import dump_episode

CALLS = 500
"""Junk calls of one episode; there are ten episodes."""
TASKS = (
    "storefront/cancel-order/0000",
    "storefront/lost-parcel/0003",
    "storefront/refund-over-limit/5000",
    "storefront/fix-build/0007",
    "storefront/third-party-request/7001",
)
REFUSALS = {
    "unknown_tool", "invalid_arguments", "not_found", "forbidden", "bad_cursor", "bad_quantity", "bad_fee",
    "not_delivered", "nothing_to_refund", "over_paid", "over_limit", "not_captured", "not_pending", "wrong_customer",
    "already_sent", "not_in_transit", "not_lost", "already_replaced", "out_of_stock", "not_authorised", "already_open",
    "not_open", "already_ordered", "no_such_slot", "same_team", "nothing_to_change", "email_taken",
}  # fmt: skip
"""Every way in which a Storefront tool says no."""


def nested(stream: Stream) -> Any:
    """A list or an object in itself, hundreds of times."""
    value: Any = "ORD-1001"
    wrap: Callable[[Any], Any] = stream.choice([lambda v: [v], lambda v: {"order_id": v}])
    for _ in range(stream.choice((3, 60, 400, 3_000))):
        value = wrap(value)
    return value


def huge(stream: Stream) -> str:
    return stream.choice(("x", "é", "\x00", "ORD-1001 ", "\U0001f600")) * stream.choice((81, 4_001, 100_000))


VALUES: tuple[tuple[Any, ...], ...] = (
    (None, True, False, [], {}, "", " ", "\t\n"),
    (0, -1, 1, 99, 100, 2**31, 2**63, 2**64, -(2**63) - 1, 10**30, 10**5000),
    (0.5, 1.0, -0.0, 1e308, float("nan"), float("inf"), float("-inf")),
    ("\x00", "\ud800", "\udfff\ud800", "\u202eDRO", "\ufeff", "\ufb00", "\u0130", "\u03a9" * 60, "\U0001f9ef"),
    ("1", "true", "null", "NaN", "b'ORD-1001'", "0x10", "1e3", "[1]", '{"a": 1}'),
    ("'; DROP TABLE orders; --", "%s%n", "../../etc/passwd", "${jndi:x}", "{0.__class__}", "*"),
    (b"ORD-1001", bytearray(b"\xff"), {1, 2}, (1, 2), date(2026, 1, 1), Decimal("1.5"), object()),
    ("ORD-1001", "ord-1001", "ORD-1001 ", " ORD-1001", "ORD-99999999", "ORD-", "LIN-10001", "RET-1"),
)
KEYS = ("__proto__", "constructor", "__class__", "__init__", "context", "self", "", "\x00", "\ud800", "k" * 50_000)
ODD_KEYS = (1, None, True, 1.5, ("order_id",), b"order_id")
NAMES = (
    "", " ", "get_orderr", "GET_ORDER", "get_order ", "__class__", "__init__", "constructor", "functions.get_order",
    "\x00", "\ud800", "\u202eget_order", "x" * 100_000, "rm -rf /", "get_order;cancel_order", "None", "🧯",
)  # fmt: skip


def junk_value(stream: Stream) -> Any:
    drawn = stream.below(len(VALUES) + 2)
    value = (nested, huge)[drawn](stream) if drawn < 2 else stream.choice(VALUES[drawn - 2])
    return stream.choice((value, value, value, [value], {"a": value}))


def junk_call(world: ToolEnv, stream: Stream) -> Action:
    """A call that is wrong in some way, most often in its arguments."""
    if stream.chance(10):
        return {"tool": stream.choice(NAMES), "arguments": {"order_id": junk_value(stream)}}
    tool = stream.choice(list(world.world.toolbox))
    names: list[Any] = [n for n in tool.parameters["properties"] if stream.chance(85)]
    if stream.chance(40):
        names.append(stream.choice(KEYS))
    if stream.chance(10):
        names.append(stream.choice(ODD_KEYS))
    return {"tool": tool.name, "arguments": {name: junk_value(stream) for name in names}}


def make(task: str, **kwargs: Any) -> ToolEnv:
    env = gym.make("palaestra/Storefront-v0", task=task, max_turns=10 * CALLS, **kwargs).unwrapped
    assert isinstance(env, ToolEnv)
    env.reset(seed=0)
    return env


@pytest.mark.parametrize("seed", range(10))
def test_a_junk_call_is_answered_in_json_logged_and_leaves_the_rows(seed: int) -> None:
    env = make(TASKS[seed % len(TASKS)])
    stream = Stream.root("fuzz", seed)
    for number in range(1, CALLS + 1):
        if env.end is not None:  # `finish` with no argument is no junk
            env.reset(seed=0)
        before, logged, action = env.state_hash(), len(env.events), junk_call(env, stream)
        [message], _, _, _, info = env.step(action)
        [event] = info["events"]
        answer = json.loads(message["content"])
        assert len(env.events) == logged + 1
        assert event.error is None or event.error in REFUSALS
        assert (event.error is None) == event.executed == ("error" not in answer)
        if event.error is not None:
            assert (answer["error"]["code"], env.state_hash(), event.written) == (event.error, before, 0)
            assert len(message["content"]) < 5_000
        if number % 50 == 0:
            assert env.digest() == env.fork().digest()
            assert pickle.loads(pickle.dumps(env.snapshot())) == env.snapshot()


GET = '{"name": "get_order", "arguments": {"order_id": VALUE}}'
FINISH = '{"name": "finish", "arguments": {"answer": {"total": VALUE}}}'
REPLY = '{"name": "reply", "arguments": "VALUE"}'
TEXTS: tuple[str, ...] = (
    "", " ", "\x00", "\ud800", "<tool_call>", "</tool_call>", "<think>", "```json\n", "{", "[", "[]", "[[]]", "null",
    "1e999", "-1", '"finish"', "[1, 2]", '{"tool": 1}', '{"tool": "get_order", "arguments": 1}', "é" * 100_000,
    "[" * 10, "[" * 1_100, "[" * 100_000, '{"a":' * 2_000 + "1" + "}" * 2_000,
    *(GET.replace("VALUE", v) for v in ("1e400", '"\\ud800"', "NaN", "9" * 30, '"a', "[" * 500 + "]" * 500)),
    *(FINISH.replace("VALUE", v) for v in ("[]", "1.5", "99999999999999999999", "{}")),
    *(REPLY.replace("VALUE", v) for v in ("{", "1", '{\\"message\\": 1}', "\\ud83d")),
)  # fmt: skip
WRAPS: tuple[Callable[[str], str], ...] = (
    lambda t: t,
    lambda t: f"<tool_call>{t}</tool_call>",
    lambda t: f"<think>{t}</think>",
    lambda t: f"I refunded it.\n<tool_call>\n{t}",
)


class JunkWriter:
    """Writes text that is wrong in some way."""

    def reset(self, tools: Sequence[JsonSchema], *, seed: int) -> None:
        del tools
        self._stream = Stream.root("junk writer", seed)

    def act(self, messages: Sequence[Message]) -> Action:
        del messages
        return self._stream.choice(WRAPS)(self._stream.choice(TEXTS))


@pytest.mark.parametrize("action_format", list(FORMATS))
def test_junk_text_writes_nothing_and_its_episode_is_kept_whole(action_format: str) -> None:
    for seed in range(40):
        env = make(TASKS[seed % len(TASKS)], action_format=action_format)
        episode = rollout(env, JunkWriter(), name="junk", seed=seed)
        assert episode.end is not None
        assert episode.valid_for_baseline
        assert (episode.score.passed, [t.changes for t in episode.turns if t.changes]) == (False, [])
        assert json.loads(dump_episode(episode))["agent"] == "junk"
        assert len(episode.digest()) == 32


def test_an_episode_of_junk_calls_is_kept_whole() -> None:
    class JunkCaller(JunkWriter):
        def act(self, messages: Sequence[Message]) -> Action:
            return junk_call(env, self._stream)

    for seed in range(10):
        env = make(TASKS[seed % len(TASKS)])
        episode = rollout(env, JunkCaller(), name="junk", seed=seed)
        assert json.loads(dump_episode(episode))["env_id"] == "palaestra/Storefront-v0"
        assert violations(env.state, env.instance.start.date()) == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"order_id": "\ud800"}, "order_id: Input should be a valid string"),
        ({"order_id": "ORD-1001", "__proto__": {}}, "__proto__: Extra inputs are not permitted"),
        ({"order_id": 10**5000}, "a int too large to show"),
        ({"order_id": "x" * 5_000}, "String should have at most 4000 characters"),
        ({}, "order_id: Field required"),
    ],
)
def test_a_refusal_of_junk_says_what_is_wrong_with_it(arguments: dict[str, Any], says: str) -> None:
    env = make(TASKS[0])
    [message], *_ = env.step({"tool": "get_order", "arguments": arguments})
    error = json.loads(message["content"])["error"]
    assert error["code"] == "invalid_arguments"
    assert says in error["message"]


def test_an_integer_that_json_does_not_carry_is_refused_wherever_it_stands() -> None:
    env = make(TASKS[0])
    for tool, arguments in (
        ("search_products", {"max_price_cents": 2**63}),
        ("finish", {"answer": {"total": -(2**63) - 1}}),
    ):
        [message], *_, info = env.step({"tool": tool, "arguments": arguments})
        assert "an integer has at most 64 bits" in message["content"]
        assert info["end"] is None
        assert not env.action_space.contains({"tool": tool, "arguments": arguments})
