"""A world that is read through SQL: every read of a tool is a query, and the projection follows every write."""

from typing import Any

from palaestra.envs.state import Overlay, SqlProjection
from palaestra.protocols import R
from palaestra.records import Json, Row


class SqlState:
    """Rows that only the SQL projection answers; the journal keeps it in step. It implements `protocols.State`.

    Args:
        overlay: Receives the writes; all reads use the projection.
    """

    def __init__(self, overlay: Overlay) -> None:
        self._overlay = overlay
        self._rows = SqlProjection(overlay)

    def peek(self, kind: type[R], key: str) -> R | None:
        """The row under `key`, or `None`."""
        return self._rows.peek(kind, key)

    def get(self, kind: type[R], key: str) -> R:
        """The row under `key`; `RowMissingError` where there is none."""
        return self._rows.get(kind, key)

    def find(self, kind: type[R], /, **equal: Json) -> list[R]:
        """The rows whose columns equal all of `equal`, ordered by key."""
        return self._rows.find(kind, **equal)

    def search(self, kind: type[R], text: str) -> list[R]:
        """The rows whose searchable columns hold every word of `text`, ordered by key."""
        return self._rows.search(kind, text)

    def insert(self, row: R) -> R:
        """Add a row."""
        self._overlay.insert(row)
        self._rows.sync(self._overlay)
        return row

    def update(self, row: R, /, **changes: Any) -> R:
        """Replace columns of an existing row and return the new row."""
        new = self._overlay.update(row, **changes)
        self._rows.sync(self._overlay)
        return new

    def delete(self, row: Row) -> None:
        """Remove an existing row."""
        self._overlay.delete(row)
        self._rows.sync(self._overlay)

    def next_id(self, kind: type[Row]) -> str:
        """An id that no row of this kind has had, in this episode or before."""
        return self._overlay.next_id(kind)

    def close(self) -> None:
        """Close the database."""
        self._rows.close()
