"""Which columns of which rows an answer shows without printing them: those that its conditions or its measure settle.

It does not follow chains of answers: what only several measures together would settle counts as not shown.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from palaestra.envs.state import TableInfo
from palaestra.envs.state.query import Aggregate, Condition, Where, conditions, select
from palaestra.protocols import StateView
from palaestra.records import Row


def equal_columns(info: TableInfo, where: Where) -> list[str]:
    """The columns whose value a condition fixes in every row that fulfils `where`."""
    return [condition.column for condition in conditions(info, where) if _fixes(condition, info)]


def infer_columns(
    state: StateView, info: TableInfo, measure: Aggregate, column: str, where: Where, group_by: str
) -> Iterator[tuple[Row, Sequence[str]]]:
    """The rows of which a measure settles columns, each with those columns.

    A sum, a minimum or a maximum settles the column of a row that it is taken of alone. A minimum or a maximum also
    settles it in the rows that have that value. A condition that fixes a column is settled by the number of rows,
    where the other conditions leave one row.

    Args:
        state: The rows.
        info: The table.
        measure: What is taken.
        column: Of which column.
        where: The conditions.
        group_by: The column whose values make the groups; empty for none.
    """
    if group_by:
        yield from _of_groups(select(state, info, where), measure, column, group_by)
        return
    found: list[Row] = select(state, info, where)
    if measure != "count":
        yield from ((row, (column,)) for row in _select_extremes(found, measure, column))
    for condition, key in zip(conditions(info, where), where, strict=True):
        if not _fixes(condition, info):
            continue
        left: list[Row] = select(state, info, {name: value for name, value in where.items() if name != key})
        # Yes or no: no row found tells the other of two values.
        if len(left) == 1 and (left == found or info.columns[condition.column].type is bool):
            yield left[0], (condition.column,)


def _of_groups(
    found: Sequence[Row], measure: Aggregate, column: str, group_by: str
) -> Iterator[tuple[Row, Sequence[str]]]:
    groups: dict[Any, list[Row]] = {}
    for row in found:
        groups.setdefault(getattr(row, group_by), []).append(row)
    settled = () if measure == "count" else (column,)
    if group_by == "id" or len(found) == 1:
        yield from ((row, (group_by, *settled)) for row in found)
    elif settled:
        yield from ((row, settled) for rows in groups.values() for row in _select_extremes(rows, measure, column))


def _select_extremes(rows: Sequence[Row], measure: Aggregate, column: str) -> list[Row]:
    """The rows whose value the measure is."""
    if len(rows) == 1 or measure == "sum":
        return list(rows) if len(rows) == 1 else []
    held: list[tuple[Any, Row]] = [(value, row) for row in rows if (value := getattr(row, column)) is not None]
    if not held:
        return []
    end = min(value for value, _ in held) if measure == "min" else max(value for value, _ in held)
    return [row for value, row in held if value == end]


def _fixes(condition: Condition, info: TableInfo) -> bool:
    """Whether a condition leaves one value of its column."""
    if condition.operator == "in":
        return len(condition.value) == 1
    either = condition.operator == "!=" and info.columns[condition.column].type is bool and condition.value is not None
    return condition.operator == "=" or (either and not info.columns[condition.column].nullable)
