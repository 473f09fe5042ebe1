"""The rows in a simulator's answer: found by their ids, checked against the columns of their table."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, cast, get_type_hints

import orjson
from pydantic import TypeAdapter, ValidationError

from palaestra.envs.state import Overlay, Schema, TableInfo
from palaestra.errors import ReplyError
from palaestra.records import Json, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRow:
    """A row, or a part of one, as an answer shows it."""

    kind: type[Row]
    key: str
    columns: Mapping[str, Any]
    """Without the id. Any: values of the columns' types."""
    whole: bool
    """Whether it has every column."""

    def differences(self, row: Row) -> dict[str, Any]:
        """The columns in which it is not as a row."""
        return {name: value for name, value in self.columns.items() if getattr(row, name) != value}

    def make(self) -> Row:
        """The row, where it is whole."""
        return self.kind(id=self.key, **self.columns)


def find_rows(answer: Json, schema: Schema, state: Overlay) -> list[AnswerRow]:
    """The rows that an answer shows, in order; a row that stands there twice is there twice.

    An object with an id is a row of the table that has this id, else of the table with the id's prefix, else of the one
    table with its columns. What it has beside the columns of the table is no part of the row.

    Raises:
        ReplyError: a whole row has a value of another type than its column.
    """
    found: list[AnswerRow] = []
    for one in _objects(answer):
        info = _table_of(one, schema, state)
        if info is not None:
            found.append(_read_row(one, info))
    return found


def _objects(value: Json) -> Iterator[dict[str, Json]]:
    if isinstance(value, dict):
        if isinstance(value.get("id"), str):
            yield value
        for part in value.values():
            yield from _objects(part)
    elif isinstance(value, list):
        for part in value:
            yield from _objects(part)


def _table_of(found: Mapping[str, Json], schema: Schema, state: Overlay) -> TableInfo | None:
    key = cast("str", found["id"])
    tables = [info for info in schema if state.peek(info.kind, key) is not None]
    if not tables:
        named = [info for info in schema if info.kind.prefix and key.startswith(info.kind.prefix)]
        tables = sorted(named, key=lambda info: -len(info.kind.prefix))[:1]
    if not tables:
        alike = [info for info in schema if info.columns.keys() <= found.keys() and len(info.columns) > 2]
        tables = alike if len(alike) == 1 else []
    return tables[0] if tables else None


def _read_row(found: Mapping[str, Json], info: TableInfo) -> AnswerRow:
    whole = info.columns.keys() <= found.keys()
    columns: dict[str, Any] = {}
    for name, value in found.items():
        if name == "id" or name not in info.columns:
            continue
        try:
            columns[name] = _adapters(info.kind)[name].validate_json(orjson.dumps(value), strict=True)
        except ValidationError:
            if whole:  # a part of a row may be shown in another form, such as a date in words
                raise ReplyError(
                    f"{found['id']}.{name} is {value!r}, and no {info.columns[name].type_name}; write such a value"
                ) from None
    return AnswerRow(kind=info.kind, key=cast("str", found["id"]), columns=columns, whole=whole)


_ADAPTERS: dict[type[Row], dict[str, TypeAdapter[Any]]] = {}
"""By row class: what reads the values of its columns."""


def _adapters(kind: type[Row]) -> dict[str, TypeAdapter[Any]]:
    if kind not in _ADAPTERS:
        hints = get_type_hints(kind, include_extras=True)
        _ADAPTERS[kind] = {field.name: TypeAdapter(hints[field.name]) for field in fields(kind)}
    return _ADAPTERS[kind]


def put_row(state: Overlay, found: AnswerRow) -> bool:
    """Let a row of a state be as an answer shows it; whether that changed anything."""
    row = state.peek(found.kind, found.key)
    if row is None:
        if found.whole:
            state.insert(found.make())
        return found.whole
    if differences := found.differences(row):
        state.update(row, **differences)
    return bool(differences)
