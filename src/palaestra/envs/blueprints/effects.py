"""What an action changes: fields that are set and rows that are made, worked out before any is written."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from palaestra.envs.blueprints.blueprint import Creation, Scalar
from palaestra.envs.blueprints.expressions import Expression, Frame, Scope, parse_expression
from palaestra.envs.blueprints.scopes import Scopes
from palaestra.envs.blueprints.templates import Evaluate, read_value
from palaestra.errors import BlueprintError, UnknownNameError
from palaestra.protocols import State
from palaestra.records import Row

AddRow: TypeAlias = Callable[[str, Mapping[str, object]], Row]
"""Adds a row of an entity with these columns."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """A field of a row that is set."""

    row: Expression
    column: str
    value: Evaluate


@dataclass(frozen=True, slots=True)
class Insertion:
    """A row that is made."""

    entity: str
    values: Mapping[str, Evaluate]
    """By column."""


@dataclass(frozen=True, slots=True)
class Effects:
    """Everything that changes at once."""

    assignments: tuple[Assignment, ...]
    insertions: tuple[Insertion, ...]

    def apply(self, frame: Frame, state: State, add: AddRow | None = None) -> list[Row]:
        """Write them; the rows as they stand afterwards, those that were made last.

        Args:
            frame: What the values are worked out on.
            state: The rows.
            add: Adds the rows that are made; `None`: they have all their columns, and the next ids.
        """
        changes: dict[tuple[str, str], dict[str, object]] = {}
        for one in self.assignments:
            row = (one.row.type.entity, one.row.evaluate(frame))
            changes.setdefault(row, {})[one.column] = one.value(frame)
        made = [(one.entity, {name: value(frame) for name, value in one.values.items()}) for one in self.insertions]
        rows: list[Row] = []
        for (entity, key), values in changes.items():
            rows.append(state.update(state.get(frame.kinds[entity], key), **values))
        for entity, values in made:
            if add is not None:
                rows.append(add(entity, values))
                continue
            kind = frame.kinds[entity]
            rows.append(state.insert(kind(id=state.next_id(kind), **values)))
        return rows


def read_effects(
    sets: Sequence[tuple[str, Scalar | None]],
    creates: Sequence[Creation],
    scope: Scope,
    scopes: Scopes,
    *,
    planted: bool = False,
) -> Effects:
    """The effects that a document states.

    Args:
        sets: The fields that are set, and their values.
        creates: The rows that are made.
        scope: What the values may name.
        scopes: The blueprint's scopes.
        planted: Whether rows are drawn but for the fields that are stated; else each field has to be stated.

    Raises:
        BlueprintError: a path names no field, a value is of another type, or a row lacks a field.
    """
    assignments = tuple(_read_assignment(path, value, scope, scopes) for path, value in sets)
    return Effects(assignments, tuple(_read_insertion(one, scope, scopes, planted=planted) for one in creates))


def _read_assignment(path: str, value: Scalar | None, scope: Scope, scopes: Scopes) -> Assignment:
    base, _, name = path.rpartition(".")
    if not base:
        raise BlueprintError(f"{path!r} names no field of a row; write one, such as `loan.due`")
    row = parse_expression(base, scope)
    if row.type.name != "row" or row.type.optional:
        raise BlueprintError(f"{path!r}: {base} is {row.type}; a field is set of a row that is there")
    fields = scopes.types[row.type.entity]
    if name not in fields:
        raise BlueprintError(f"{path!r}: {UnknownNameError.of(f'field of {row.type.entity}', name, fields)}")
    column = scopes.columns(row.type.entity)[name]
    return Assignment(row, column, read_value(value, fields[name], scope))


def _read_insertion(one: Creation, scope: Scope, scopes: Scopes, *, planted: bool) -> Insertion:
    if one.entity not in scopes.types:
        raise BlueprintError(str(UnknownNameError.of("entity", one.entity, scopes.types)))
    fields = scopes.types[one.entity]
    for name in one.fields:
        if name not in fields:
            raise BlueprintError(str(UnknownNameError.of(f"field of {one.entity}", name, fields)))
    missing = [name for name, kind in fields.items() if name not in one.fields and not kind.optional]
    if missing and not planted:
        raise BlueprintError(f"a new row of {one.entity} lacks {', '.join(missing)}; give each field a value")
    columns = scopes.columns(one.entity)
    written = {name: kind for name, kind in fields.items() if name in one.fields or not planted}
    return Insertion(
        one.entity, {columns[name]: read_value(one.fields.get(name), kind, scope) for name, kind in written.items()}
    )
