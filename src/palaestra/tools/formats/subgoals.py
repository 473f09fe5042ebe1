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


def subgoal_of(calls: Sequence[ToolCall], current: str | None = None) -> str:
    """The subgoal of a demonstrated turn. The rule is ours; nobody has published one.

    Turns in a row that only look things up serve one subgoal, `look up` and what the first of them asks for: `look up
    order`. A turn that does something serves one that is called as the tool is, `cancel order`, and goes on for as long
    as the tool is the same. So a subgoal ends where looking turns into doing, where doing turns into looking, and where
    something else is done. Whether a tool looks or does is told by the first word of its name.

    Args:
        calls: The turn's; the first that does something counts, or else the first. Without any, something is said.
        current: The subgoal until now.
    """
    named = [[word.lower() for word in _WORD.findall(call.tool)[:_MOST_WORDS]] for call in calls]
    doing = next((words for words in named if words and words[0] not in _LOOKING), None)
    if doing is not None:
        return " ".join(doing)
    looking = next(filter(None, named), None)
    if looking is None:
        return "call" if calls else "reply"
    if current is not None and current.startswith(_LOOK_UP):
        return current
    return " ".join([_LOOK_UP, *looking[1:]])
