"""Population, rules, handbook and actions: that their texts can be read, and that none is idle."""

from palaestra.envs.blueprints.blueprint import Blueprint, rules_in
from palaestra.envs.blueprints.checking.findings import BlueprintFindings
from palaestra.envs.blueprints.problems import Path
from palaestra.envs.blueprints.scopes import Scopes
from palaestra.envs.blueprints.templates import parse_template, read_value
from palaestra.envs.blueprints.tools import Action, read_action


def check_population(blueprint: Blueprint, scopes: Scopes, findings: BlueprintFindings) -> None:
    """Report values of fields that cannot be read."""
    for entity, spec in blueprint.entities.items():
        scope = scopes.population(entity)
        for name, field in spec.fields.items():
            if field.value is not None:
                kind, value = scopes.types[entity][name], field.value
                path: Path = ("entities", entity, "fields", name, "value")
                findings.read(path, lambda v=value, k=kind, s=scope: read_value(v, k, s))  # type: ignore[misc]


def check_handbook(blueprint: Blueprint, scopes: Scopes, findings: BlueprintFindings) -> None:
    """Report sections that cannot be read or decide nothing, and rules that no section states or nothing goes by."""
    stated: set[str] = set()
    for key, spec in blueprint.handbook.items():
        path: Path = ("handbook", key, "text")
        found = findings.read(path, lambda text=spec.text: parse_template(text, scopes.rules))  # type: ignore[misc]
        stated |= found.rules if found is not None else set()
    cited = {one.section for spec in blueprint.requests.values() for one in spec.refusals}
    cited |= {key for spec in blueprint.requests.values() for key in spec.sections}
    for key in blueprint.handbook:
        findings.expect(
            key in cited,
            ("handbook", key),
            "no request turns on it; cite it in a refusal or in `sections`, or remove it",
        )
    used = rules_in([*blueprint.requests.values(), *blueprint.actions.values(), *blueprint.entities.values()])
    for name, rule in blueprint.rules.items():
        path = ("rules", name)
        findings.expect(name in stated, path, f"no section states it; write {{rules.{name}}} in the section about it")
        findings.expect(name in used, path, "nothing goes by it; use it in a request or an action, or remove it")
        findings.expect(
            rule.value not in rule.instead, (*path, "instead"), f"{rule.value} is the rule's own; leave it out"
        )


def check_actions(blueprint: Blueprint, scopes: Scopes, findings: BlueprintFindings) -> dict[str, Action]:
    """Report actions that cannot be read or that no request uses; those that can be read."""
    used = {step.action for spec in blueprint.requests.values() for step in spec.work}
    found: dict[str, Action] = {}
    for name, spec in blueprint.actions.items():
        path: Path = ("actions", name)
        if not findings.expect_name(spec.about, "entity", blueprint.entities, (*path, "about")):
            continue
        action = findings.read(path, lambda one=spec: read_action(one, scopes))  # type: ignore[misc]
        if action is not None:
            found[name] = action
        findings.expect(name in used, path, "no request's work uses it; use it, or remove it")
    return found
