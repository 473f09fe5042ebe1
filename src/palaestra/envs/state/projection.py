"""The rows as SQL tables: what answers queries, and the reference that the overlay is tested against.

Built from the same schema through SQLAlchemy and kept in step by the journal, so that following a world costs what
was written in it. Whoever queries it can only read.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy.pool import StaticPool

from palaestra.envs.state.base import row_words, words_of
from palaestra.envs.state.overlay import Overlay
from palaestra.errors import DefinitionError, RowMissingError
from palaestra.protocols import R
from palaestra.records import Json, Row, RowChange


class SqlProjection:
    """A read-only SQL view of an overlay. It implements `palaestra.protocols.StateView`.

    Args:
        overlay: The rows to follow; `sync` again after they changed.
    """

    def __init__(self, overlay: Overlay) -> None:
        self._schema = overlay.base.schema
        self._engine = sa.create_engine("sqlite://", poolclass=StaticPool)
        self._applied: list[RowChange] = []
        settled = overlay.fork()
        settled.rollback(0)
        self._load(settled)
        self.sync(overlay)

    def _load(self, settled: Overlay) -> None:
        with self._engine.begin() as connection:
            self._schema.metadata.create_all(connection)
            for info in self._schema:
                if info.searchable:
                    # One text column: FTS5 reserves names, such as "rank", that a world may want for its own.
                    # `words_of` has folded them; the ascii tokenizer adds no folding of its own.
                    connection.exec_driver_sql(
                        f"CREATE VIRTUAL TABLE {info.name}_words USING fts5(id UNINDEXED, words, tokenize = 'ascii')"
                    )
            for info in self._schema:
                for row in settled.find(info.kind):
                    self._put(connection, row)

    def sync(self, overlay: Overlay) -> None:
        """Follow `overlay`, or a fork of it, to where it stands now: undo what it has not done, do what it has."""
        shared = 0
        for mine, theirs in zip(self._applied, overlay.journal, strict=False):
            if mine is not theirs:
                break
            shared += 1
        with self._engine.begin() as connection:
            for change in reversed(self._applied[shared:]):
                self._move(connection, change.table, change.key, change.before)
            for change in overlay.journal[shared:]:
                self._move(connection, change.table, change.key, change.after)
        self._applied = list(overlay.journal)

    def query(self, statement: str | sa.Select[Any], **parameters: Json) -> list[dict[str, Any]]:
        """The rows that a SELECT gives. Anything that would write is refused by the database.

        Raises:
            sqlalchemy.exc.SQLAlchemyError: the statement is wrong, or tries to write.
        """
        compiled = sa.text(statement) if isinstance(statement, str) else statement
        with self._engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA query_only = ON")
            try:
                return [dict(m) for m in connection.execute(compiled, parameters).mappings()]
            finally:
                connection.rollback()
                connection.exec_driver_sql("PRAGMA query_only = OFF")

    def close(self) -> None:
        """Let the database go."""
        self._engine.dispose()

    # StateView

    def peek(self, kind: type[R], key: str) -> R | None:
        """The row under `key`, or `None`."""
        table = self._schema.sql_table(kind.table)
        rows = self._rows(kind, sa.select(table).where(table.c.id == key))
        return rows[0] if rows else None

    def get(self, kind: type[R], key: str) -> R:
        """The row under `key`; `RowMissingError` where there is none."""
        row = self.peek(kind, key)
        if row is None:
            raise RowMissingError.of(kind.__name__, key)
        return row

    def find(self, kind: type[R], /, **equal: Json) -> list[R]:
        """The rows whose columns equal all of `equal`, ordered by key."""
        table = self._schema.sql_table(kind.table)
        same = [table.c[c].is_(None) if v is None else table.c[c] == v for c, v in equal.items()]
        return self._rows(kind, sa.select(table).where(*same).order_by(table.c.id))

    def search(self, kind: type[R], text: str) -> list[R]:
        """The rows whose searchable columns hold every word of `text`, ordered by key."""
        if not self._schema[kind.table].searchable:
            raise DefinitionError(f"{kind.table} has no Searchable column, so it cannot be searched")
        words = words_of(text)
        if not words:
            return []
        table = self._schema.sql_table(kind.table)
        match = " AND ".join(f'"{word}"' for word in words)
        statement = sa.text(f"SELECT id FROM {kind.table}_words WHERE {kind.table}_words MATCH :match")  # noqa: S608
        keys = [r["id"] for r in self.query(cast("Any", statement), match=match)]
        chosen = sa.select(table).where(table.c.id.in_(keys))
        return self._rows(kind, chosen.order_by(table.c.id))

    def _rows(self, kind: type[R], statement: sa.Select[Any]) -> list[R]:
        return [_row(kind, values) for values in self.query(statement)]

    # Following the journal

    def _move(self, connection: sa.Connection, table: str, key: str, row: Row | None) -> None:
        info = self._schema[table]
        sql = self._schema.sql_table(table)
        connection.execute(sql.delete().where(sql.c.id == key))
        if info.searchable:
            connection.execute(sa.text(f"DELETE FROM {table}_words WHERE id = :id"), {"id": key})  # noqa: S608
        if row is not None:
            self._put(connection, row)

    def _put(self, connection: sa.Connection, row: Row) -> None:
        info = self._schema[row.table]
        values = {name: getattr(row, name) for name in info.columns}
        connection.execute(self._schema.sql_table(row.table).insert(), values)
        if info.searchable:
            words = " ".join(sorted(row_words(row, info.searchable)))
            statement = sa.text(f"INSERT INTO {row.table}_words (id, words) VALUES (:id, :words)")  # noqa: S608
            connection.execute(statement, {"id": row.id, "words": words})


def _row(kind: type[R], values: Mapping[str, Any]) -> R:
    # SQL gives a list back where a tuple went in; frozen arrays, which are lists of their own, stay.
    plain: dict[str, Any] = {k: tuple(cast("Sequence[Any]", v)) if type(v) is list else v for k, v in values.items()}
    return kind(**plain)
