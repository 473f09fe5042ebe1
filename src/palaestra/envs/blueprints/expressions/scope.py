"""What an expression may name."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from palaestra.envs.blueprints.expressions.expression import Expression
from palaestra.envs.blueprints.expressions.value_type import ValueType


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """The rows of another entity that name a row."""

    entity: str
    column: str
    """The column that names it."""
    most_rows: int = 0
    """How many rows name one row at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityScope:
    """What can be read of the rows of an entity."""

    fields: Mapping[str, ValueType]
    """By field; a reference is a row."""
    columns: Mapping[str, str]
    """By field, the column that holds it; a reference's has `_id` behind the field's name."""
    relations: Mapping[str, Relation]
    """By name, such as `holds`: the rows of other entities that name it."""
    most_rows: int = 0
    """How many rows a population has at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The names of an expression, with their types."""

    variables: Mapping[str, ValueType]
    rules: Mapping[str, ValueType]
    """What can be read of `rules`."""
    entities: Mapping[str, EntityScope]
    tables: Mapping[str, str] = field(default_factory=dict[str, str])
    """By table name, such as `loans`: its entity. All rows of a table can be gone through."""

    definitions: Mapping[str, Expression] = field(default_factory=dict[str, Expression])
    """Names for expressions: what they read is read where they are used."""

    @property
    def names(self) -> tuple[str, ...]:
        """All names of values."""
        return (*self.variables, *self.definitions)

    def define(self, name: str, expression: Expression) -> "Scope":
        """The scope with a name for an expression."""
        return replace(self, definitions={**self.definitions, name: expression})

    def with_variables(self, **variables: ValueType) -> "Scope":
        """The scope with further names."""
        return replace(self, variables={**self.variables, **variables})
