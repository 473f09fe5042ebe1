"""From a world's own tools to the generic surface: for each call, calls that show or do the same.

A reading tool is translated by the rows that it declares; an action becomes a workflow of one step.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from palaestra.envs.state import Schema, TableInfo
from palaestra.envs.state.query import OPERATORS, follow, select
from palaestra.envs.surfaces.reading import MOST_REACHED, PAGE
from palaestra.errors import DefinitionError, ToolRefusal, UnknownNameError
from palaestra.protocols import StateView
from palaestra.records import Json, Row, ToolCall
from palaestra.tools import Reads, Tool, Toolbox

Conditions = dict[str, Json]


class Translation:
    """Turns calls of a world's own tools into calls of its generic surface.

    Args:
        schema: The world's tables.
        reads: By name: the reading tools, and what each shows.
        actions: The tools that a workflow runs.
    """

    def __init__(self, schema: Schema, reads: Mapping[str, tuple[Tool, Reads]], actions: Toolbox) -> None:
        self._schema = schema
        self._actions = actions
        self._reads = reads
        self._defaults = {name: _defaults(tool) for name, (tool, _) in reads.items()}

    def translate(self, calls: Sequence[ToolCall], state: StateView) -> tuple[ToolCall, ...]:
        """The calls of the generic surface that do what `calls` do.

        Args:
            calls: Calls of the world's own tools; one of the generic surface stays as it is.
            state: The rows that they begin at. They tell how many pages an answer takes that a tool gives in one.
        """
        return tuple(said for call in calls for said in self._translate_call(call, state))

    def _translate_call(self, call: ToolCall, state: StateView) -> Sequence[ToolCall]:
        if call.tool in self._actions:
            steps: list[Json] = [{"action": call.tool, "arguments": dict(call.arguments)}]
            return [ToolCall(tool="run_workflow", arguments={"steps": steps})]
        if call.tool not in self._reads:
            return [call]
        reads = self._reads[call.tool][1]
        given = {**self._defaults[call.tool], **call.arguments}
        where = _conditions(reads, given, self._defaults[call.tool])
        search = given.get(reads.search) if reads.search else None
        if search == "" and reads.search not in self._defaults[call.tool]:
            search = " "  # a search for no word finds nothing, where the tool takes words in any case
        if reads.follow:
            return list(self._traversals(reads, where, state))
        query = _query(reads.table, where, search, given.get(reads.cursor) if reads.cursor else None)
        if reads.cursor or "id" in where:
            return [query]
        return [query, *self._next_pages(query, state)]

    def _next_pages(self, query: ToolCall, state: StateView) -> Iterator[ToolCall]:
        """The queries for what does not stand on the first page."""
        arguments: Any = query.arguments
        info = self._schema[arguments["table"]]
        try:
            rows: list[Row] = select(state, info, arguments.get("where", {}), arguments.get("search", ""))
        except ToolRefusal:
            return  # the call is refused as it is
        for row in rows[PAGE - 1 : -1 : PAGE]:
            yield ToolCall(tool="query", arguments={**query.arguments, "cursor": row.id})

    def _traversals(self, reads: Reads, where: Conditions, state: StateView) -> Iterator[ToolCall]:
        """A traversal for each path, or queries along one that shows too many rows at once."""
        key = where["id"]
        start: Row | None = state.peek(self._schema[reads.table].kind, str(key))
        for path in (entry.split("/") for entry in reads.follow):
            reached = follow(state, self._schema, start, path) if start is not None else []
            if 1 + sum(map(len, reached)) <= MOST_REACHED or len(path) > 1:
                arguments: Any = {"table": reads.table, "id": key, "path": path}
                yield ToolCall(tool="traverse", arguments=arguments)
                continue
            table, _, column = path[0].partition(".")
            query = _query(table, {column: key}, None, None)
            yield from (_query(reads.table, where, None, None), query, *self._next_pages(query, state))


def check_reads(tool: Tool, reads: Reads, schema: Schema) -> None:
    """Raise `DefinitionError` where what a tool says it reads does not fit its arguments or the schema."""
    conditions = [*reads.by.values(), *(condition for condition, _ in reads.flags.values())]
    try:
        info = schema[reads.table]
        for condition in conditions:
            _check_condition(condition, info)
        for path in reads.follow:
            _check_path(path, info, schema)
    except UnknownNameError as unknown:
        raise DefinitionError(f"tool {tool.name} reads what the schema lacks: {unknown}") from None
    single = (name for name in (reads.search, reads.cursor) if name is not None)
    said, taken = [*reads.by, *reads.flags, *single], set(tool.parameters["properties"])
    if len(set(said)) < len(said) or set(said) != taken:
        raise DefinitionError(
            f"tool {tool.name} takes {', '.join(sorted(taken)) or 'no argument'}, but its `reads` speaks of "
            f"{', '.join(sorted(said)) or 'none'}; name each argument once"
        )
    if len(set(conditions)) < len(conditions):
        raise DefinitionError(
            f"tool {tool.name} reads by {', '.join(conditions)}; state each condition once, such as `size` and `size =`"
        )
    if reads.search is not None and not info.searchable:
        raise DefinitionError(f"tool {tool.name} searches {info.name}, which has no Searchable column")
    if reads.follow and list(reads.by.values()) != ["id"]:
        raise DefinitionError(f"tool {tool.name} follows paths, so it has to read one row by its id and nothing else")


def _check_condition(condition: str, info: TableInfo) -> None:
    column, _, operator = condition.partition(" ")
    if column not in info.columns:
        raise UnknownNameError.of("column", column, info.columns)
    if operator and operator not in OPERATORS:
        raise UnknownNameError.of("operator", operator, OPERATORS)


def _check_path(path: str, info: TableInfo, schema: Schema) -> None:
    for step in path.split("/"):
        ways = {c: info.columns[c].references for c in info.references}
        ways |= {f"{t.name}.{c}": t.name for t in schema for c in t.references if t.columns[c].references == info.name}
        if step not in ways:
            raise UnknownNameError.of(f"step from {info.name}", step, ways)
        info = schema[str(ways[step])]


def _defaults(tool: Tool) -> Conditions:
    properties: Mapping[str, Mapping[str, Any]] = tool.parameters["properties"]
    return {name: part["default"] for name, part in properties.items() if "default" in part}


def _conditions(reads: Reads, given: Mapping[str, Json], defaults: Mapping[str, Json]) -> Conditions:
    where: Conditions = {}
    for name, condition in reads.by.items():
        value = given.get(name)
        if value is not None and not (value == "" == defaults.get(name)):
            where[condition] = value
    for name, (condition, value) in reads.flags.items():
        if given.get(name):
            where[condition] = value
    return where


def _query(table: str, where: Conditions, search: Json, cursor: Json) -> ToolCall:
    asked: dict[str, Json] = {"table": table}
    if where:
        asked["where"] = where
    if search:
        asked["search"] = search
    if cursor is not None:
        asked["cursor"] = cursor
    return ToolCall(tool="query", arguments=asked)
