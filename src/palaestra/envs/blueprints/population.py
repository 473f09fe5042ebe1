"""The rows of a world seed, drawn as the entities say."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar, cast

from palaestra.envs.blueprints.blueprint import Blueprint, FieldSpec
from palaestra.envs.blueprints.dealing import deal_values
from palaestra.envs.blueprints.expressions import Frame, ValueType
from palaestra.envs.blueprints.handbook import HandbookText
from palaestra.envs.blueprints.row_drawing import RowDrawing, draw_value, has_people, id_numbers
from palaestra.envs.blueprints.scopes import Scopes
from palaestra.envs.kit import draw_people
from palaestra.envs.state import Base, Schema
from palaestra.records import Json, Row
from palaestra.seeding import Stream

R = TypeVar("R", bound=Row)


class BlueprintPopulation:
    """Draws the rows of a blueprint's world.

    Args:
        blueprint: The blueprint.
        scopes: Its scopes.
        kinds: Its row classes.
        schema: Its tables.
        handbook: Its handbook.
        drawing: What draws its rows.
        start: When the episodes of a seed begin.
    """

    def __init__(
        self,
        blueprint: Blueprint,
        scopes: Scopes,
        kinds: Mapping[str, type[Row]],
        *,
        schema: Schema,
        handbook: HandbookText,
        drawing: RowDrawing,
        start: Callable[[int], datetime],
    ) -> None:
        self._blueprint = blueprint
        self._scopes = scopes
        self._kinds = kinds
        self._schema = schema
        self._handbook = handbook
        self._drawing = drawing
        self._start = start

    def __call__(self, seed: int, rules: Any) -> Base:
        """The rows of a world seed under its rules."""
        today = self._start(seed).date()
        frame = Frame(state=_DrawnRows(), kinds=self._kinds, rules=rules, today=today, names={})
        stream = Stream.root(self._blueprint.id, seed)
        for entity in self._blueprint.entities:
            self._draw_entity(entity, frame, stream.split(entity))
        assert isinstance(frame.state, _DrawnRows), "it was made above"
        return Base(self._schema, [*self._handbook.sections(rules, today), *frame.state.rows()])

    def _draw_entity(self, entity: str, frame: Frame, stream: Stream) -> None:
        spec, drawn = self._blueprint.entities[entity], frame.state
        assert isinstance(drawn, _DrawnRows), "rows are drawn into it"
        columns = self._scopes.columns(entity)
        given = self._references(entity, drawn, stream.split("count"))
        people = draw_people(stream.split("people"), len(given)) if has_people(spec) else [None] * len(given)
        dealt = {
            name: self._deal(self._scopes.types[entity][name], field, len(given), frame, stream.split("dealt", name))
            for name, field in spec.fields.items()
            if name not in spec.per and field.value is None
        }
        # Ids that grow with the owners would show a row that a task adds, wherever its id stands.
        ids = stream.split("ids").sample(id_numbers(spec, len(given)), len(given))
        for number, (named, person) in enumerate(zip(given, people, strict=True)):
            key = f"{self._kinds[entity].prefix}{ids[number]}"
            values: dict[str, Any] = {columns[name]: key for name, key in named.items()}
            for name, field in spec.fields.items():
                if name not in named and field.value is None:
                    kind, own = self._scopes.types[entity][name], stream.split(name, number)
                    is_there, value = dealt[name][number]
                    found = draw_value(kind, field, number, person, frame.today, own) if value is None else value
                    values[columns[name]] = found if is_there else None
                elif name not in named:
                    values[columns[name]] = None  # it is worked out once the row stands
            row = self._kinds[entity](id=key, **values)
            drawn.add(row)
            self._drawing.work_out(row, entity, (), frame, drawn.write)

    def _references(self, entity: str, drawn: "_DrawnRows", stream: Stream) -> list[dict[str, str]]:
        """For each row to be drawn: the reference that is given with it, where rows are counted by one."""
        spec = self._blueprint.entities[entity]
        if not spec.per:
            return [{} for _ in range(spec.count or 0)]
        (name, (least, most)), *_ = spec.per.items()
        owners = drawn.of(self._kinds[self._scopes.types[entity][name].entity])
        return [{name: owner.id} for owner in owners for _ in range(stream.between(least, most))]

    def _deal(
        self, kind: ValueType, field: FieldSpec, count: int, frame: Frame, stream: Stream
    ) -> list[tuple[bool, Any]]:
        """For each row: whether the field has a value, and the value where it is one of several; `None`: it is drawn.

        Any: a value of the field's type.
        """
        percent = 50 if field.percent is None else field.percent
        shares = [(True, percent), (False, 100 - percent)]
        there = deal_values(shares, count, stream.split("there")) if kind.optional else [True] * count
        options: list[tuple[Any, int]] = []
        match kind.name:
            case "flag":
                options = [(True, 1), (False, 1)] if kind.optional else shares
            case "choice":
                options = list(zip(kind.options, field.weights or (1,) * len(kind.options), strict=True))
            case "row":
                assert isinstance(frame.state, _DrawnRows), "rows are drawn into it"
                options = [(row.id, 1) for row in frame.state.of(self._kinds[kind.entity])]
            case _:
                return [(has_value, None) for has_value in there]
        return list(zip(there, deal_values(options, count, stream.split("values")), strict=True))


class _DrawnRows:
    """The rows that were drawn so far."""

    def __init__(self) -> None:
        self._rows: dict[type[Row], dict[str, Row]] = {}

    def add(self, row: Row) -> None:
        """Take in a row, in place of one of its id."""
        self._rows.setdefault(type(row), {})[row.id] = row

    def write(self, row: Row, column: str, value: Any) -> Row:
        """The row with another value, which it has from now on; Any: a value of the column's type."""
        changed = replace(row, **{column: value})
        self.add(changed)
        return changed

    def rows(self) -> list[Row]:
        """All rows."""
        return [row for rows in self._rows.values() for row in rows.values()]

    def of(self, kind: type[Row]) -> list[Row]:
        """The rows of a class."""
        return list(self._rows.get(kind, {}).values())

    def get(self, kind: type[R], key: str) -> R:
        """The row of an id."""
        return cast("R", self._rows[kind][key])

    def find(self, kind: type[R], /, **equal: Json) -> list[R]:
        """The rows whose columns have these values."""
        rows = cast("list[R]", self.of(kind))
        return [row for row in rows if all(getattr(row, column) == value for column, value in equal.items())]
