"""One row, drawn as its entity says: for a population, and for a task that adds a row to it."""

from collections.abc import Callable, Collection, Mapping
from datetime import date, timedelta
from typing import Any

from palaestra.envs.blueprints.blueprint import Blueprint, EntitySpec, FieldSpec
from palaestra.envs.blueprints.expressions import Frame, ValueType
from palaestra.envs.blueprints.scopes import Scopes
from palaestra.envs.blueprints.templates import Evaluate, read_value
from palaestra.envs.kit import Person, draw_people
from palaestra.records import Row
from palaestra.seeding import Stream

_HOSTS = ("inbox.example", "mail.example", "post.example")
_LEAST_GAPS = 8
_ROWS_FOR_EACH_GAP = 4


def id_numbers(spec: EntitySpec, rows: int) -> range:
    """The numbers of which the ids of so many rows are drawn; the others are gaps, in which a task adds rows."""
    return range(spec.first, spec.first + rows + max(_LEAST_GAPS, rows // _ROWS_FOR_EACH_GAP))


class RowDrawing:
    """Draws the fields of rows.

    Args:
        blueprint: The blueprint.
        scopes: Its scopes.
        kinds: Its row classes.

    Raises:
        BlueprintError: a value cannot be read.
    """

    def __init__(self, blueprint: Blueprint, scopes: Scopes, kinds: Mapping[str, type[Row]]) -> None:
        self._blueprint = blueprint
        self._scopes = scopes
        self._kinds = kinds
        self._values: dict[tuple[str, str], Evaluate] = {
            (entity, name): read_value(field.value, scopes.types[entity][name], scopes.population(entity))
            for entity, spec in blueprint.entities.items()
            for name, field in spec.fields.items()
            if field.value is not None
        }

    def draw_row(self, entity: str, key: str, given: Mapping[str, Any], frame: Frame, stream: Stream) -> dict[str, Any]:
        """The columns of one more row of an entity; those that are worked out are `None`.

        Any: a value of the column's type.

        Args:
            entity: The entity.
            key: Its id.
            given: Columns that are not drawn.
            frame: The rows that there are.
            stream: What decides.
        """
        spec = self._blueprint.entities[entity]
        person = draw_people(stream.split("person"), 1)[0] if has_people(spec) else None
        columns = self._scopes.columns(entity)
        values = dict(given)
        for name, field in spec.fields.items():
            if columns[name] not in given:
                own, kind = stream.split(name), self._scopes.types[entity][name]
                values[columns[name]] = None if field.value is not None else self._draw(kind, field, person, frame, own)
        return values

    def work_out(
        self, row: Row, entity: str, given: Collection[str], frame: Frame, write: Callable[[Row, str, Any], Row]
    ) -> Row:
        """The row with the values that follow from others, each written once it is known.

        Any: a value of the column's type.
        """
        columns = self._scopes.columns(entity)
        frame.names = {entity: row.id}
        for name in self._blueprint.entities[entity].fields:
            if (evaluate := self._values.get((entity, name))) is not None and columns[name] not in given:
                row = write(row, columns[name], evaluate(frame))
        return row

    def _draw(self, kind: ValueType, field: FieldSpec, person: Person | None, frame: Frame, stream: Stream) -> Any:
        if kind.optional and not stream.split("there").chance(50 if field.percent is None else field.percent):
            return None
        match kind.name:
            case "flag":
                return stream.chance(50 if kind.optional or field.percent is None else field.percent)
            case "choice":
                weights = field.weights or (1,) * len(kind.options)
                return stream.weighted_choice(list(zip(kind.options, weights, strict=True)))
            case "row":
                return stream.choice(frame.state.find(self._kinds[kind.entity])).id
            case _:
                return draw_value(kind, field, len(field.one_of), person, frame.today, stream)


def draw_value(
    kind: ValueType, field: FieldSpec, number: int, person: Person | None, today: date, stream: Stream
) -> Any:
    """A number, a date or a text; Any: a value of the field's type.

    Args:
        kind: The field's type.
        field: How it is drawn.
        number: The place of the row; the first rows have one text each.
        person: The person that the row is, if it is one.
        today: The day on which the episode begins.
        stream: What decides.
    """
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


def has_people(spec: EntitySpec) -> bool:
    """Whether the rows of an entity are people."""
    return any(field.type in {"name", "email"} for field in spec.fields.values())
