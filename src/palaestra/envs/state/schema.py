"""A world's schema, declared once: its `Row` classes.

From the annotations of the rows come the SQLAlchemy tables of the projection, the foreign keys that make an id mean a
row, and the columns that full-text search reads. `columns` lists the types; `X | None` makes a column nullable. Money
is an `int` of cents, or a `Decimal`.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from operator import attrgetter
from typing import Any, get_type_hints

import sqlalchemy as sa

from palaestra.envs.state.columns import Column, column_of, row_seal
from palaestra.envs.state.sql_types import sql_column
from palaestra.errors import DefinitionError, UnknownNameError
from palaestra.records import Row

_NUMBER = re.compile(r"(\d+)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableInfo:
    """What the state engine knows of one table."""

    name: str
    kind: type[Row]
    columns: Mapping[str, Column]
    references: tuple[str, ...]
    """The columns that name rows of other tables."""
    identifiers: tuple[str, ...]
    """The columns that hold ids of no one table. Who sees a row whole knows them where the tool says so."""
    searchable: tuple[str, ...]
    ids: Callable[[Row], Any]
    """The row's own id and every id that it holds, `None` where a column is empty; a tuple, or the one id."""
    seal: Callable[[Row], Row] | None
    """Gives a row with every value in its one form, or raises `RowError`; `None` where no column needs it."""


class Schema:
    """The tables of one world.

    Args:
        kinds: The world's row classes: frozen, slotted, keyword-only dataclasses that set `table`.

    Raises:
        DefinitionError: a class, an annotation or a reference cannot be a table, a column or a foreign key.
    """

    def __init__(self, *kinds: type[Row]) -> None:
        self.tables: dict[str, TableInfo] = {}
        names = {kind.table for kind in kinds}
        for kind in kinds:
            if kind.table in self.tables:
                raise DefinitionError(f"two row classes share the table name {kind.table!r}; rename one")
            self.tables[kind.table] = _table(kind, names)

    @cached_property
    def metadata(self) -> sa.MetaData:
        """The SQLAlchemy tables, made when they are first asked for: most worlds are never projected."""
        metadata = sa.MetaData()
        for info in self.tables.values():
            sa.Table(info.name, metadata, *(sql_column(column) for column in info.columns.values()))
        return metadata

    def sql_table(self, table: str) -> sa.Table:
        """The SQLAlchemy table of a name."""
        return self.metadata.tables[table]

    def __iter__(self) -> Iterator[TableInfo]:
        return iter(self.tables.values())

    def __getitem__(self, table: str) -> TableInfo:
        try:
            return self.tables[table]
        except KeyError:
            raise UnknownNameError.of("table", table, self.tables) from None

    def ids_in(self, row: Row) -> list[str]:
        """The row's own id and every id that it holds: what whoever sees the row whole comes to know."""
        info = self.tables[row.table]
        return [i for i in info.ids(row) if i is not None] if info.references else [row.id]


def number_of(key: str) -> int:
    """The number that an id ends in, 0 where it ends in none."""
    match = _NUMBER.search(key)
    return int(match.group(1)) if match else 0


def _table(kind: type[Row], names: set[str]) -> TableInfo:
    hints = get_type_hints(kind, include_extras=True)
    columns = {f.name: column_of(kind, f.name, hints[f.name]) for f in fields(kind)}
    for column in columns.values():
        if column.references is not None and column.references not in names:
            raise DefinitionError(
                f"{kind.__name__}.{column.name} references the table {column.references!r}, "
                f"which the schema lacks; it has {', '.join(sorted(names))}"
            )
    references = tuple(c.name for c in columns.values() if c.references)
    return TableInfo(
        name=kind.table,
        kind=kind,
        columns=columns,
        references=references,
        identifiers=tuple(c.name for c in columns.values() if c.identifies),
        searchable=tuple(c.name for c in columns.values() if c.searchable),
        ids=attrgetter("id", *references),
        seal=row_seal(kind, columns),
    )
