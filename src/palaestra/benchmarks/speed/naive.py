"""The baseline: a world as plain dictionaries of rows, copied as a whole for each episode and searched row by row.

Many environments hold their data in this way. The same tool functions run on it. It keeps no journal, so it cannot undo
a refused call, and cannot be forked, hashed or compared.
"""

import copy
from collections.abc import Iterable
from dataclasses import replace
from operator import attrgetter
from typing import Any, cast

from palaestra.envs.state import Overlay, Schema
from palaestra.envs.state.base import row_words, words_of
from palaestra.envs.state.schema import number_of
from palaestra.errors import RowMissingError
from palaestra.protocols import R
from palaestra.records import Json, Row

Tables = dict[str, dict[str, Row]]


def tables_of(overlay: Overlay) -> Tables:
    """All rows of an overlay, by table and key."""
    return {info.name: {row.id: row for row in overlay.find(info.kind)} for info in overlay.base.schema}


class NaiveState:
    """Rows in dictionaries. It implements `palaestra.protocols.State`.

    Args:
        schema: The tables.
        tables: The rows; they are copied as a whole.
    """

    def __init__(self, schema: Schema, tables: Tables) -> None:
        self._schema = schema
        self._tables = copy.deepcopy(tables)
        self._last_numbers = {table: max(map(number_of, rows), default=0) for table, rows in tables.items()}

    def peek(self, kind: type[R], key: str) -> R | None:
        """The row under `key`, or `None`."""
        return cast("R | None", self._tables[kind.table].get(key))

    def get(self, kind: type[R], key: str) -> R:
        """The row under `key`; `RowMissingError` where there is none."""
        row = self.peek(kind, key)
        if row is None:
            raise RowMissingError.of(kind.__name__, key)
        return row

    def find(self, kind: type[R], /, **equal: Json) -> list[R]:
        """The rows whose columns equal all of `equal`, ordered by key."""
        asked = list(equal.items())
        rows = cast("Iterable[R]", self._tables[kind.table].values())
        found = [row for row in rows if all(getattr(row, name) == value for name, value in asked)]
        return sorted(found, key=attrgetter("id"))

    def search(self, kind: type[R], text: str) -> list[R]:
        """The rows whose searchable columns hold every word of `text`, ordered by key."""
        words, columns = set(words_of(text)), self._schema[kind.table].searchable
        return [row for row in self.find(kind) if words and words <= row_words(row, columns)]

    def insert(self, row: R) -> R:
        """Add a row."""
        self._tables[row.table][row.id] = row
        return row

    def update(self, row: R, /, **changes: Any) -> R:
        """Replace columns of a row and return the new row."""
        return self.insert(replace(row, **changes))

    def delete(self, row: Row) -> None:
        """Remove a row."""
        del self._tables[row.table][row.id]

    def next_id(self, kind: type[Row]) -> str:
        """An id that no row of this kind has."""
        self._last_numbers[kind.table] += 1
        return f"{kind.prefix}{self._last_numbers[kind.table]}"
