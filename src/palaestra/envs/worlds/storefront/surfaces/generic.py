"""The generic surface: tables to query and traverse, measures to take, actions to run in turn or in bulk.

Seven tools in place of forty-nine. Reading knows no entity; writing goes through the same actions under the same
rules, and each leaves the same event in the log.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Literal, TypeAlias, cast

from pydantic import Field

from palaestra.envs.state import TableInfo
from palaestra.envs.state.query import Aggregate, Scalar, follow, measured, select
from palaestra.envs.worlds.storefront.schema import SCHEMA
from palaestra.envs.worlds.storefront.tools import TOOLBOX, compute
from palaestra.errors import ToolRefusal, UnknownNameError
from palaestra.records import ANY_TABLE, Json, JsonObject, References, Row, ToolCall
from palaestra.seeding import Stream
from palaestra.tools import CONTROL, Toolbox, ToolContext, legal_call, tool

Table = Literal[
    "customers", "employees", "products", "builds", "orders", "order_lines", "payments", "shipments", "refunds",
    "returns", "tickets", "warranty_claims", "promotions", "handbook", "competitor_offers", "credits",
    "internal_messages",
]  # fmt: skip
Conditions: TypeAlias = dict[str, Scalar | list[str]]
Arguments: TypeAlias = dict[str, Scalar | list[str]]
Step: TypeAlias = dict[str, str | Arguments]

PAGE = 10
"""The most rows that one answer lists."""
MOST_REACHED = 40
"""The most rows that one traversal shows."""
ACTIONS = Toolbox([*(t for t in TOOLBOX if t.writes), *compute.TOOLS])
"""What a workflow may do: every tool of the conventional surface that writes or computes."""


@tool()
def describe(context: ToolContext, name: Annotated[str, Field(max_length=60)] | None = None) -> object:
    """Say what there is: without a name every table and action, with one the columns of a table or an action's schema.

    Args:
        name: A table or an action.
    """
    actions = {t.name: t for t in ACTIONS.offered(context.role)}
    if name is None:
        return {"tables": [info.name for info in SCHEMA], "actions": list(actions)}
    if name in actions:
        return actions[name].export()["function"]
    if name not in SCHEMA.tables:
        raise ToolRefusal("not_found", str(UnknownNameError.of("table or action", name, [*SCHEMA.tables, *actions])))
    columns = {
        column.name: {
            "type": column.type.__name__,
            **({"one_of": list(column.choices)} if column.choices else {}),
            **({"names_a_row_of": column.references} if column.references else {}),
        }
        for column in SCHEMA[name].columns.values()
    }
    named_by = [f"{t.name}.{c}" for t in SCHEMA for c in t.references if t.columns[c].references == name]
    return {"columns": columns, "named_by": named_by}


@tool()
def query(
    context: ToolContext,
    table: Table,
    where: Conditions | None = None,
    search: Annotated[str, Field(max_length=200)] = "",
    columns: Annotated[list[str], Field(max_length=20)] | None = None,
    after: str | None = None,
) -> object:
    """Show rows of a table, ordered by id, ten at a time.

    Args:
        table: The table.
        where: Conditions that must all hold. A key is a column ("status") or a column and an operator
            ("price_cents <=", "due <", "id in", "name contains", "status !="). Days are written YYYY-MM-DD.
        search: Words that the row's text must all hold.
        columns: Only these columns; the id is always shown. Leave it out to see rows whole.
        after: The next_after of the answer to continue.
    """
    info = SCHEMA[table]
    found = [row for row in select(context.state, info, where or {}, search) if after is None or row.id > after]
    if unknown := [c for c in columns or () if c not in info.columns]:
        raise ToolRefusal("bad_query", f"{table}: {UnknownNameError.of('column', unknown[0], info.columns)}")
    shown = found[:PAGE]
    _seen(context, shown, whole=columns is None)
    context.name(*_ids_asked_for(info, where or {}))
    return {
        "rows": shown if columns is None else [{c: getattr(row, c) for c in ("id", *columns)} for row in shown],
        "next_after": shown[-1].id if len(found) > PAGE else None,
    }


@tool()
def traverse(
    context: ToolContext,
    table: Table,
    id: Annotated[str, References(ANY_TABLE)],
    path: Annotated[list[str], Field(min_length=1, max_length=5)],
) -> object:
    """Show a row and the rows that it leads to, step by step.

    Args:
        table: The table of the row to start at.
        id: Its id.
        path: The steps: a column that names a row ("customer_id"), or a table and its column that names where you stand
            ("order_lines.order_id").
    """
    start = context.state.get(SCHEMA[table].kind, id)
    reached = follow(context.state, SCHEMA, start, path)
    rows = [start, *(row for stage in reached for row in stage)]
    if len(rows) > MOST_REACHED:
        raise ToolRefusal(
            "too_many", f"this leads to {len(rows)} rows, and {MOST_REACHED} are shown at most; query them"
        )
    _seen(context, rows, whole=True)
    return {"start": start, "steps": reached}


@tool()
def aggregate(
    context: ToolContext,
    table: Table,
    measure: Aggregate,
    column: str = "id",
    where: Conditions | None = None,
    group_by: str = "",
) -> object:
    """Count rows, or take the sum, the smallest or the largest value of a column.

    Args:
        table: The table.
        measure: What to take.
        column: Of which column; counting needs none.
        where: Conditions as in `query`.
        group_by: A column by whose values the rows are told apart; leave it out for one figure.
    """
    info = SCHEMA[table]
    return measured(select(context.state, info, where or {}), info, measure, column, group_by)


def _legal_steps(ids: Callable[[str], Sequence[str]], stream: Stream) -> JsonObject:
    drawn = legal_call(ACTIONS.offered("agent"), ids, stream)
    return {"steps": [{"action": drawn.tool, "arguments": dict(drawn.arguments)}]}


@tool(writes=True, latency=1, composite=True, draw=_legal_steps)
def run_workflow(context: ToolContext, steps: Annotated[list[Step], Field(min_length=1, max_length=12)]) -> object:
    """Run actions in order, all of them or none: where one is refused, nothing is done.

    Args:
        steps: Each is {"action": name, "arguments": {...}}. `describe` lists the actions and their arguments.
    """
    return [_call(context, number, step) for number, step in enumerate(steps, 1)]


def _legal_bulk(ids: Callable[[str], Sequence[str]], stream: Stream) -> JsonObject:
    drawn = legal_call(ACTIONS.offered("agent"), ids, stream)
    arguments = dict(drawn.arguments)
    over = stream.choice(sorted(arguments)) if arguments else "id"
    return {"action": drawn.tool, "over": over, "values": [str(arguments.pop(over, ""))], "arguments": arguments}


@tool(writes=True, latency=1, composite=True, draw=_legal_bulk)
def bulk_update(
    context: ToolContext,
    action: str,
    over: str,
    values: Annotated[list[str], Field(min_length=1, max_length=40)],
    arguments: Arguments | None = None,
) -> object:
    """Run one action for many records, all of them or none.

    Args:
        action: The action, as `describe` lists it.
        over: The argument that differs, such as "ticket_id".
        values: Its values, one for each run.
        arguments: The arguments that are the same for all.
    """
    same = arguments or {}
    if over in same:
        raise ToolRefusal("bad_step", f"{over!r:.60} is what differs; leave it out of `arguments`")
    return [
        _call(context, number, {"action": action, "arguments": {**same, over: value}})
        for number, value in enumerate(values, 1)
    ]


def _call(context: ToolContext, number: int, step: Step) -> ToolCall:
    """The action that a step asks for."""
    if step.keys() - {"action", "arguments"} or not isinstance(step.get("action"), str):
        raise ToolRefusal("bad_step", f'step {number}: write {{"action": name, "arguments": {{...}}}}')
    name, arguments = cast("str", step["action"]), step.get("arguments", {})
    if name not in ACTIONS:
        offered = [t.name for t in ACTIONS.offered(context.role)]
        raise ToolRefusal("bad_step", f"step {number}: {UnknownNameError.of('action', name[:60], offered)}")
    if not isinstance(arguments, dict):
        raise ToolRefusal("bad_step", f"step {number}: `arguments` is an object of the action's arguments")
    return ToolCall(tool=name, arguments=cast("dict[str, Json]", arguments))


def _ids_asked_for(info: TableInfo, where: Conditions) -> list[str]:
    """The ids that conditions name: whoever asks for a record by its id has to know it."""
    asked: list[str] = []
    for key, value in where.items():
        column, _, sign = key.strip().partition(" ")
        if sign in ("", "=", "in") and (column in ("id", "tracking") or column in info.references):
            asked += value if isinstance(value, list) else [value] if isinstance(value, str) else []
    return asked


def _seen(context: ToolContext, rows: Sequence[Row], *, whole: bool) -> None:
    if not whole:
        context.mention(*(row.id for row in rows))
        return
    context.show(*rows)
    for row in rows:
        # Ids that a schema does not know as such: a parcel's tracking number, the record that closed a ticket.
        context.mention(*(v for c in ("tracking", "evidence_id") if (v := getattr(row, c, None)) is not None))


GENERIC_TOOLBOX = Toolbox(
    [describe, query, traverse, aggregate, run_workflow, bulk_update, *CONTROL],
    prose_tool="reply",
    actions=ACTIONS,
)
