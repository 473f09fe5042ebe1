"""What the expressions of a blueprint may name, place by place."""

from collections.abc import Mapping
from functools import cached_property

from palaestra.envs.blueprints.blueprint import ActionSpec, Blueprint, RequestSpec
from palaestra.envs.blueprints.expressions import (
    INTEGER,
    MONEY,
    EntityScope,
    Relation,
    Scope,
    ValueType,
    parse_expression,
)
from palaestra.envs.blueprints.field_types import column_of_field, parse_field_type
from palaestra.envs.blueprints.row_counts import most_naming, most_rows

ASKER = "asker"
"""The name of whoever asks, in a request."""
SHOWN = "shown"
"""The name of the record that shows why, in the reply of a refusal."""


class Scopes:
    """The scopes of a blueprint.

    Args:
        blueprint: The blueprint.

    Raises:
        BlueprintError: a field has no type.
    """

    def __init__(self, blueprint: Blueprint) -> None:
        self._blueprint = blueprint
        names = tuple(blueprint.entities)
        self.types: Mapping[str, Mapping[str, ValueType]] = {
            entity: {name: parse_field_type(spec.type, names) for name, spec in one.fields.items()}
            for entity, one in blueprint.entities.items()
        }
        """By entity and field."""
        self.most_rows: Mapping[str, int] = most_rows(blueprint, self.types)
        """By entity: the most rows of a population."""

    def columns(self, entity: str) -> dict[str, str]:
        """By field, the column that holds it."""
        return {name: column_of_field(name, kind) for name, kind in self.types[entity].items()}

    @cached_property
    def whole(self) -> Scope:
        """Rules, fields and relations, and no variables."""
        return self._scope(relations=True)

    @cached_property
    def rules(self) -> Scope:
        """What texts of the handbook may name."""
        return Scope(variables={}, rules=self._rules(), entities={})

    def population(self, entity: str) -> Scope:
        """What a drawn row's values may name: its own fields, the rows that it names, rules and today."""
        return self._scope(relations=False).with_variables(**{entity: ValueType("row", entity)})

    def action(self, spec: ActionSpec) -> Scope:
        """What conditions and effects of an action may name: the row that it is about, and its arguments."""
        return self.whole.with_variables(**{spec.about: ValueType("row", spec.about)}, **self.parameters(spec))

    def parameters(self, spec: ActionSpec | RequestSpec) -> dict[str, ValueType]:
        """The types of the arguments of an action, or of the values that a request states."""
        given = spec.takes if isinstance(spec, ActionSpec) else spec.states
        names = tuple(self._blueprint.entities)
        return {name: parse_field_type(one.type, names) for name, one in given.items()}

    def request(self, spec: RequestSpec) -> Scope:
        """What a request's conditions may name: the row that it is about, whoever asks, stated values, and its `let`.

        Raises:
            ExpressionError: an expression of `let` cannot be read.
        """
        scope = self.request_values(spec)
        for name, text in spec.let.items():
            scope = scope.define(name, parse_expression(text, scope))
        return scope

    def request_values(self, spec: RequestSpec) -> Scope:
        """What a request's `let` may name at first: the row that it is about, whoever asks, and stated values."""
        return self.target(spec).with_variables(**self.parameters(spec))

    def target(self, spec: RequestSpec) -> Scope:
        """What decides whether a row can be asked about: the row, and whoever asks."""
        people = ValueType("row", self._blueprint.people)
        return self.whole.with_variables(**{spec.about: ValueType("row", spec.about), ASKER: people})

    def _rules(self) -> dict[str, ValueType]:
        return {name: MONEY if spec.type == "money" else INTEGER for name, spec in self._blueprint.rules.items()}

    def _scope(self, *, relations: bool) -> Scope:
        entities = {
            entity: EntityScope(
                fields=fields,
                columns=self.columns(entity),
                relations=self._relations(entity) if relations else {},
                most_rows=self.most_rows[entity],
            )
            for entity, fields in self.types.items()
        }
        tables = {spec.plural: entity for entity, spec in self._blueprint.entities.items()} if relations else {}
        return Scope(variables={}, rules=self._rules(), entities=entities, tables=tables)

    def _relations(self, entity: str) -> dict[str, Relation]:
        """The rows that name a row of this entity: by table, and where two fields name it, by table and field."""
        found: dict[str, Relation] = {}
        for other, fields in self.types.items():
            naming = [name for name, kind in fields.items() if kind.name == "row" and kind.entity == entity]
            plural = self._blueprint.entities[other].plural
            for name in naming:
                key = plural if len(naming) == 1 else f"{plural}_by_{name}"
                most = most_naming(self._blueprint, self.most_rows, other, name, entity)
                found[key] = Relation(entity=other, column=f"{name}_id", most_rows=most)
        return found
