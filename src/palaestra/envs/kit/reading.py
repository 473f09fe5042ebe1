"""Reading tools generated from row classes, so that a world writes only the tools that decide something.

`get_tool` shows one row, `list_tool` every row of one owner, `search_tool` pages of short entries. What an agent reads
is the author's text or worked out from the row class.
"""

from datetime import date
from functools import partial
from typing import Any, TypeAlias, cast, get_args, get_origin, get_type_hints

from palaestra.envs.kit.generated import (
    CURSOR_TEXT,
    Cursor,
    Parameter,
    column_annotation,
    generate_tool,
    id_annotation,
    noun_of,
    with_article,
)
from palaestra.envs.kit.paging import page
from palaestra.records import ANY_TABLE, Json, References, Row
from palaestra.tools import Reads, Tool, ToolContext

Texts: TypeAlias = tuple[tuple[str, str], ...]
"""Columns, each with what the agent reads about it."""


def get_tool(
    kind: type[Row],
    description: str = "",
    *,
    name: str = "",
    argument: str = "",
    argument_text: str = "",
    example: str = "",
    latency: int = 2,
) -> Tool:
    """A tool that shows one row whole, by its id.

    Args:
        kind: The row class.
        description: What the agent reads; empty: "Show a loan."
        name: The tool's name; empty: `get_` and the row class, as in `get_loan`.
        argument: The name of its argument; empty: the row class and `_id`, as in `loan_id`.
        argument_text: The argument's description; empty: "The loan's id, such as LN-7."
        example: An id for that description.
        latency: Seconds on the virtual clock.
    """
    noun = noun_of(kind)
    word, key = noun.replace("_", " "), argument or f"{noun}_id"
    identifiers = _identifiers(kind)

    def get(context: ToolContext, **arguments: str) -> object:
        row = context.state.get(kind, arguments[key])
        _show(context, identifiers, row)
        return row

    text = argument_text or f"The {word}'s id{f', such as {example}' if example else ''}."
    again = partial(
        get_tool,
        kind,
        description,
        name=name,
        argument=argument,
        argument_text=argument_text,
        example=example,
        latency=latency,
    )
    return generate_tool(
        get,
        name=name or f"get_{noun}",
        description=description or f"Show {with_article(word)}.",
        parameters={key: Parameter(annotation=id_annotation(kind), text=text)},
        origin=(again, ()),
        latency=latency,
        reads=Reads(table=kind.table, by={key: "id"}),
    )


def list_tool(
    kind: type[Row],
    owner: type[Row],
    description: str = "",
    *,
    name: str = "",
    column: str = "",
    key: str = "",
    argument_text: str = "",
) -> Tool:
    """A tool that shows every row that belongs to one row of another class.

    Args:
        kind: The row class.
        owner: The class of what the rows belong to.
        description: What the agent reads; empty: "List the loans of a member."
        name: The tool's name; empty: `get_` and the table, as in `get_loans`.
        column: The column that names the owner, and the argument; empty: the owner's class and `_id`.
        key: Under which key the answer holds the rows; empty: the table.
        argument_text: The argument's description; empty: "The member's id."
    """
    noun = noun_of(owner)
    word, by = noun.replace("_", " "), column or f"{noun}_id"
    identifiers = _identifiers(kind)

    def get(context: ToolContext, **arguments: str) -> object:
        context.state.get(owner, arguments[by])
        rows = context.state.find(kind, **{by: arguments[by]})
        _show(context, identifiers, *rows)
        return {key or kind.table: rows}

    again = partial(list_tool, kind, owner, description, name=name, column=column, key=key, argument_text=argument_text)
    return generate_tool(
        get,
        name=name or f"get_{kind.table}",
        description=description or f"List the {kind.table.replace('_', ' ')} of {with_article(word)}.",
        parameters={by: Parameter(annotation=id_annotation(owner), text=argument_text or f"The {word}'s id.")},
        origin=(again, ()),
        reads=Reads(table=kind.table, by={by: by}),
    )


def search_tool(
    kind: type[Row],
    description: str = "",
    *,
    summary: tuple[str, ...],
    name: str = "",
    owner: type[Row] | None = None,
    query_text: str = "",
    filters: Texts = (),
) -> Tool:
    """A tool that lists rows in short, ten at a time: those of an owner, that hold words, or that pass filters.

    Args:
        kind: The row class.
        description: What the agent reads; empty: "List the loans. At most ten are listed at a time."
        summary: The columns of an entry, beside the id.
        name: The tool's name; empty: `search_` and the table, as in `search_loans`.
        owner: The class of what the rows must belong to; its id is then an argument, such as `member_id`.
        query_text: The description of the argument `query`, words that a row's text must hold; empty: there is none.
        filters: Columns by which the list can be narrowed, each with the description of its argument.
    """
    owning = f"{noun_of(owner)}_id" if owner is not None else ""
    equal = (*([owning] if owning else []), *(column for column, _ in filters))

    def search(context: ToolContext, *, cursor: str | None, query: str = "", **arguments: Json) -> object:
        if owner is not None:
            context.state.get(owner, cast("str", arguments[owning]))
        wanted = {column: value for column in equal if (value := arguments[column]) is not None}
        if not query_text:
            return page(context, context.state.find(kind, **wanted), cursor, entry, asked=wanted)
        found = context.state.search(kind, query)
        fitting = [row for row in found if all(getattr(row, column) == value for column, value in wanted.items())]
        return page(context, fitting, cursor, entry, asked=wanted)

    hints = get_type_hints(kind)
    dated = tuple(column for column in summary if _is_dated(hints[column]))

    def entry(row: Row) -> dict[str, Json]:
        values: dict[str, Any] = {column: getattr(row, column) for column in summary}
        for column in dated:
            if values[column] is not None:
                values[column] = values[column].isoformat()
        return values

    again = partial(
        search_tool,
        kind,
        description,
        summary=summary,
        name=name,
        owner=owner,
        query_text=query_text,
        filters=filters,
    )
    return generate_tool(
        search,
        name=name or f"search_{kind.table}",
        description=description or f"List the {kind.table.replace('_', ' ')}. At most ten are listed at a time.",
        parameters=_search_parameters(kind, owner, query_text, filters),
        origin=(again, ()),
        reads=Reads(
            table=kind.table,
            by={column: column for column in equal},
            search="query" if query_text else None,
            cursor="cursor",
        ),
    )


def _search_parameters(
    kind: type[Row], owner: type[Row] | None, query_text: str, filters: Texts
) -> dict[str, Parameter]:
    parameters: dict[str, Parameter] = {}
    if owner is not None:
        noun = noun_of(owner)
        text = f"The {noun.replace('_', ' ')}'s id."
        parameters[f"{noun}_id"] = Parameter(annotation=id_annotation(owner), text=text)
    if query_text:
        parameters["query"] = Parameter(annotation=str, text=query_text)
    for column, text in filters:
        parameters[column] = Parameter(annotation=column_annotation(kind, column) | None, text=text, default=None)
    parameters["cursor"] = Parameter(annotation=Cursor, text=CURSOR_TEXT, default=None)
    return parameters


def _show(context: ToolContext, identifiers: tuple[str, ...], *rows: Row) -> None:
    """Say that these rows are shown whole, and which ids of no one table stand in them."""
    context.show(*rows)
    for column in identifiers:
        context.mention(*(key for row in rows if (key := getattr(row, column)) is not None))


def _identifiers(kind: type[Row]) -> tuple[str, ...]:
    """The columns that hold ids of no one table."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple(column for column, hint in hints.items() if References(ANY_TABLE) in _marks(hint))


def _marks(hint: Any) -> list[Any]:
    own = list(getattr(hint, "__metadata__", ()))
    return own + [mark for part in get_args(hint) if get_origin(part) is not None for mark in _marks(part)]


def _is_dated(hint: Any) -> bool:
    """Whether a column holds dates or times, or `None` in their place."""
    return any(isinstance(part, type) and issubclass(part, date) for part in (hint, *get_args(hint)))
