"""Queries say what SQL says: the same conditions, measures and references, asked of the projection."""

from datetime import date
from functools import cache
from typing import Any, cast

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from palaestra.envs.state import Column, Overlay, SqlProjection
from palaestra.envs.state.query import Aggregate, Where, follow, select, take_measure
from palaestra.envs.state.schema import TableInfo
from palaestra.envs.worlds.storefront.population import populate
from palaestra.envs.worlds.storefront.schema import SCHEMA, Order
from palaestra.errors import ToolRefusal

SEED = 1000
TABLES = [info.name for info in SCHEMA]


def in_sql(column: Any, sign: str, value: Any) -> Any:
    """The condition as SQLAlchemy writes it."""
    if sign == "in":
        return column.in_(value)
    if sign in ("=", "!="):
        return column.is_not_distinct_from(value) if sign == "=" else column.is_distinct_from(value)
    return column.op(sign)(value)


@cache
def rows() -> Overlay:
    return Overlay(populate(SEED))


@cache
def projection() -> SqlProjection:
    return SqlProjection(rows())


def plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value


@st.composite
def asked(draw: st.DrawFn) -> tuple[TableInfo, Where, list[Any]]:
    """A table, conditions on it, and the same conditions in SQL, on values that stand in the table."""
    info = SCHEMA[draw(st.sampled_from(TABLES))]
    standing = rows().find(info.kind)
    where: dict[str, Any] = {}
    clauses: list[Any] = []
    for column in draw(st.lists(st.sampled_from(list(info.columns.values())), max_size=3, unique_by=lambda c: c.name)):
        if column.type is tuple:
            continue
        sign, value = draw(st.sampled_from(signs(column))), getattr(draw(st.sampled_from(standing)), column.name)
        if sign in ("<", "<=", ">", ">=", "in") and value is None:
            continue
        wanted = [value] if sign == "in" else value
        where[column.name if sign == "=" else f"{column.name} {sign}"] = (
            [plain(v) for v in wanted] if sign == "in" else plain(wanted)
        )
        clauses.append(in_sql(SCHEMA.sql_table(info.name).c[column.name], sign, wanted))
    return info, where, clauses


def signs(column: Column) -> list[str]:
    """The operators that a column takes; text is ordered by the letters' numbers here and there."""
    some = ["=", "!="] if column.type is bool else ["=", "!=", "<", "<=", ">", ">="]
    return [*some, "in"] if column.type is str else some


@given(asked())
@settings(max_examples=150, deadline=None)
def test_conditions_choose_the_rows_that_sql_chooses(query: tuple[TableInfo, Where, list[Any]]) -> None:
    info, where, clauses = query
    statement: Any = (
        sa.select(SCHEMA.sql_table(info.name).c.id).where(*clauses).order_by(SCHEMA.sql_table(info.name).c.id)
    )
    wanted = projection().query(statement)
    assert [row.id for row in select(rows(), info, where)] == [row["id"] for row in wanted]


@pytest.mark.parametrize(
    ("table", "column", "group_by"),
    [
        ("orders", "total_cents", "customer_id"),
        ("products", "price_cents", "category"),
        ("tickets", "opened", "status"),
    ],
)
def test_measures_are_those_that_sql_takes(table: str, column: str, group_by: str) -> None:
    info = SCHEMA[table]
    found = rows().find(info.kind)
    sql = SCHEMA.sql_table(table)
    of, by = sql.c[column], sql.c[group_by]
    measures: dict[str, Any] = {"count": sa.func.count(), "min": sa.func.min(of), "max": sa.func.max(of)}
    if info.columns[column].type is int:
        measures["sum"] = sa.func.sum(of)
    for name, function in measures.items():
        over_all: Any = sa.select(function.label("value")).select_from(sql)
        [whole] = projection().query(over_all)
        measure = cast("Aggregate", name)
        assert take_measure(found, info, measure, column, "") == {"value": plain(whole["value"])}
        by_group: Any = sa.select(by.label("of"), function.label("value")).group_by(by)
        groups = projection().query(by_group)
        told: Any = take_measure(found, info, measure, column, group_by)["groups"]
        assert {g["of"]: g["value"] for g in told} == {g["of"]: plain(g["value"]) for g in groups}


def test_references_lead_there_and_back() -> None:
    for order in rows().find(Order)[:50]:
        [lines, back] = follow(rows(), SCHEMA, order, ["order_lines.order_id", "order_id"])
        assert {line.id for line in lines} == {
            row["id"]
            for row in projection().query("SELECT id FROM order_lines WHERE order_id = :order", order=order.id)
        }
        assert back == [order]


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ({"statu": "open"}, "did you mean 'status'"),
        ({"status ~": "open"}, "is no condition"),
        ({"status": "opened"}, "is one of open, resolved"),
        ({"status": 3}, "takes str, not 3"),
        ({"opened >": "yesterday"}, "YYYY-MM-DD"),
        ({"status": ["open"]}, "takes one value"),
        ({"id in": "TCK-1"}, "takes a list"),
        ({"id <": None}, "needs an order"),
        ({"opened contains": "2026"}, "is about text"),
    ],
)
def test_a_condition_that_fits_no_column_is_refused_with_the_way_out(where: Where, says: str) -> None:
    with pytest.raises(ToolRefusal, match=says):
        select(rows(), SCHEMA["tickets"], where)


def test_what_cannot_be_measured_searched_or_reached_is_refused() -> None:
    orders = SCHEMA["orders"]
    with pytest.raises(ToolRefusal, match=r"no sum of orders\.placed"):
        take_measure([], orders, "sum", "placed", "")
    with pytest.raises(ToolRefusal, match="no text to search"):
        select(rows(), orders, {}, search="late")
    with pytest.raises(ToolRefusal, match="no way 'payments' leads on from orders; there are customer_id"):
        follow(rows(), SCHEMA, rows().find(Order)[0], ["payments"])
