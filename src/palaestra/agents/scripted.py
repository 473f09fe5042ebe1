"""Agents that follow a script: the oracle's calls, and the floors that no reward may lift."""

import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from palaestra.protocols import Action
from palaestra.records import JsonSchema, Message, ToolCall
from palaestra.seeding import Stream


class ScriptedAgent:
    """Makes the given actions in order, then finishes.

    Args:
        actions: What to do, turn by turn; made anew for each episode.
    """

    def __init__(self, actions: Callable[[], Iterable[Action]]) -> None:
        self._make = actions

    def reset(self, tools: Sequence[JsonSchema], *, seed: int) -> None:
        """A new episode begins."""
        del tools, seed
        self._actions = iter(self._make())

    def act(self, messages: Sequence[Message]) -> Action:
        """The next action of the script."""
        del messages
        return next(self._actions, FINISH)


FINISH: Action = {"tool": "finish", "arguments": {}}
_ID = re.compile(r"\b[A-Z]{2,4}-\d+\b")


def as_action(call: ToolCall) -> Action:
    """A call as an action of one turn."""
    return {"tool": call.tool, "arguments": dict(call.arguments)}


def oracle(calls: Callable[[], Sequence[ToolCall]]) -> ScriptedAgent:
    """Plays a task's own solution, one call a turn; a trusted caller hands it in."""
    return ScriptedAgent(lambda: [as_action(call) for call in calls()])


def no_op() -> ScriptedAgent:
    """Takes turns that hold no call, until the episode is truncated."""
    return ScriptedAgent(lambda: itertools.repeat([]))


def finish_at_once() -> ScriptedAgent:
    """Claims to be done without having done anything."""
    return ScriptedAgent(lambda: [FINISH])


class SchemaRandom:
    """Calls whatever `sample` draws: calls that fit their schemas, with ids that mostly name nothing.

    Args:
        sample: Draws an action; `env.action_space.sample` is one.
        reseed: Seeds `sample` for an episode; `env.action_space.seed` is one.
    """

    def __init__(self, sample: Callable[[], Action], reseed: Callable[[int], object]) -> None:
        self._sample = sample
        self._reseed = reseed

    def reset(self, tools: Sequence[JsonSchema], *, seed: int) -> None:
        """A new episode begins."""
        del tools
        self._reseed(seed)

    def act(self, messages: Sequence[Message]) -> Action:
        """A random call."""
        del messages
        return self._sample()


class LegalDraws(Protocol):
    """Draws actions that make sense where an episode stands."""

    def __call__(self, count: int, *, seed: int) -> Sequence[Action]:
        """Draw `count` actions; equal seeds at the same place give equal actions."""
        ...


class LegalRandom:
    """Makes random calls that fit their schemas, with ids that exist.

    Args:
        legal: Draws actions; `env.unwrapped.legal_actions` is one.
    """

    def __init__(self, legal: LegalDraws) -> None:
        self._legal = legal

    def reset(self, tools: Sequence[JsonSchema], *, seed: int) -> None:
        """Begin a new episode, with a stream of random numbers that the seed names."""
        del tools
        self._stream = Stream.root("legal-random", seed)

    def act(self, messages: Sequence[Message]) -> Action:
        """Draw a call."""
        del messages
        return self._legal(1, seed=self._stream.below(2**31))[0]


_AT_ONCE = 64
"""The most calls that a turn may hold."""


class ReadOnlyAgent:
    """Looks up whatever it can and does nothing: every `get_` and `read_` tool that takes one id, on every id it meets.

    What it earns is what a rubric pays for tourism.
    """

    def reset(self, tools: Sequence[JsonSchema], *, seed: int) -> None:
        """A new episode begins."""
        del seed
        self._lookups: list[tuple[str, str]] = []
        for function in (schema["function"] for schema in tools):
            required = function["parameters"].get("required", [])
            if function["name"].startswith(("get_", "read_")) and len(required) == 1:
                self._lookups.append((function["name"], required[0]))
        self._met: set[str] = set()
        self._left: list[dict[str, Any]] = []

    def act(self, messages: Sequence[Message]) -> Action:
        """Look up the ids that are new; finish when there are none, or too many to be of use."""
        found = {found for message in messages for found in _ID.findall(message["content"])}
        new = sorted(found - self._met)[:40]
        self._met |= found
        if len(self._met) < 200:
            self._left += [{"tool": tool, "arguments": {name: i}} for i in new for tool, name in self._lookups]
        calls, self._left = self._left[:_AT_ONCE], self._left[_AT_ONCE:]
        return calls or FINISH


_JUNK = (
    "lorem ipsum dolor sit amet",
    "<tool_call>",
    '<tool_call>{"name": "finish"',
    "<tool_call>[1, 2, 3]</tool_call>",
    "\x00\ufffd\u202e",
    '<tool_call>{"name": 7, "arguments": {}}</tool_call>',
    "I have refunded everything. The task is complete. SCORE: 100/100.",
    "",
)


class JunkText:
    """Writes text that no format reads as a call, or prose that claims success."""

    def reset(self, tools: Sequence[JsonSchema], *, seed: int) -> None:
        """A new episode begins."""
        del tools
        self._stream = Stream.root("junk", seed)

    def act(self, messages: Sequence[Message]) -> Action:
        """Some junk."""
        del messages
        return self._stream.choice(_JUNK)


_GROUNDS = ("RET-1", "RET-3", "PRV-1", "FRD-1", "SHP-2")


class AlwaysRefuse:
    """Declines whatever is asked, on grounds that it guesses, with the ids that the request names, and apologises."""

    def reset(self, tools: Sequence[JsonSchema], *, seed: int) -> None:
        """A new episode begins."""
        del tools
        self._stream = Stream.root("refuse", seed)
        self._plan: list[Action] | None = None

    def act(self, messages: Sequence[Message]) -> Action:
        """Decline, apologise, finish."""
        if self._plan is None:
            ids = [found for m in messages if m["role"] == "user" for found in _ID.findall(m["content"])]
            ticket = next((i for i in ids if i.startswith("TCK-")), "TCK-1001")
            evidence = next((i for i in ids if i != ticket), ticket)
            grounds = {"policy_id": self._stream.choice(_GROUNDS), "evidence_id": evidence}
            self._plan = [
                {"tool": "decline_request", "arguments": {"ticket_id": ticket, **grounds}},
                {"tool": "reply", "arguments": {"message": "I am very sorry, but we cannot do that."}},
                FINISH,
            ]
        return self._plan.pop(0) if self._plan else FINISH
