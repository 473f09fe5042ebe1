"""Asking for rows by conditions, following references, adding up: what a generic tool surface is made of.

It reads any `StateView`, so the overlay answers and the SQL projection can be held against it.
"""

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal, TypeAlias, cast

from palaestra.digest import as_json
from palaestra.envs.state.columns import Column
from palaestra.envs.state.schema import Schema, TableInfo
from palaestra.errors import ToolRefusal, UnknownNameError
from palaestra.protocols import StateView
from palaestra.records import Json, Row

Scalar: TypeAlias = str | int | float | bool | None
Where: TypeAlias = Mapping[str, Scalar | Sequence[Scalar]]
"""Conditions that must all hold: a column, and an operator behind it where it is not equality."""
Aggregate: TypeAlias = Literal["count", "sum", "min", "max"]

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda found, wanted: found in wanted,
    "contains": lambda found, wanted: wanted.casefold() in found.casefold(),
}
_KEY = re.compile(r"(\w+)(?: (=|!=|<|<=|>|>=|in|contains))?")
_ORDERED = frozenset({"<", "<=", ">", ">="})
_COMPARED = frozenset({str, int, bool, date, datetime, float, Decimal, tuple})
"""The types of columns that a condition may be about."""
_SUMMED = (int, float, Decimal)


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One condition on a column."""

    column: str
    operator: str
    value: Any

    def holds(self, row: Row) -> bool:
        """Whether `row` fulfils it. An empty column fulfils nothing but being equal, or unequal, to `None`."""
        found = getattr(row, self.column)
        if found is None and self.operator not in ("=", "!=", "in"):
            return False
        return OPERATORS[self.operator](found, self.value)


def conditions(info: TableInfo, where: Where) -> list[Condition]:
    """The conditions of `where`, with values of their columns' types.

    Raises:
        ToolRefusal: a column, an operator or a value does not fit the table; the message says which and why.
    """
    return [_condition(info, key, value) for key, value in where.items()]


def select(state: StateView, info: TableInfo, where: Where, search: str = "") -> list[Row]:
    """The rows of a table that fulfil `where` and hold every word of `search`, ordered by id.

    Raises:
        ToolRefusal: as for `conditions`, or the table has no text to search.
    """
    asked = conditions(info, where)
    if search:
        if not info.searchable:
            raise ToolRefusal("bad_query", f"{info.name} has no text to search; ask by its columns")
        rows = state.search(info.kind, search)
    else:
        indexed = next((c for c in asked if c.operator == "="), None)
        rows = state.find(info.kind, **({indexed.column: indexed.value} if indexed else {}))
    return [row for row in rows if all(condition.holds(row) for condition in asked)]


def follow(state: StateView, schema: Schema, start: Row, path: Sequence[str]) -> list[list[Row]]:
    """The rows that `path` leads to from `start`, step by step.

    A step is a column that names a row, such as "customer_id", or a table and its column that names where one stands,
    such as "order_lines.order_id".

    Raises:
        ToolRefusal: a step leads nowhere from the table it starts at.
    """
    reached: list[list[Row]] = []
    here: list[Row] = [start]
    table = schema[start.table]
    for step in path:
        table, here = _step(state, schema, table, here, step)
        reached.append(here)
    return reached


def take_measure(
    rows: Iterable[Row], info: TableInfo, measure: Aggregate, column: str, group_by: str
) -> dict[str, Json]:
    """A measure of a column over `rows`, by the values of another column where `group_by` names one.

    Raises:
        ToolRefusal: the table lacks a column, or the measure needs another kind of column.
    """
    values = _measure_of(info, measure, column)
    if group_by and (by := _column(info, group_by)).type in (bytes, dict):
        raise ToolRefusal("bad_query", f"there are no groups by {group_by}, which holds {_name_type(by)}")
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(getattr(row, group_by) if group_by else None, []).append(row)
    if not group_by:
        return {"value": values(groups.get(None, []))}
    in_order = sorted(groups.items(), key=lambda item: (item[0] is None, str(item[0])))
    return {"groups": [{"of": _plain(key), "value": values(of)} for key, of in in_order]}


def _condition(info: TableInfo, key: str, value: Scalar | Sequence[Scalar]) -> Condition:
    match = _KEY.fullmatch(key.strip())
    if match is None:
        raise ToolRefusal("bad_query", f"{key!r:.60} is no condition; write a column, or `column op` with op in "
                          f"{', '.join(OPERATORS)}")  # fmt: skip
    name, sign = match.group(1), match.group(2) or "="
    column = _column(info, name)
    if sign == "in":
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise ToolRefusal("bad_query", f"{key!r:.60} takes a list of values, not {value!r:.60}")
        return Condition(column=name, operator=sign, value=[_mark_type(column, item) for item in value])
    if isinstance(value, Sequence) and not isinstance(value, str):
        raise ToolRefusal("bad_query", f"{key!r:.60} takes one value; `{name} in` takes a list")
    if sign == "contains" and (column.type is not str or not isinstance(value, str)):
        raise ToolRefusal("bad_query", f"{key!r:.60} is about text; {name} and its value have to be text")
    if sign in _ORDERED and (value is None or (column.type in _COMPARED and not column.ordered)):
        raise ToolRefusal("bad_query", f"{key!r:.60} needs an order, which {name} or its value does not have")
    return Condition(column=name, operator=sign, value=_mark_type(column, value))


def _column(info: TableInfo, name: str) -> Column:
    column = info.columns.get(name)
    if column is None:
        raise ToolRefusal("bad_query", f"{info.name}: {UnknownNameError.of('column', name, info.columns)}")
    return column


def _mark_type(column: Column, value: object) -> Any:
    """A value of JSON as the column holds it."""
    if value is None:
        return None
    if column.type not in _COMPARED:
        raise ToolRefusal(
            "bad_query", f"{column.name} holds {column.type_name}; conditions cannot compare that, so read the row"
        )
    if column.type in (float, Decimal):
        return _number(column, value)
    try:
        if column.type is datetime:
            return _naive(datetime.fromisoformat(cast("str", value)))
        if column.type is date:
            return date.fromisoformat(cast("str", value))
    except (TypeError, ValueError):
        raise ToolRefusal("bad_query", f"{column.name} takes a day as YYYY-MM-DD, not {value!r:.60}") from None
    if isinstance(value, bool) != (column.type is bool) or not isinstance(value, column.type):
        raise ToolRefusal("bad_query", f"{column.name} takes {column.type.__name__}, not {value!r:.60}")
    if column.choices and value not in column.choices:
        raise ToolRefusal("bad_query", f"{column.name} is one of {', '.join(column.choices)}, not {value!r:.60}")
    return cast("Any", value)


def _naive(moment: datetime) -> datetime:
    """A moment without a time zone, as worlds write them; the others cannot be compared with it."""
    if moment.tzinfo is not None:
        raise ValueError(moment)
    return moment


def _number(column: Column, value: object) -> float | Decimal:
    """A number as the column holds it; a decimal may be written as text."""
    text = isinstance(value, str) and column.type is Decimal
    try:
        if isinstance(value, bool) or not (text or isinstance(value, int | float)):
            raise ValueError(value)
        number = Decimal(str(value)) if column.type is Decimal else float(cast("float", value))
        if not math.isfinite(number):
            raise ValueError(value)
    except (ArithmeticError, ValueError):
        raise ToolRefusal("bad_query", f"{column.name} takes a {column.type_name} number, not {value!r:.60}") from None
    return number


def _step(
    state: StateView, schema: Schema, table: TableInfo, here: Sequence[Row], step: str
) -> tuple[TableInfo, list[Row]]:
    name, _, column = step.partition(".")
    if column and name in schema.tables and schema[name].columns.get(column) is not None:
        other = schema[name]
        if other.columns[column].references == table.name:
            return other, [row for one in here for row in state.find(other.kind, **{column: one.id})]
    elif not column and name in table.columns and table.columns[name].references is not None:
        other = schema[cast("str", table.columns[name].references)]
        ids = dict.fromkeys(getattr(row, name) for row in here if getattr(row, name) is not None)
        return other, [state.get(other.kind, key) for key in ids]
    ways = [*table.references, *(f"{t.name}.{c}" for t in schema for c in t.references
            if t.columns[c].references == table.name)]  # fmt: skip
    raise ToolRefusal(
        "bad_path", f"no way {step!r:.60} leads on from {table.name}; there are {', '.join(ways) or 'none'}"
    )


def _measure_of(info: TableInfo, measure: Aggregate, column: str) -> Callable[[Sequence[Row]], Json]:
    if measure == "count":
        return len
    asked = _column(info, column)
    if not asked.ordered or (measure == "sum" and asked.type not in _SUMMED):
        raise ToolRefusal(
            "bad_query", f"there is no {measure} of {info.name}.{column}, which holds {_name_type(asked)}"
        )

    def aggregate(rows: Sequence[Row]) -> Json:
        found = [value for row in rows if (value := getattr(row, column)) is not None]
        if measure == "sum":
            return _plain(math.fsum(found) if asked.type is float else sum(found))
        ends: Callable[[list[Any]], Any] = min if measure == "min" else max
        return _plain(ends(found)) if found else None

    return aggregate


def _name_type(column: Column) -> str:
    return column.type.__name__ if column.type is tuple and column.item is str else column.type_name


def _plain(value: object) -> Json:
    if isinstance(value, Decimal | bytes):
        return as_json(value)
    return value.isoformat() if isinstance(value, date) else cast("Json", value)
