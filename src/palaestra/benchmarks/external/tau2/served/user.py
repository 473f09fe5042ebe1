"""The scripted user: a stand-in for the model that plays the user in the official benchmark, and no match for it.

It opens with the scenario's own text. To a question it answers with those of its sentences that share the most words
with it. What the solution has the user do, it does in that order, one act a message, as soon as the agent has told
what the act takes and the scenario does not: a name to say, or a tool to give. It leaves when the agent has passed it
on to a person, or twice in a row has neither asked nor told it anything.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from palaestra.benchmarks.external.protocol import WireTurn

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_WORD = re.compile(r"[\w@#'.-]*\w")
_COMMON = frozenset(
    re.findall(
        r"\S+",
        "a about all am an and any are as at be by can could did do does for from had has have help how i if in is it "
        "its me my need not of on or our please so than that the their them then there they this to us want was we "
        "were what when which who will with would you your",
    )
)
_SHOWN = 2
"""Sentences of an answer."""
PREFACE = (
    "(This user is scripted. What follows are the user's own notes, in the second person; the user acts by them only "
    "where a script can.)"
)
_NO_MORE = "I have told you all I know about that. Please do as you think right, within your policy."
_ALL_DONE = "If everything that I asked for is done, or cannot be done, then that is all."
_GIVEN = "call_discoverable_user_tool"
TRANSFER = "transfer_to_human_agents"


class Tau2ScriptedUser:
    """One user.

    Args:
        scenario: The package's instructions for the user: fields, or text.
        acts: What the solution has the user do, in order. Any: the package's actions.
        can_call: Whether the user was given a tool of this name.
    """

    def __init__(self, scenario: Any, acts: Sequence[Any], can_call: Callable[[str], bool]) -> None:
        self.request = _describe(scenario)
        self._sentences = [part.strip() for part in _SENTENCE.split(self.request) if part.strip()]
        self._acts = list(acts)
        self._can_call = can_call
        self._quiet = False
        self._done = 0

    @property
    def position(self) -> list[Any]:
        """What decides how the user goes on. Any: JSON."""
        return [self._done, self._quiet]

    def act(self, words: str) -> Any | None:
        """What the user does upon the agent's words, if anything. Any: the package's action."""
        if self._done == len(self._acts):
            return None
        act = self._acts[self._done]
        if act.name == _GIVEN:
            ready = self._can_call(str(act.arguments.get("discoverable_tool_name")))
        else:
            ready = all(value.casefold() in words.casefold() for value in untold(act, self.request))
        if not ready:
            return None
        self._done += 1
        self._quiet = False
        return act

    def answer(self, words: str) -> str | None:
        """What the user says; `None` where the user leaves."""
        if "?" in words:
            self._quiet = False
            return self._answer(words)
        if self._quiet:
            return None
        self._quiet = True
        return _ALL_DONE

    def _answer(self, words: str) -> str:
        asked = _words(words)
        ranked = [(len(asked & _words(sentence)), -place) for place, sentence in enumerate(self._sentences)]
        best = sorted((pair for pair in ranked if pair[0]), reverse=True)[:_SHOWN]
        return " ".join(self._sentences[-place] for _, place in sorted(best, key=lambda p: -p[1])) or _NO_MORE


def untold(act: Any, request: str) -> list[str]:
    """The texts among an act's arguments that the user's own notes do not hold. Any: the package's action."""
    texts = [value for value in act.arguments.values() if isinstance(value, str)]
    return [value for value in texts if value and value.casefold() not in request.casefold()]


def prompting(act: Any, request: str) -> WireTurn:
    """Words upon which the user acts; a tool must have been given before."""
    told = ", ".join(untold(act, request)) if act.name != _GIVEN else ""
    return {"calls": [], "prose": f"Please go ahead: {told or json.dumps(act.name)}."}


def _describe(scenario: Any) -> str:
    """A scenario as the user's notes."""
    if isinstance(scenario, str):
        return scenario
    fields = ("reason_for_call", "known_info", "unknown_info", "task_instructions")
    parts = [getattr(scenario, field, None) for field in fields]
    return "\n\n".join(part for part in parts if part)


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold())) - _COMMON
