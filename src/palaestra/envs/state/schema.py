"""A world's schema, declared once: its `Row` classes.

From the annotations of the rows come the SQLAlchemy tables of the projection, the foreign keys that make an id mean a
row, and the columns that full-text search reads. A column is `str`, `int`, `bool`, `date`, `datetime`, a `Literal` of
strings or a `tuple[str, ...]`; `X | None` makes it nullable. Money is an `int` of cents.
"""

import re
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import date, datetime
from operator import attrgetter
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import sqlalchemy as sa

from palaestra.errors import DefinitionError, UnknownNameError
from palaestra.protocols import StateView
from palaestra.records import ANY_TABLE, References, Row, Searchable

_NUMBER = re.compile(r"(\d+)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a table, as its annotation declares it."""

    name: str
    type: type
    """`str`, `int`, `bool`, `date`, `datetime` or `tuple`."""
    choices: tuple[str, ...]
    """The only strings that it may hold; empty for any."""
    nullable: bool
    references: str | None
    """The table whose rows this column names."""
    identifies: bool
    """Whether it holds an id that no one table answers for, marked `References(ANY_TABLE)`: of a row of any table, or
    one from outside, such as a parcel's tracking number."""
    searchable: bool


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
    sql: sa.Table


class Schema:
    """The tables of one world.

    Args:
        kinds: The world's row classes: frozen, slotted, keyword-only dataclasses that set `table`.

    Raises:
        DefinitionError: a class, an annotation or a reference cannot be a table, a column or a foreign key.
    """

    def __init__(self, *kinds: type[Row]) -> None:
        self.metadata = sa.MetaData()
        self.tables: dict[str, TableInfo] = {}
        names = {kind.table for kind in kinds}
        for kind in kinds:
            if kind.table in self.tables:
                raise DefinitionError(f"two row classes share the table name {kind.table!r}; rename one")
            self.tables[kind.table] = _table(kind, names, self.metadata)

    def __iter__(self) -> Iterator[TableInfo]:
        return iter(self.tables.values())

    def __getitem__(self, table: str) -> TableInfo:
        try:
            return self.tables[table]
        except KeyError:
            raise UnknownNameError.of("table", table, self.tables) from None

    def has_row(self, state: StateView, key: str) -> bool:
        """Whether some table of `state` has a row of that id."""
        return any(state.peek(info.kind, key) is not None for info in self)

    def ids_in(self, row: Row) -> list[str]:
        """The row's own id and every id that it holds: what whoever sees the row whole comes to know."""
        info = self.tables[row.table]
        return [i for i in info.ids(row) if i is not None] if info.references else [row.id]


def number_of(key: str) -> int:
    """The number that an id ends in, 0 where it ends in none."""
    match = _NUMBER.search(key)
    return int(match.group(1)) if match else 0


def _table(kind: type[Row], names: set[str], metadata: sa.MetaData) -> TableInfo:
    hints = get_type_hints(kind, include_extras=True)
    columns = {f.name: _column(kind, f.name, hints[f.name]) for f in fields(kind)}
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
        sql=sa.Table(kind.table, metadata, *(_sql_column(c) for c in columns.values())),
    )


def _column(kind: type[Row], name: str, hint: Any) -> Column:
    marks: list[Any] = []
    nullable = False
    while True:
        origin = get_origin(hint)
        if origin is Annotated:
            hint, *found = get_args(hint)
            marks += found
        elif origin in (Union, types.UnionType):
            options = [a for a in get_args(hint) if a is not type(None)]
            nullable = True
            if len(options) != 1:
                raise DefinitionError(f"{kind.__name__}.{name}: a column has one type, not {hint}")
            hint = options[0]
        else:
            break
    choices = get_args(hint) if get_origin(hint) is Literal else ()
    named = next((m.table for m in marks if isinstance(m, References)), None)
    return Column(
        name=name,
        type=_column_type(kind, name, hint),
        choices=choices,
        nullable=nullable,
        references=None if named == ANY_TABLE else named,
        identifies=named == ANY_TABLE,
        searchable=any(isinstance(m, Searchable) for m in marks),
    )


def _column_type(kind: type[Row], name: str, hint: Any) -> type:
    if isinstance(hint, type) and hint in (str, int, bool, date, datetime):
        return hint
    if get_origin(hint) is Literal and all(isinstance(v, str) for v in get_args(hint)):
        return str
    if get_origin(hint) is tuple and get_args(hint) == (str, ...):
        return tuple
    raise DefinitionError(
        f"{kind.__name__}.{name}: {hint} is no column type; use str, int (cents for money), bool, date, "
        "datetime, Literal of strings or tuple[str, ...]"
    )


_SQL_TYPES: dict[type, Any] = {
    str: sa.String(),
    int: sa.BigInteger(),
    bool: sa.Boolean(create_constraint=True),
    date: sa.Date(),
    datetime: sa.DateTime(),
    tuple: sa.JSON(none_as_null=True),
}


def _sql_column(column: Column) -> sa.Column[Any]:
    if column.choices:
        sql_type: Any = sa.Enum(*column.choices, native_enum=False, create_constraint=True)
    else:
        sql_type = _SQL_TYPES[column.type]
    parts = [sa.ForeignKey(f"{column.references}.id")] if column.references else []
    return sa.Column(column.name, sql_type, *parts, primary_key=column.name == "id", nullable=column.nullable)
