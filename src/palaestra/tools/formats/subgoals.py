"""The subgoals of a demonstration: the purpose of an oracle's calls, in a few words."""

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
"""The first words of commands in text games that explore."""


def subgoal_of(calls: Sequence[ToolCall], current: str | None = None) -> str:
    """The subgoal of a demonstrated turn. The rule is ours; none has been published.

    Consecutive turns that only look things up share one subgoal, `look up` and the object of the first: `look up
    order`. A turn that acts has a subgoal named after its tool, `cancel order`, which continues as long as the tool is
    the same. So a subgoal ends when looking up changes to acting, when acting changes to looking up, and when another
    action follows. The first word of a tool's name decides whether it looks up or acts.

    A call whose only argument is a `command` is judged by that text, as in text games: consecutive turns that go
    somewhere, open or look have the subgoal `look around`, and `take potato 1 from sinkbasin 1` has `take potato`.

    Args:
        calls: The calls of the turn; the first one that acts counts, otherwise the first. Without calls, the turn is a
            message.
        current: The previous subgoal.
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
    """The words of a call: the first words of its tool's name, or of its command."""
    command = call.arguments.get("command")
    if not isinstance(command, str) or len(call.arguments) > 1:
        return [word.lower() for word in _WORD.findall(call.tool)[:_MOST_WORDS]]
    begun = _COMMAND.match(command.lower())
    words = begun[0].split()[:_MOST_WORDS] if begun else []
    return _LOOK_AROUND if words and words[0] in _MOVING else words
