"""The records of an episode, read from an author's view: the same classes and values as in process."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar, get_type_hints

import orjson
from pydantic import ConfigDict, TypeAdapter, ValidationError

from palaestra.envs import World
from palaestra.errors import ReplyError
from palaestra.records import Row, RowChange, Score, TaskSpec, ToolCall, ToolEvent
from palaestra.steps import ResetRecord, StepRecord
from palaestra.tools import Schemas

R = TypeVar("R")

_RESET, _STEP = TypeAdapter(ResetRecord), TypeAdapter(StepRecord)
_TASK, _SCORE = TypeAdapter(TaskSpec), TypeAdapter(Score)
_CALLS, _EVENTS = TypeAdapter(tuple[ToolCall, ...]), TypeAdapter(tuple[ToolEvent, ...])
_COLUMN = ConfigDict(val_json_bytes="base64")


class AuthorRecords:
    """Reads the records of a world's episodes.

    Args:
        world: The world whose row classes the changes use.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._columns: dict[type[Row], dict[str, TypeAdapter[Any]]] = {}

    def read_reset(self, shown: dict[str, Any]) -> ResetRecord:
        """The record of a reset. Any: JSON.

        Raises:
            ReplyError: `shown` is not such a record.
        """
        tools = read_tools(shown["tools"])
        read = _read(_RESET, {**shown, "tools": ()})
        return replace(read, tools=tools)

    def read_step(self, shown: dict[str, Any]) -> StepRecord:
        """The record of a turn; raises as `read_reset` does."""
        tools, changes = shown["tools"], shown["changes"]
        read = _read(_STEP, {**shown, "tools": None, "changes": ()})
        return replace(
            read,
            tools=None if tools is None else read_tools(tools),
            changes=tuple(map(self._read_change, changes)),
        )

    def _read_change(self, shown: Mapping[str, Any]) -> RowChange:
        kind = self._world.schema[shown["table"]].kind
        before, after = (
            None if row is None else self._read_row(kind, row) for row in (shown["before"], shown["after"])
        )
        return RowChange(table=shown["table"], key=shown["key"], before=before, after=after)

    def _read_row(self, kind: type[Row], shown: Mapping[str, Any]) -> Row:
        if kind not in self._columns:
            hints = get_type_hints(kind, include_extras=True)
            self._columns[kind] = {f.name: TypeAdapter(hints[f.name], config=_COLUMN) for f in fields(kind)}
        columns = self._columns[kind]
        try:
            return kind(**{name: columns[name].validate_json(orjson.dumps(value)) for name, value in shown.items()})
        except (ValidationError, LookupError, TypeError) as error:
            raise ReplyError(f"{shown!r:.200} is no row of {kind.table}; is the world's pack the server's?") from error


def read_tools(shown: Sequence[Any]) -> Schemas:
    """Tool schemas. Any: JSON."""
    return Schemas(orjson.dumps(shown))


def read_task(shown: Any) -> TaskSpec:
    """The public description of a task; raises as `AuthorRecords.read_reset` does."""
    return _read(_TASK, shown)


def read_score(shown: Any) -> Score:
    """A judgement; raises as `AuthorRecords.read_reset` does."""
    return _read(_SCORE, shown)


def read_calls(shown: Any) -> tuple[ToolCall, ...]:
    """Calls; raises as `AuthorRecords.read_reset` does."""
    return _read(_CALLS, shown)


def read_events(shown: Any) -> tuple[ToolEvent, ...]:
    """Events; raises as `AuthorRecords.read_reset` does."""
    return _read(_EVENTS, shown)


def _read(adapter: TypeAdapter[R], shown: Any) -> R:
    try:
        return adapter.validate_python(shown)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ReplyError(f"{where}: {first['msg']}; client and server need the same version of Palaestra") from error
