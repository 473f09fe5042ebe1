"""Paged answers: at most ten rows, and a cursor where there are more."""

from collections.abc import Callable, Sequence

from palaestra.errors import ToolRefusal
from palaestra.protocols import R
from palaestra.records import Json
from palaestra.tools import ToolContext

PAGE = 10
"""The most rows that one answer lists."""


def page(
    context: ToolContext, rows: Sequence[R], cursor: str | None, summary: Callable[[R], dict[str, Json]]
) -> dict[str, Json]:
    """One page of `rows`, which are ordered by id, after the id `cursor`.

    Raises:
        ToolRefusal: the cursor is none that an earlier answer gave.
    """
    if cursor is not None and all(row.id != cursor for row in rows):
        raise ToolRefusal("bad_cursor", f"{cursor!r} is not the next_cursor of an earlier answer to this search")
    left = [row for row in rows if cursor is None or row.id > cursor]
    shown = left[:PAGE]
    context.mention(*(row.id for row in shown))
    return {
        "results": [{"id": row.id, **summary(row)} for row in shown],
        "next_cursor": shown[-1].id if len(left) > PAGE else None,
    }
