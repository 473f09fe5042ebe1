"""Plans of look-ups: from what an agent knows to what it has to know, by calls of the world's reading tools.

A plan follows the order in which a condition reads its facts. Each call is made on the rows, so the plan knows exactly
what its answer shows, and no call names an id that no answer has shown.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

import orjson

from palaestra.envs.blueprints.expressions import EvaluationTrace, Scan
from palaestra.envs.state import Overlay
from palaestra.envs.task import call
from palaestra.errors import BlueprintError
from palaestra.records import Json, Row, ToolCall
from palaestra.tools import Tool, Toolbox, ToolContext

MAX_PAGES = 5
"""The most pages of a list that a plan turns."""


@dataclass(slots=True)
class Knowledge:
    """What an agent has been told and shown."""

    ids: set[str]
    shown: dict[tuple[str, str], set[str]]
    """By table and id: the columns."""
    whole: set[tuple[str, str]]
    """The rows that were shown whole."""
    sets: set[tuple[str, frozenset[tuple[str, Json]]]]
    """The sets of rows that were listed to the end: by table, the columns whose values chose them."""

    def has(self, table: str, key: str, columns: Iterable[str]) -> bool:
        """Whether these columns of a row were shown."""
        return (table, key) in self.whole or self.shown.get((table, key), set()).issuperset(columns)


class Planner:
    """Plans look-ups, one after another; what an earlier one shows is known to the later ones.

    Args:
        toolbox: The world's tools.
        kinds: Its row classes, by entity.
        state: The rows.
        context: A context for calls on these rows.
        known: The ids that are known at first.
    """

    def __init__(
        self,
        toolbox: Toolbox,
        kinds: Mapping[str, type[Row]],
        *,
        state: Overlay,
        context: ToolContext,
        known: Iterable[str],
    ) -> None:
        self._toolbox = toolbox
        self._readers = [tool for tool in toolbox if tool.reads is not None and not tool.writes]
        self._kinds = kinds
        self._state = state
        self._context = context
        self.knowledge = Knowledge(set(known), {}, set(), set())

    def make(self, made: ToolCall) -> ToolCall:
        """Make a call and take in what its answer shows."""
        self._run(made)
        return made

    def hear(self, ids: Iterable[str]) -> None:
        """Take in ids that somebody has named."""
        self.knowledge.ids.update(ids)

    def look_up(self, trace: EvaluationTrace) -> list[ToolCall]:
        """The calls that show everything that an evaluation has read and is not known yet.

        Raises:
            BlueprintError: no tool shows it; the message says which one is missing.
        """
        calls: list[ToolCall] = []
        for step in trace.steps:
            if isinstance(step, Scan):
                calls.extend(self._look_through(step, trace))
            else:
                entity, key = step
                calls.extend(self._look_at(self._kinds[entity].table, key, trace.cells[step]))
        return calls

    def look_up_row(self, row: Row, columns: Iterable[str], *, way: EvaluationTrace) -> list[ToolCall]:
        """The calls that show a row; none where it is known.

        Args:
            row: The row.
            columns: Which of its columns have to be known; none: the whole row.
            way: What was read to find it.

        Raises:
            BlueprintError: no tool shows it; the message says which one is missing.
        """
        wanted = list(columns) or [field.name for field in fields(row) if field.name != "id"]
        if self.knowledge.has(row.table, row.id, wanted):
            return []
        return [*self.look_up(way), *self._look_at(row.table, row.id, wanted)]

    def _look_through(self, scan: Scan, trace: EvaluationTrace) -> list[ToolCall]:
        """The calls that list a set. To know each of its rows is not to know that there are no others."""
        table, equal = self._kinds[scan.entity].table, dict(scan.equal)
        columns = {key: trace.cells.get((scan.entity, key), {}) for key in scan.keys}
        is_listed = (table, frozenset(equal.items())) in self.knowledge.sets
        if is_listed and all(self.knowledge.has(table, key, read) for key, read in columns.items()):
            return []
        for tool in self._readers:
            arguments = self._arguments(tool, table, equal)
            if arguments is not None and (set(equal) <= set(tool.reads.by.values() if tool.reads else ())):
                return self._list(tool, arguments)
        by = " and ".join(equal) or "itself"
        raise BlueprintError(
            f"no tool lists the {table} by {by}; give their entity the tool `list FIELD`, or `search` with that filter"
        )

    def _look_at(self, table: str, key: str, columns: Iterable[str]) -> list[ToolCall]:
        if self.knowledge.has(table, key, columns):
            return []
        row = next(row for kind in self._kinds.values() if kind.table == table for row in [self._state.get(kind, key)])
        for tool in self._readers:
            if tool.reads is None or tool.reads.table != table or tool.reads.cursor is not None:
                continue  # what has pages shows entries, not rows
            values = {column: getattr(row, column) for column in tool.reads.by.values()}
            arguments = self._arguments(tool, table, values)
            if arguments is not None:
                return self._list(tool, arguments)
        raise BlueprintError(f"no tool shows {key} of the {table} by what is known; give its entity the tool `get`")

    def _arguments(self, tool: Tool, table: str, equal: Mapping[str, Json]) -> dict[str, Json] | None:
        """The arguments by which a tool shows rows of these values; `None` where it cannot, or an id is not known."""
        reads = tool.reads
        if reads is None or reads.table != table:
            return None
        arguments: dict[str, Json] = {}
        required = set(tool.parameters.get("required", ()))
        for argument, column in reads.by.items():
            if column in equal:
                value = equal[column]
                if argument in tool.references and value not in self.knowledge.ids:
                    return None
                arguments[argument] = value
            elif argument in required:
                return None
        return arguments if arguments.keys() >= required - {"query"} and "query" not in required else None

    def _list(self, tool: Tool, arguments: dict[str, Json]) -> list[ToolCall]:
        """The calls that show what a tool lists, page by page."""
        calls = [call(tool.name, **arguments)]
        cursor = self._run(calls[0])
        while cursor is not None and len(calls) < MAX_PAGES:
            calls.append(call(tool.name, **arguments, cursor=cursor))
            cursor = self._run(calls[-1])
        if cursor is None and tool.reads is not None:
            chosen = frozenset((tool.reads.by[argument], value) for argument, value in arguments.items())
            self.knowledge.sets.add((tool.reads.table, chosen))
        return calls

    def _run(self, made: ToolCall) -> str | None:
        """Make a call; the cursor of its next page, where there is one."""
        result = self._toolbox.call(self._context, self._state, "plan", made, ())
        event = result.event
        if event.error is not None:
            raise BlueprintError(f"the look-up {made.tool} {dict(made.arguments)} is refused: {event.error}")
        self.knowledge.ids |= event.mentioned
        self.knowledge.whole.update(event.shown)
        for part in event.columns:
            for key in part.keys:
                self.knowledge.shown.setdefault((part.table, key), set()).update(part.columns)
        answer: Json = orjson.loads(result.content)
        cursor = answer.get("next_cursor") if isinstance(answer, dict) else None
        return cursor if isinstance(cursor, str) else None
