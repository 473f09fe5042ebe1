"""An agent that makes a call again when the world says that it could not take it just now."""

import re
from collections.abc import Sequence
from typing import Any, cast

import orjson

from palaestra.protocols import Action, Agent
from palaestra.records import JsonSchema, Message
from palaestra.tools import read_action

TRANSIENT = frozenset({"unavailable", "rate_limited"})
"""The codes of refusals that ask for patience."""
_ALERT = re.compile(rf"(?m)(?:^\s*|\balert\W{{1,12}})(?:{'|'.join(sorted(TRANSIENT))}): ")
"""How pages tell of such a refusal, in each of their dialects."""


class PatientAgent:
    """Lets another agent act, and repeats for it whatever was refused only for the moment.

    The other agent sees the answers of a turn once all of its calls have gone through, without the refusals. It knows
    nothing but messages, as any agent.

    Args:
        agent: Who acts.
    """

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._last: Action = []
        self._read: list[Message] = []

    def reset(self, tools: Sequence[JsonSchema], *, seed: int) -> None:
        """A new episode begins."""
        self._agent.reset(tools, seed=seed)
        self._last = []
        self._read = []

    def act(self, messages: Sequence[Message]) -> Action:
        """The calls that were refused for the moment, again; otherwise what the other agent does next."""
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
    """The calls of an action at these positions, with their ids; text and a single call are one piece."""
    said = read_action(action)
    if len(said.calls) < 2:
        return action
    ids = said.ids or ("",) * len(said.calls)
    return [
        {"tool": call.tool, "arguments": dict(call.arguments), **({"id": ids[position]} if ids[position] else {})}
        for position, call in ((position, said.calls[position]) for position in positions)
    ]


def _for_the_moment(message: Message) -> bool:
    """Whether a message says that a call was refused only for the moment."""
    if message["role"] != "tool":
        return False
    try:
        body: Any = orjson.loads(message["content"])
    except orjson.JSONDecodeError:  # a page
        return _ALERT.search(message["content"]) is not None
    error: Any = cast("dict[str, Any]", body).get("error") if isinstance(body, dict) else None
    return isinstance(error, dict) and cast("dict[str, Any]", error).get("code") in TRANSIENT
