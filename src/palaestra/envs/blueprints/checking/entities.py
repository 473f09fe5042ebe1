"""Entities: fields, how they are drawn, and by what they are read."""

from collections.abc import Mapping, Sequence

from palaestra.envs.blueprints.blueprint import Blueprint, EntitySpec, FieldSpec
from palaestra.envs.blueprints.checking.findings import BlueprintFindings
from palaestra.envs.blueprints.expressions import ValueType
from palaestra.envs.blueprints.field_types import parse_field_type
from palaestra.envs.blueprints.problems import Path
from palaestra.envs.blueprints.row_counts import most_rows

MOST_ROWS = 2_000
"""The most rows of an entity that are counted by themselves."""
MOST_EACH = 20
"""The most rows for each row that they name."""
MOST_IN_ALL = 20_000
"""The most rows of all entities together, at the most that `per` allows."""
MOST_NUMBER, MOST_DAYS = 1_000_000_000, 36_500
"""How far from 0 the numbers and days of a range are."""
_READERS = ("get", "search", "list FIELD")


def check_field_types(blueprint: Blueprint, findings: BlueprintFindings) -> bool:
    """Report fields and parameters without a type; whether all have one."""
    before = len(findings.problems)
    names = tuple(blueprint.entities)
    for entity, spec in blueprint.entities.items():
        for name, field in spec.fields.items():
            path: Path = ("entities", entity, "fields", name, "type")
            findings.read(path, lambda text=field.type: parse_field_type(text, names))  # type: ignore[misc]
    for part, specs in (("actions", blueprint.actions), ("requests", blueprint.requests)):
        for key, one in specs.items():
            kind = "takes" if part == "actions" else "states"
            for name, parameter in getattr(one, kind).items():
                path = (part, key, kind, name, "type")
                findings.read(path, lambda text=parameter.type: parse_field_type(text, names))  # type: ignore[misc]
    return len(findings.problems) == before


def check_entities(
    blueprint: Blueprint, types: Mapping[str, Mapping[str, ValueType]], findings: BlueprintFindings
) -> None:
    """Report entities that cannot be drawn or read."""
    people = ("people",)
    if findings.expect_name(blueprint.people, "entity", blueprint.entities, people):
        own = {field.type for field in blueprint.entities[blueprint.people].fields.values()}
        findings.expect(
            {"name", "email"} <= own and "email" in blueprint.entities[blueprint.people].fields,
            people,
            f"{blueprint.people} has no name and email; give it fields of these types, the latter called `email`",
        )
    _check_rows(blueprint, types, findings)
    # Rows that others name, or that actions make, are of use without a tool of their own.
    needed = {kind.entity for own in types.values() for kind in own.values()}
    needed |= {creation.entity for action in blueprint.actions.values() for creation in action.creates}
    earlier: list[str] = []
    for entity, spec in blueprint.entities.items():
        path: Path = ("entities", entity)
        _check_count(spec, types[entity], path, findings)
        if not spec.tools and entity not in needed:
            findings.add(path, f"no tool reads it; give it `tools`, of {', '.join(_READERS)}")
        _check_tools(spec, types[entity], path, findings)
        for name, field in spec.fields.items():
            kind = types[entity][name]
            here = (*path, "fields", name)
            if kind.name == "row" and kind.entity not in earlier:
                findings.add(here, f"{kind.entity} does not stand before {entity}; list entities after those they name")
            if name not in spec.per:
                _check_draw(field, kind, here, findings)
        earlier.append(entity)


def _check_rows(
    blueprint: Blueprint, types: Mapping[str, Mapping[str, ValueType]], findings: BlueprintFindings
) -> None:
    """Report entities that together may have too many rows: `per` multiplies."""
    total = sum(most_rows(blueprint, types).values())
    findings.expect(
        total <= MOST_IN_ALL,
        ("entities",),
        f"up to {total} rows; all entities have at most {MOST_IN_ALL} together, so lower `count` or `per`",
    )


def _check_count(spec: EntitySpec, types: Mapping[str, ValueType], path: Path, findings: BlueprintFindings) -> None:
    if (spec.count is None) == (not spec.per):
        findings.add(path, "it has none or both of `count` and `per`; give the one that says how many rows there are")
    findings.expect(
        0 <= spec.first <= MOST_NUMBER, (*path, "first"), f"{spec.first}; the first id has a number from 0 on"
    )
    if spec.count is not None and not 0 < spec.count <= MOST_ROWS:
        findings.add((*path, "count"), f"{spec.count} rows; an entity has 1 to {MOST_ROWS}")
    for name, (least, most) in spec.per.items():
        here = (*path, "per", name)
        findings.expect(len(spec.per) == 1, here, "rows are counted by one field; leave the others out")
        findings.expect(
            types.get(name, ValueType("none")).name == "row", here, f"{name!r} is no reference of the entity"
        )
        findings.expect(
            0 <= least <= most <= MOST_EACH, here, f"[{least}, {most}]; write 0 <= least <= most <= {MOST_EACH}"
        )


def _check_tools(spec: EntitySpec, types: Mapping[str, ValueType], path: Path, findings: BlueprintFindings) -> None:
    here = (*path, "tools")
    for text in spec.tools:
        word, _, name = text.partition(" ")
        if word == "list" and types.get(name, ValueType("none")).name == "row":
            continue
        if text == "search":
            findings.expect(bool(spec.summary), path, "`search` lists nothing; name fields of its entries in `summary`")
        elif text != "get":
            references = [f"list {field}" for field, kind in types.items() if kind.name == "row"]
            findings.expect_name(text, "reading tool", ["get", "search", *references], here)
    for part, names in (("filters", spec.filters), ("summary", spec.summary)):
        for name in names:
            findings.expect_name(name, "field", types, (*path, part))


def _check_draw(field: FieldSpec, kind: ValueType, path: Path, findings: BlueprintFindings) -> None:
    """Report a field whose values cannot be drawn."""
    if field.value is not None:
        return
    if field.percent is not None and not 0 <= field.percent <= 100:
        findings.add((*path, "percent"), f"{field.percent}; write 0 to 100")
    findings.expect(field.step >= 1, (*path, "step"), f"{field.step}; numbers are multiples of at least 1")
    if kind.is_number:
        _check_range(field.between, "between", path, findings, MOST_NUMBER)
    elif kind.name == "date":
        _check_range(field.days, "days", path, findings, MOST_DAYS)
    elif field.type.removesuffix("?") == "text":
        findings.expect(bool(field.one_of), path, "it has no texts to draw from; give `one_of` or `value`")
    elif kind.name == "choice" and field.weights:
        options = len(kind.options)
        findings.expect(len(field.weights) == options, (*path, "weights"), f"{field.weights}; give {options} weights")
        findings.expect(
            min(field.weights) >= 0 and sum(field.weights) > 0, (*path, "weights"), "weights are 0 or more, one above 0"
        )


def _check_range(found: Sequence[int] | None, name: str, path: Path, findings: BlueprintFindings, most: int) -> None:
    if found is None:
        findings.add(path, f"it has no range to draw from; give `{name}: [least, most]`, or a `value`")
    elif found[0] > found[1]:
        findings.add((*path, name), f"{list(found)}: the least is above the most; exchange them")
    elif max(-found[0], found[1]) > most:
        findings.add((*path, name), f"{list(found)}; write numbers from {-most} to {most}")
