"""A blueprint without what nothing uses: sections, actions, rules, reading tools, and entities that no tool reads."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from palaestra.envs.blueprints import Blueprint, check_blueprint
from palaestra.envs.blueprints.blueprint import Creation, EntitySpec, Plant, Scalar, rules_in
from palaestra.envs.synthesis.used_tools import used_tools

_Row = TypeVar("_Row", Creation, Plant)


def prune_blueprint(whole: Blueprint) -> Blueprint:
    """The blueprint without what none of its requests uses.

    A field that names rows of an entity goes with the entity, but for a field by which rows are counted.

    Raises:
        BlueprintError: an expression of `let` cannot be read.
    """
    requests = whole.requests.values()
    cited = {one.section for spec in requests for one in spec.refusals} | {key for r in requests for key in r.sections}
    done = {step.action for spec in requests for step in spec.work}
    handbook = {key: spec for key, spec in whole.handbook.items() if key in cited}
    actions = {name: spec for name, spec in whole.actions.items() if name in done}
    kept = _prune_rules(replace(whole, handbook=handbook, actions=actions))
    return _prune_rules(_prune_entities(replace(kept, entities=_prune_tools(kept))))


def _prune_rules(whole: Blueprint) -> Blueprint:
    """The blueprint without rules that decide nothing, or that no section states."""
    used = rules_in([*whole.requests.values(), *whole.actions.values(), *whole.entities.values()])
    kept = used & rules_in([*whole.handbook.values()])
    return replace(whole, rules={name: spec for name, spec in whole.rules.items() if name in kept})


def _prune_tools(whole: Blueprint) -> dict[str, EntitySpec]:
    """The entities without reading tools that no solution uses."""
    used = used_tools(whole)
    return {
        entity: replace(spec, tools=tuple(tool for tool in spec.tools if (entity, tool) in used))
        for entity, spec in whole.entities.items()
    }


def _prune_entities(whole: Blueprint) -> Blueprint:
    """The blueprint without entities that no tool reads, where nothing else needs them."""
    kept = whole
    for entity, spec in reversed([*whole.entities.items()]):
        if not spec.tools:
            fewer = _drop_entity(kept, entity)
            # What still names the entity becomes a new problem.
            if _problems(fewer) <= _problems(kept):
                kept = fewer
    return kept


def _problems(blueprint: Blueprint) -> set[str]:
    """What is wrong with a blueprint, besides entities that no tool reads."""
    entities = {name: replace(spec, tools=spec.tools or ("get",)) for name, spec in blueprint.entities.items()}
    return set(map(str, check_blueprint(replace(blueprint, entities=entities))))


def _drop_entity(whole: Blueprint, dropped: str) -> Blueprint:
    """The blueprint without an entity, and without the fields that name its rows, but for those that count rows."""
    naming = {f"ref {dropped}", f"ref {dropped}?"}
    fields = {
        entity: {name for name, field in spec.fields.items() if field.type in naming and name not in spec.per}
        for entity, spec in whole.entities.items()
    }
    return replace(
        whole,
        entities={
            entity: _drop_fields(spec, fields[entity]) for entity, spec in whole.entities.items() if entity != dropped
        },
        actions={
            name: replace(spec, creates=tuple(_drop_values(one, one.entity, fields) for one in spec.creates))
            for name, spec in whole.actions.items()
        },
        requests={
            name: replace(
                spec,
                refusals=tuple(
                    replace(one, plant=tuple(_drop_values(plant, plant.insert, fields) for plant in one.plant))
                    for one in spec.refusals
                ),
            )
            for name, spec in whole.requests.items()
        },
    )


def _drop_fields(spec: EntitySpec, dropped: set[str]) -> EntitySpec:
    return replace(
        spec,
        fields={name: field for name, field in spec.fields.items() if name not in dropped},
        filters=tuple(name for name in spec.filters if name not in dropped),
        summary=tuple(name for name in spec.summary if name not in dropped),
    )


def _drop_values(row: _Row, entity: str, dropped: Mapping[str, set[str]]) -> _Row:
    """A row that is made, without the values of fields that are dropped."""
    values: dict[str, Scalar | None] = {
        name: value for name, value in row.fields.items() if name not in dropped.get(entity, set())
    }
    return replace(row, fields=values)
