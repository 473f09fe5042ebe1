"""The rows of a world seed, drawn as the entities say."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any, TypeVar, cast

from palaestra.envs.blueprints.blueprint import Blueprint, EntitySpec, FieldSpec
from palaestra.envs.blueprints.dealing import deal_values
from palaestra.envs.blueprints.expressions import Frame, ValueType
from palaestra.envs.blueprints.handbook import HandbookText
from palaestra.envs.blueprints.scopes import Scopes
from palaestra.envs.blueprints.templates import Evaluate, read_value
from palaestra.envs.kit import Person, draw_people
from palaestra.envs.state import Base, Schema
from palaestra.records import Json, Row
from palaestra.seeding import Stream

R = TypeVar("R", bound=Row)
_HOSTS = ("inbox.example", "mail.example", "post.example")


class BlueprintPopulation:
    """Draws the rows of a blueprint's world.

    Args:
        blueprint: The blueprint.
        scopes: Its scopes.
        kinds: Its row classes.
        schema: Its tables.
        handbook: Its handbook.
        start: When the episodes of a seed begin.

    Raises:
        BlueprintError: a value cannot be read.
    """

    def __init__(
        self,
        blueprint: Blueprint,
        scopes: Scopes,
        kinds: Mapping[str, type[Row]],
        *,
        schema: Schema,
        handbook: HandbookText,
        start: Callable[[int], datetime],
    ) -> None:
        self._blueprint = blueprint
        self._scopes = scopes
        self._kinds = kinds
        self._schema = schema
        self._handbook = handbook
        self._start = start
        self._values: dict[tuple[str, str], Evaluate] = {
            (entity, name): read_value(field.value, scopes.types[entity][name], scopes.population(entity))
            for entity, spec in blueprint.entities.items()
            for name, field in spec.fields.items()
            if field.value is not None
        }

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
        people = draw_people(stream.split("people"), len(given)) if _is_person(spec) else [None] * len(given)
        dealt = {
            name: self._deal(self._scopes.types[entity][name], field, len(given), frame, stream.split("dealt", name))
            for name, field in spec.fields.items()
            if name not in spec.per and field.value is None
        }
        for number, (named, person) in enumerate(zip(given, people, strict=True)):
            key = f"{self._kinds[entity].prefix}{spec.first + number}"
            values: dict[str, Any] = {columns[name]: key for name, key in named.items()}
            for name, field in spec.fields.items():
                if name not in named and field.value is None:
                    kind, own = self._scopes.types[entity][name], stream.split(name, number)
                    is_there, value = dealt[name][number]
                    drawn_value = self._draw(kind, field, number, person, frame.today, own) if value is None else value
                    values[columns[name]] = drawn_value if is_there else None
                elif name not in named:
                    values[columns[name]] = None  # it is worked out once the row stands
            row = self._kinds[entity](id=key, **values)
            drawn.add(row)
            frame.names = {entity: key}
            for name in spec.fields:
                if (evaluate := self._values.get((entity, name))) is not None:
                    row = replace(row, **{columns[name]: evaluate(frame)})
                    drawn.add(row)

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

    def _draw(
        self, kind: ValueType, field: FieldSpec, number: int, person: Person | None, today: date, stream: Stream
    ) -> Any:
        """A number, a date or a text."""
        if field.type in {"name", "email"}:
            assert person is not None, "an entity with these fields has people"
            return person.name if field.type == "name" else f"{person.mailbox}@{stream.choice(_HOSTS)}"
        match kind.name:
            case "integer" | "money":
                low, high = field.between or (0, 0)
                return low + field.step * stream.below((high - low) // field.step + 1)
            case "date":
                return today + timedelta(stream.between(*(field.days or (0, 0))))
            case _:
                return field.one_of[number] if number < len(field.one_of) else stream.choice(field.one_of)


class _DrawnRows:
    """The rows that were drawn so far."""

    def __init__(self) -> None:
        self._rows: dict[type[Row], dict[str, Row]] = {}

    def add(self, row: Row) -> None:
        """Take in a row, in place of one of its id."""
        self._rows.setdefault(type(row), {})[row.id] = row

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


def _is_person(spec: EntitySpec) -> bool:
    return any(field.type in {"name", "email"} for field in spec.fields.values())
