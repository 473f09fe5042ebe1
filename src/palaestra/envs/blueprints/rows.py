"""Row classes made from entities. They pickle as the blueprint and the entity's name, so any process has them."""

import copyreg
from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, cast

from palaestra.envs.blueprints.blueprint import Blueprint
from palaestra.envs.blueprints.expressions import ValueType
from palaestra.envs.blueprints.scopes import Scopes
from palaestra.envs.kit import CaseRow
from palaestra.envs.world import World
from palaestra.record import record
from palaestra.records import References, Row, Searchable

if TYPE_CHECKING:
    from palaestra.envs.blueprints.compilation import CompiledBlueprint

CASE = "(case)"
"""The name under which the class of cases is made."""


class BlueprintKind(type):
    """The class of row classes that are made from a blueprint."""

    origin: tuple[Blueprint, str]
    compiled: "CompiledBlueprint"
    """What the class was made with, which lives as long as the class does: a pickle finds this very class again."""


def blueprint_of(world: World) -> Blueprint | None:
    """The blueprint from which a world was compiled; `None` where it was not."""
    for info in world.schema.tables.values():
        kind: object = info.kind
        if isinstance(kind, BlueprintKind):
            return kind.origin[0]
    return None


def make_row_classes(blueprint: Blueprint, scopes: Scopes) -> dict[str, type[Row]]:
    """The row class of every entity, and that of cases under `CASE`."""
    kinds = {entity: _entity_class(blueprint, scopes, entity) for entity in blueprint.entities}
    return {**kinds, CASE: _case_class(blueprint)}


def class_name(noun: str) -> str:
    """An entity's name as a class's, such as "OrderLine" for "order_line"."""
    return "".join(part.capitalize() for part in noun.split("_"))


def _entity_class(blueprint: Blueprint, scopes: Scopes, entity: str) -> type[Row]:
    spec = blueprint.entities[entity]
    annotations: dict[str, Any] = {}
    for name, kind in scopes.types[entity].items():
        searched = spec.fields[name].type in {"name", "email", "text"}
        annotations[scopes.columns(entity)[name]] = _annotation(blueprint, kind, searched=searched)
    members = {"table": spec.plural, "prefix": blueprint.id_prefix(entity), "__doc__": spec.description}
    return _make((Row,), entity, class_name(entity), annotations, members, blueprint)


def _case_class(blueprint: Blueprint) -> type[Row]:
    people = blueprint.entities[blueprint.people]
    annotations = {
        f"{blueprint.people}_id": Annotated[str, References(people.plural)],
        "team": Literal[blueprint.teams],
    }
    prefix = blueprint.id_prefix(blueprint.case)
    members = {"table": f"{blueprint.case}s", "prefix": prefix, "__doc__": "What somebody asks for."}
    return _make((CaseRow,), CASE, class_name(blueprint.case), annotations, members, blueprint)


def _annotation(blueprint: Blueprint, kind: ValueType, *, searched: bool) -> Any:
    hint: Any
    match kind.name:
        case "integer" | "money":
            hint = int
        case "date":
            hint = date
        case "flag":
            hint = bool
        case "choice":
            hint = Literal[kind.options]
        case "row":
            hint = Annotated[str, References(blueprint.entities[kind.entity].plural)]
        case _:
            hint = Annotated[str, Searchable()] if searched else str
    return hint | None if kind.optional else hint


def _make(
    bases: tuple[type, ...],
    key: str,
    name: str,
    annotations: Mapping[str, Any],
    members: Mapping[str, Any],
    blueprint: Blueprint,
) -> type[Row]:
    hints = {"table": ClassVar[str], "prefix": ClassVar[str], **annotations}
    body = {"__module__": __name__, "__qualname__": name, "__annotations__": hints, **members}
    # Any: a class that is made here has no type of its own.
    opened: Any = BlueprintKind(name, bases, body)
    made: Any = record(opened)
    made.origin = (blueprint, key)
    return cast("type[Row]", made)


def _find_class(blueprint: Blueprint, key: str) -> type[Row]:
    """The class that a pickle names; one for each blueprint and process."""
    from palaestra.envs.blueprints.compilation import compile_blueprint  # noqa: PLC0415  it makes the classes

    return compile_blueprint(blueprint).kinds[key]


def _reduce(kind: BlueprintKind) -> tuple[Any, ...]:
    return _find_class, kind.origin


copyreg.pickle(BlueprintKind, _reduce)
