"""An agent that repeats calls that the world refused temporarily."""

import re
from collections.abc import Sequence
from typing import Any, cast

import orjson

from palaestra.protocols import Action, Agent
from palaestra.records import JsonSchema, Message
from palaestra.tools import read_action

TRANSIENT = frozenset({"unavailable", "rate_limited"})
"""The codes of temporary refusals."""
_ALERT = re.compile(rf"(?m)(?:^\s*|\balert\W{{1,12}})(?:{'|'.join(sorted(TRANSIENT))}): ")
"""The texts of temporary refusals on pages, in each of their dialects."""


class PatientAgent:
    """Wraps another agent, and repeats calls that were refused temporarily.

    The other agent sees the answers of a turn once all of its calls have succeeded, without the refusals. Like any
    agent, it sees only messages.

    Args:
        agent: The other agent.
    """

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._last: Action = []
        self._read: list[Message] = []

    def reset(self, tools: Sequence[JsonSchema], *, seed: int) -> None:
        """Begin a new episode."""
        self._agent.reset(tools, seed=seed)
        self._last = []
        self._read = []

    def act(self, messages: Sequence[Message]) -> Action:
        """The temporarily refused calls again, otherwise the other agent's next action."""
        answers = [message for message in messages if message["role"] == "tool"]
        refused = [position for position, answer in enumerate(answers) if _for_the_moment(answer)]
        self._read += [message for message in messages if not _for_the_moment(message)]
        if refused:
            self._last = _parts(self._last, refused)
        else:
            self._last = self._agent.act(tuple(self._read))
            self._read = []
        return self._last


def _parts(action: Action, positions: Sequence[int]) -> Action:
    """The calls of an action at these positions, with their ids; a text or a single call has one position."""
    said = read_action(action)
    if len(said.calls) < 2:
        return action
    ids = said.ids or ("",) * len(said.calls)
    return [
        {"tool": call.tool, "arguments": dict(call.arguments), **({"id": ids[position]} if ids[position] else {})}
        for position, call in ((position, said.calls[position]) for position in positions)
    ]


def _for_the_moment(message: Message) -> bool:
    """Whether a message says that a call was refused temporarily."""
    if message["role"] != "tool":
        return False
    try:
        body: Any = orjson.loads(message["content"])
    except orjson.JSONDecodeError:  # a page
        return _ALERT.search(message["content"]) is not None
    error: Any = cast("dict[str, Any]", body).get("error") if isinstance(body, dict) else None
    return isinstance(error, dict) and cast("dict[str, Any]", error).get("code") in TRANSIENT
