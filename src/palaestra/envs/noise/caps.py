"""Lists that end early and do not say so."""

from palaestra.envs.noise.answer import ToolAnswer
from palaestra.records import Json

ROWS = 10
"""The most rows that a list holds."""
TOTALS = frozenset({"next_cursor", "cursor", "has_more", "more", "total", "count"})
"""What would tell that there are more."""


def cap_answer(answer: ToolAnswer) -> ToolAnswer:
    """`answer` with short lists, and without what tells how long they were."""
    if not isinstance(answer.body, dict):
        return answer
    long = {name: entries[:ROWS] for name, entries in answer.entries() if len(entries) > ROWS}
    lists = {name for name, value in answer.body.items() if isinstance(value, list)}
    if not long and (not lists or TOTALS.isdisjoint(answer.body)):
        return answer
    body: dict[str, Json] = {
        name: list(long[name]) if name in long else value
        for name, value in answer.body.items()
        if name not in TOTALS or not lists
    }
    return answer.without(body)
