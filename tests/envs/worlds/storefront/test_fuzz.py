"""Junk: whatever an agent sends, the world answers in JSON, in time, and keeps its rows."""

import json
import pickle
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import pytest

from corpus.actions import FOUND
from palaestra.agents import rollout
from palaestra.envs import ToolEnv
from palaestra.envs.worlds.storefront.invariants import violations
from palaestra.errors import ActionError
from palaestra.protocols import Action
from palaestra.records import JsonSchema, Message
from palaestra.seeding import Stream
from palaestra.tools import FORMATS
from palaestra.tools.formats.with_facts import SUFFIX
from palaestra.trajectory import dump_episode
from property.budget import FUZZ_CALLS, FUZZ_SHARDS
from property.deadline import within
from property.junk import junk_action, junk_call

# The bound on a turn is one on what a reader does, not on collections of what other tests left behind.
pytestmark = [pytest.mark.unmeasured, pytest.mark.usefixtures("light_collections")]

TASKS = (
    "storefront/cancel-order/0000",
    "storefront/lost-parcel/0003",
    "storefront/refund-over-limit/5000",
    "storefront/fix-build/0007",
    "storefront/third-party-request/7001",
)
READERS = tuple(name for name in FORMATS if not name.endswith(SUFFIX))
"""The formats that read turns each in its own way; one with facts reads them as the format without."""
TURNS = 150
"""Turns of one episode: enough for a log of some length, few enough that a log's length is not what is tested."""
SECONDS = 1.0
"""What one turn may take."""


def make(task: str, **kwargs: Any) -> ToolEnv:
    env = gym.make("palaestra/Storefront-v0", task=task, max_turns=TURNS, **kwargs).unwrapped
    assert isinstance(env, ToolEnv)
    env.reset(seed=0)
    return env


def standing(env: ToolEnv, *, whole: bool) -> tuple[object, ...]:
    """Where an episode stands; `whole` adds the digest, which reads the whole log."""
    episode = env.episode
    here = (env.state_hash(), len(env.journal), len(env.events), episode.turn, episode.clock.now, env.end)
    return (*here, env.digest()) if whole else here


def answer_to(env: ToolEnv, action: Any, *, whole: bool = True) -> str:
    """Play one turn, and hold what comes of it to the contract; what became of it, in a word."""
    rows, logged, before = env.state_hash(), len(env.events), standing(env, whole=whole)
    try:
        with within(SECONDS, action):
            observation, reward, *_, info = env.step(action)
    except ActionError as refusal:
        said = str(refusal)
        assert 0 < len(said) < 500
        assert standing(env, whole=whole) == before
        return "no action"
    events = info["events"]
    answers = [message for message in observation if message["role"] == "tool"]
    assert isinstance(reward, float)
    assert len(env.events) == logged + len(events)
    if info["unreadable"] is not None:
        assert (events, env.state_hash()) == ((), rows)
        assert json.loads(answers[0]["content"])["error"]["code"] == "unreadable"
        return "unreadable"
    if answers and answers[0].get("name") == "python":  # what code printed, or its error, answers all of its calls
        assert len(answers) == 1
        assert len(answers[0]["content"]) < 20_000
        assert all((event.executed, event.written) == (False, 0) for event in events if event.error is not None)
        if all(event.error is not None for event in events):
            assert env.state_hash() == rows
        return "code"
    assert len(answers) == len(events) >= 1
    for message, event in zip(answers, events, strict=True):
        answer = json.loads(message["content"])
        if event.error is None:
            assert event.executed
            assert "error" not in answer
        else:
            assert (event.executed, event.written) == (False, 0)
            assert answer["error"]["code"] == event.error
            assert event.error.replace("_", "").isalpha()
            assert 0 < len(answer["error"]["message"]) < 5_000
    if all(event.error is not None for event in events):
        assert env.state_hash() == rows
        return "refused"
    return "ran"


@pytest.mark.parametrize("shard", FUZZ_SHARDS)
def test_junk_is_refused_in_kind_and_in_time_and_leaves_the_rows(shard: int) -> None:
    action_format = READERS[shard % len(READERS)]
    env = make(TASKS[shard % len(TASKS)], action_format=action_format)
    stream = Stream.root("fuzz", shard)
    met: Counter[str] = Counter()
    for number in range(FUZZ_CALLS):
        if env.end is not None:
            env.reset(seed=number)
        met[answer_to(env, junk_action(env, action_format, stream), whole=number % 20 == 0)] += 1
        if number % 200 == 0:
            assert env.digest() == env.fork().digest()
            assert pickle.loads(pickle.dumps(env.snapshot())) == env.snapshot()
            assert violations(env.state, env.episode.clock.today, env.episode.context.rules) == []
    assert met.total() == FUZZ_CALLS
    # A fuzzer that meets one answer alone tests little.
    assert min(met[kind] for kind in ("no action", "unreadable", "refused", "ran")) > FUZZ_CALLS // 100


@pytest.mark.parametrize("action_format", READERS)
@pytest.mark.parametrize("found", list(FOUND))
def test_what_once_stopped_a_world_does_not_any_more(found: str, action_format: str) -> None:
    env = make(TASKS[0], action_format=action_format)
    assert answer_to(env, FOUND[found]()) != "ran"


def test_a_call_of_which_a_name_is_no_text_is_logged_and_answered_like_any_other() -> None:
    env = make(TASKS[0])
    assert answer_to(env, {"tool": "get_order", "arguments": {1: 2, None: 3}}) == "refused"
    [event] = env.events
    assert json.loads(json.dumps(event.arguments)) == event.arguments


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


LONG = "ab\\\"'=<>[]{}:,> \n\t`/"
REPEATED: tuple[str, ...] = (
    *(c for c in LONG), "<tool_call>", "</tool_call>", "<think>", "</think>", "```\n", "```json\n", '{"a":', "[{",
    "get_order ", "a=1 ", "get_order\n", '"\\u0041', "<PAID_CENTS.0>", "9", "1e9", "\ud800", "é",
)  # fmt: skip
"""What a pattern may go back and forth over."""


@pytest.mark.parametrize("action_format", READERS)
def test_no_text_keeps_a_reader_busy(action_format: str) -> None:
    read = FORMATS.get(action_format).parse
    for piece in REPEATED:
        for before in ("", "```json\n", "<tool_call>", 'get_order a="', "get_order a=", "get_order ", "> "):
            for after in ("", "x", "``", "```", "}", '"'):
                text = before + piece * (30_000 // len(piece)) + after
                with within(SECONDS, text):
                    read(text)


@pytest.mark.parametrize("action_format", READERS)
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
