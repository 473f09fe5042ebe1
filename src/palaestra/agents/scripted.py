"""Agents that follow a script: the oracle, and the baselines of rewards."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from palaestra.errors import TaskError
from palaestra.protocols import Action
from palaestra.records import JsonSchema, Message, ToolCall
from palaestra.seeding import Stream


class ScriptedAgent:
    """Takes the given actions in order, then finishes.

    Args:
        actions: Returns the actions, turn by turn; called for each episode.
    """

    def __init__(self, actions: Callable[[], Iterable[Action]]) -> None:
        self._make = actions

    def reset(self, tools: Sequence[JsonSchema], *, seed: int) -> None:
        """Begin a new episode."""
        del tools, seed
        self._actions = iter(self._make())

    def act(self, messages: Sequence[Message]) -> Action:
        """The next action of the script."""
        del messages
        return next(self._actions, FINISH)


FINISH: Action = {"tool": "finish", "arguments": {}}


def as_action(turn: ToolCall | Action) -> Action:
    """A turn as an action: a single call becomes a turn, and an action stays unchanged."""
    return {"tool": turn.tool, "arguments": dict(turn.arguments)} if isinstance(turn, ToolCall) else turn


def oracle(solution: Callable[[], Sequence[ToolCall | Action] | None]) -> ScriptedAgent:
    """An agent that plays a task's own solution, given by a trusted caller.

    Args:
        solution: Returns the turns: calls for worlds of Palaestra, actions for benchmarks. `None` if a benchmark has
            none; the episode then starts with a `TaskError`.
    """

    def actions() -> list[Action]:
        turns = solution()
        if turns is None:
            raise TaskError("the task has no solution of its own; take tasks that have one, or a file of episodes")
        return [as_action(turn) for turn in turns]

    return ScriptedAgent(actions)


def no_op() -> ScriptedAgent:
    """An agent whose turns hold no call, until the episode is truncated."""
    return ScriptedAgent(lambda: itertools.repeat([]))


def finish_at_once() -> ScriptedAgent:
    """An agent that finishes at once without any work."""
    return ScriptedAgent(lambda: [FINISH])


class SchemaRandom:
    """Makes the calls that `sample` draws: they fit their schemas, but their ids mostly do not exist.

    Args:
        sample: Draws an action; `env.action_space.sample` is one.
        reseed: Seeds `sample` for an episode; `env.action_space.seed` is one.
    """

    def __init__(self, sample: Callable[[], Action], reseed: Callable[[int], object]) -> None:
        self._sample = sample
        self._reseed = reseed

    def reset(self, tools: Sequence[JsonSchema], *, seed: int) -> None:
        """Begin a new episode."""
        del tools
        self._reseed(seed)

    def act(self, messages: Sequence[Message]) -> Action:
        """A random call."""
        del messages
        return self._sample()


class LegalDraws(Protocol):
    """Draws actions that are valid in the current state of an episode."""

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
"""Maximum calls of a turn."""
_ENOUGH = 400
"""Maximum look-ups of an episode."""


class ReadOnlyAgent:
    """Looks up everything that it can and changes nothing: its score is what a rubric pays for reading alone.

    Args:
        lookups: Returns the look-ups that a text makes possible, with the ids that it names; one with several calls is
            a list of them. A trusted caller provides it, since schemas state neither which tools only read nor which
            words are ids.
    """

    def __init__(self, lookups: Callable[[str], Sequence[Action]]) -> None:
        self._lookups = lookups

    def reset(self, tools: Sequence[JsonSchema], *, seed: int) -> None:
        """Begin a new episode."""
        del tools, seed
        self._made: set[str] = set()
        self._left: list[Any] = []

    def act(self, messages: Sequence[Message]) -> Action:
        """Look up new ids; finish if there are none, or after too many look-ups."""
        for lookup in (found for message in messages for found in self._lookups(message["content"])):
            if repr(lookup) not in self._made and len(self._made) < _ENOUGH:
                self._made.add(repr(lookup))
                self._left += lookup if isinstance(lookup, list) else [lookup]
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
        """Begin a new episode."""
        del tools
        self._stream = Stream.root("junk", seed)

    def act(self, messages: Sequence[Message]) -> Action:
        """An unreadable text."""
        del messages
        return self._stream.choice(_JUNK)


class AlwaysRefuse:
    """Declines every request for a guessed reason, and apologises.

    Args:
        refusals: Returns the calls that refuse a request. A trusted caller provides it, since schemas do not state
            which tool closes a case.
    """

    def __init__(self, refusals: Callable[[Sequence[Message], Stream], Sequence[Action]]) -> None:
        self._refusals = refusals

    def reset(self, tools: Sequence[JsonSchema], *, seed: int) -> None:
        """Begin a new episode."""
        del tools
        self._stream = Stream.root("refuse", seed)
        self._plan: list[Action] | None = None

    def act(self, messages: Sequence[Message]) -> Action:
        """Decline, apologise, finish."""
        if self._plan is None:
            self._plan = [*self._refusals(messages, self._stream), _SORRY, FINISH]
        return self._plan.pop(0) if self._plan else FINISH


_SORRY = "I am very sorry, but we cannot do that."
