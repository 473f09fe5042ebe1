"""How many rows a population has at most."""

from collections.abc import Mapping

from palaestra.envs.blueprints.blueprint import Blueprint
from palaestra.envs.blueprints.expressions import ValueType


def most_rows(blueprint: Blueprint, types: Mapping[str, Mapping[str, ValueType]]) -> dict[str, int]:
    """By entity: the most rows; `per` multiplies.

    Args:
        blueprint: The blueprint.
        types: The types of its fields, by entity.
    """
    rows: dict[str, int] = {}
    for entity, spec in blueprint.entities.items():
        owner = next((types[entity][name].entity for name in spec.per if name in types[entity]), "")
        most = max((most for _, most in spec.per.values()), default=0)
        rows[entity] = (spec.count or 0) + most * rows.get(owner, 0)
    return rows


def most_naming(blueprint: Blueprint, rows: Mapping[str, int], entity: str, field: str, named: str) -> int:
    """The most rows of an entity that name one row by a field.

    Where the named rows are dealt, it is four times as many as on average: fewer of them may stand than there can be.

    Args:
        blueprint: The blueprint.
        rows: By entity: the most rows.
        entity: The entity of the rows.
        field: The field by which they name a row.
        named: The entity of the row that is named.
    """
    spec = blueprint.entities[entity]
    if field in spec.per:
        return spec.per[field][1]
    if spec.fields[field].value is not None:
        return rows[entity]  # an expression can name one row for all of them
    return min(rows[entity], 4 * (rows[entity] // max(rows[named], 1) + 1))
