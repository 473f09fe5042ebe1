"""The generic tools that read: they describe, query and traverse tables, and take measures."""

from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Annotated, Any, Literal, TypeAlias

import orjson
from pydantic import Field

from palaestra.envs.state import Schema, TableInfo
from palaestra.envs.state.query import Aggregate, Scalar, Where, follow, select, take_measure
from palaestra.envs.surfaces.inferred_columns import equal_columns, infer_columns
from palaestra.errors import ToolRefusal, UnknownNameError
from palaestra.records import ANY_TABLE, Json, References, Row
from palaestra.tools import Tool, Toolbox, ToolContext, tool
from palaestra.tools.tool import Origin

Conditions: TypeAlias = dict[str, Scalar | list[str | int | float]]
_WholeConditions: TypeAlias = dict[str, str | int | bool | list[str | int] | None]
"""What conditions hold in a world without fractions; a shorter schema says it."""

_WHOLE = frozenset({str, int, bool, date, datetime, tuple})
"""The types of columns that no fraction is compared with."""
_NAMING = frozenset({"", "=", "in", "<", "<=", ">", ">="})
"""The operators whose condition on an id names that id."""
PAGE = 10
"""The most rows that one query lists."""
MOST_REACHED = 40
"""The most rows that one traversal shows, and the most groups of one measure."""


def reading_tools(schema: Schema, actions: Toolbox, origin: Callable[[str], Origin]) -> list[Tool]:
    """The tools that read the tables of `schema`.

    Args:
        schema: The tables.
        actions: What `describe` describes beside them.
        origin: What gives a tool of some name again after pickling.
    """
    reader = _Reader(schema, actions)
    # Any: a Literal of names that are known only now.
    table: Any = Literal[tuple(schema.tables)]
    fractions = any(column.type not in _WHOLE for info in schema for column in info.columns.values())
    hints = {"table": table, "where": (Conditions if fractions else _WholeConditions) | None}
    return [
        tool(origin=origin("describe"))(reader.describe),
        tool(origin=origin("query"), hints=hints)(reader.query),
        tool(origin=origin("traverse"), hints=hints)(reader.traverse),
        tool(origin=origin("aggregate"), hints=hints)(reader.aggregate),
    ]


class _Reader:
    """Reads the tables of one schema."""

    def __init__(self, schema: Schema, actions: Toolbox) -> None:
        self._schema = schema
        self._actions = actions
        self._known = {info.name: frozenset({"id", *info.references, *info.identifiers}) for info in schema}
        """By table: the columns that hold ids."""

    def describe(self, context: ToolContext, name: Annotated[str, Field(max_length=60)] | None = None) -> object:
        """List all tables and actions; with a name, the columns of that table or the arguments of that action.

        Args:
            name: A table or an action.
        """
        schema, actions = self._schema, {t.name: t for t in self._actions.tools_for(context.role)}
        if name is None:
            return {"tables": list(schema.tables), "actions": list(actions)}
        if name in actions:
            return actions[name].export()["function"]
        if name not in schema.tables:
            near = UnknownNameError.of("table or action", name, [*schema.tables, *actions])
            raise ToolRefusal("not_found", str(near))
        columns = {
            column.name: {
                "type": column.type_name,
                **({"values": list(column.choices)} if column.choices else {}),
                **({"references": column.references} if column.references else {}),
            }
            for column in schema[name].columns.values()
        }
        pointing = [f"{t.name}.{c}" for t in schema for c in t.references if t.columns[c].references == name]
        return {"columns": columns, "referenced_by": pointing}

    def query(
        self,
        context: ToolContext,
        table: str,
        where: Conditions | None = None,
        search: Annotated[str, Field(max_length=200)] = "",
        columns: Annotated[list[str], Field(max_length=40)] | None = None,
        cursor: str | None = None,
    ) -> object:
        """Show rows of a table, ordered by id, ten at a time.

        Args:
            table: The table.
            where: Conditions that must all hold. A key is a column ("id"), or a column and an operator ("id in"): !=,
                <, <=, >, >=, in, contains. Write days as YYYY-MM-DD.
            search: Words that the row's text must contain.
            columns: Show only these columns and the id. Leave it out to show whole rows.
            cursor: The next_cursor of the last answer, to see the rows that follow.
        """
        info = self._schema[table]
        conditions = where or {}
        found: list[Row] = select(context.state, info, conditions, search)
        if unknown := [c for c in columns or () if c not in info.columns]:
            raise ToolRefusal("bad_query", f"{table}: {UnknownNameError.of('column', unknown[0], info.columns)}")
        if cursor is not None:
            if context.state.peek(info.kind, cursor) is None:
                raise ToolRefusal("bad_cursor", f"{cursor!r:.60} is not the next_cursor of an earlier answer")
            found = [row for row in found if row.id > cursor]
        shown = found[:PAGE]
        if conditions:
            context.name(*self._ids_asked_for(table, conditions))
        if cursor is not None:
            context.name(cursor)
        if columns is None:
            self._show(context, info, shown)
        else:
            context.show_columns(shown, dict.fromkeys((*columns, *equal_columns(info, conditions))))
        rows = shown if columns is None else [self._part(context, row, columns) for row in shown]
        return {"rows": rows, "next_cursor": shown[-1].id if len(found) > PAGE else None}

    def traverse(
        self,
        context: ToolContext,
        table: str,
        id: Annotated[str, References(ANY_TABLE)],
        path: Annotated[list[str], Field(min_length=1, max_length=5)],
    ) -> object:
        """Show a row and the rows that it leads to, step by step.

        Args:
            table: The table of the row to start at.
            id: Its id.
            path: The steps. Each is a column that references a row ("customer_id"), or a table and its column that
                references the row reached so far ("order_lines.order_id").
        """
        start: Row = context.state.get(self._schema[table].kind, id)
        reached = follow(context.state, self._schema, start, path)
        count = 1 + sum(map(len, reached))
        if count > MOST_REACHED:
            raise ToolRefusal("too_many", f"this leads to {count} rows; the limit is {MOST_REACHED}: use query instead")
        for rows in ([start], *reached):
            if rows:
                self._show(context, self._schema[rows[0].table], rows)
        return {"start": start, "steps": reached}

    def aggregate(
        self,
        context: ToolContext,
        table: str,
        measure: Aggregate,
        column: str = "id",
        where: Conditions | None = None,
        group_by: str = "",
    ) -> object:
        """Count rows, or take the sum, the minimum or the maximum of a column.

        Args:
            table: The table.
            measure: What to take.
            column: The column to take it of; a count needs none.
            where: Conditions as in `query`.
            group_by: A column, to take the measure for each of its values.
        """
        info, conditions = self._schema[table], where or {}
        taken = take_measure(select(context.state, info, conditions, ""), info, measure, column, group_by)
        for row, known in infer_columns(context.state, info, measure, column, conditions, group_by):
            context.show_columns([row], known)
        groups = taken.get("groups")
        if isinstance(groups, list):
            if len(groups) > MOST_REACHED:
                raise ToolRefusal("too_many", f"{group_by} has {len(groups)} values; the limit is {MOST_REACHED}")
            if group_by in self._known[table]:
                context.mention(*(str(group["of"]) for group in groups if isinstance(group, dict) and group["of"]))
        context.name(*self._ids_asked_for(table, conditions))
        return taken

    def _ids_asked_for(self, table: str, where: Where) -> list[str]:
        """The ids that conditions name: whoever asks for a record by its id, or from an id on, has to know it."""
        known, asked = self._known[table], list[str]()
        for key, value in where.items():
            column, _, operator = key.strip().partition(" ")
            if column in known and operator in _NAMING:
                asked += [v for v in (value if isinstance(value, list) else [value]) if isinstance(v, str)]
        return asked

    def _show(self, context: ToolContext, info: TableInfo, rows: Sequence[Row]) -> None:
        """Say that the answer shows these rows of one table whole."""
        context.show(*rows)
        for name in info.identifiers:
            context.mention(*(value for row in rows if (value := getattr(row, name)) is not None))

    def _part(self, context: ToolContext, row: Row, columns: Sequence[str]) -> dict[str, Json]:
        """The row's id and some of its columns; the answer lets the agent know the ids among them."""
        known = self._known[row.table]
        held = (getattr(row, name) for name in ("id", *columns) if name in known)
        context.mention(*(value for value in held if value is not None))
        whole: dict[str, Json] = orjson.loads(row.json())
        return {name: whole[name] for name in ("id", *columns)}
