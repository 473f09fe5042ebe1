"""Paged answers: at most ten rows, and a cursor where there are more."""

from collections.abc import Callable, Iterable, Sequence

from palaestra.errors import ToolRefusal
from palaestra.protocols import R
from palaestra.records import Json
from palaestra.tools import ToolContext

PAGE = 10
"""The most rows that one answer lists."""


def page(
    context: ToolContext,
    rows: Sequence[R],
    cursor: str | None,
    summary: Callable[[R], dict[str, Json]],
    *,
    asked: Iterable[str] = (),
) -> dict[str, Json]:
    """One page of `rows`, which are ordered by id, after the id `cursor`.

    Args:
        context: The world as the call sees it.
        rows: What is listed.
        cursor: Where the page begins; `None` for the first.
        summary: What an entry holds beside the id. A value under a column's name is that column's.
        asked: Columns whose value in these rows follows from what was asked for.

    Raises:
        ToolRefusal: the cursor is none that an earlier answer gave.
    """
    if cursor is not None and all(row.id != cursor for row in rows):
        raise ToolRefusal("bad_cursor", f"{cursor!r} is not the next_cursor of an earlier answer to this search")
    if cursor is not None:
        context.name(cursor)
    left = [row for row in rows if cursor is None or row.id > cursor]
    shown = left[:PAGE]
    context.mention(*(row.id for row in shown))
    entries = [summary(row) for row in shown]
    if shown:
        columns = type(shown[0]).__dataclass_fields__
        context.show_columns(shown, [name for name in (*entries[0], *asked) if name in columns])
    return {
        "results": [{"id": row.id, **entry} for row, entry in zip(shown, entries, strict=True)],
        "next_cursor": shown[-1].id if len(left) > PAGE else None,
    }
