"""The subgoals of a demonstration: what an oracle's calls work towards, in a few words."""

import re
from collections.abc import Sequence

from palaestra.records import ToolCall

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_MOST_WORDS = 4
_LOOK_UP = "look up"
_LOOKING = frozenset({
    "aggregate", "check", "compare", "compute", "count", "describe", "fetch", "find", "get", "inspect", "list", "look",
    "lookup", "query", "quote", "read", "search", "show", "track", "traverse", "view",
})  # fmt: skip
_COMMAND = re.compile(r"[a-z]+(?: [a-z]+)*")
_LOOK_AROUND = ["look", "around"]
_MOVING = frozenset({"close", "enter", "examine", "go", "inventory", "look", "open"})
"""How commands of text games begin that lead to where something can be seen."""


def subgoal_of(calls: Sequence[ToolCall], current: str | None = None) -> str:
    """The subgoal of a demonstrated turn. The rule is ours; nobody has published one.

    Turns in a row that only look things up serve one subgoal, `look up` and what the first of them asks for: `look up
    order`. A turn that does something serves one that is called as the tool is, `cancel order`, and goes on for as long
    as the tool is the same. So a subgoal ends where looking turns into doing, where doing turns into looking, and where
    something else is done. Whether a tool looks or does is told by the first word of its name.

    A call whose one argument is a `command` is told by that text, as text games have it: turns in a row that go
    somewhere, open or look serve `look around`, and `take potato 1 from sinkbasin 1` serves `take potato`.

    Args:
        calls: The turn's; the first that does something counts, or else the first. Without any, something is said.
        current: The subgoal until now.
    """
    named = [_words(call) for call in calls]
    doing = next((words for words in named if words and words[0] not in _LOOKING), None)
    if doing is not None:
        return " ".join(doing)
    looking = next(filter(None, named), None)
    if looking is None:
        return "call" if calls else "reply"
    if looking == _LOOK_AROUND:
        return " ".join(looking)
    if current is not None and current.startswith(_LOOK_UP):
        return current
    return " ".join([_LOOK_UP, *looking[1:]])


def _words(call: ToolCall) -> list[str]:
    """What a call does: the first words of its tool's name, or of the command that it gives."""
    command = call.arguments.get("command")
    if not isinstance(command, str) or len(call.arguments) > 1:
        return [word.lower() for word in _WORD.findall(call.tool)[:_MOST_WORDS]]
    begun = _COMMAND.match(command.lower())
    words = begun[0].split()[:_MOST_WORDS] if begun else []
    return _LOOK_AROUND if words and words[0] in _MOVING else words
