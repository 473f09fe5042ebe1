"""Names: their form, and that none is taken twice."""

import keyword
import re

from palaestra.envs.blueprints.blueprint import Blueprint
from palaestra.envs.blueprints.checking.findings import BlueprintFindings
from palaestra.envs.blueprints.expressions.over_rows import NAMES
from palaestra.envs.blueprints.problems import Path
from palaestra.envs.blueprints.scopes import ASKER, SHOWN
from palaestra.envs.blueprints.tool_style import style_tool_names

_ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_PREFIX = re.compile(r"[A-Z][A-Z0-9]*-")
_TAKEN = frozenset({*NAMES, "share", "today", "rules", "id", "row", "section", "handbook", ASKER, SHOWN})
MOST = {"entities": 40, "rules": 60, "handbook": 60, "actions": 60, "requests": 60}
"""The most parts of each kind."""
MOST_ENTRIES = 40
"""The most entries of a list or mapping within an action or a request."""
MOST_INSTANCES = 200
"""The most tasks of a family that a split lists."""


def check_names(blueprint: Blueprint, findings: BlueprintFindings) -> None:
    """Report names of a wrong form and names that are taken."""
    findings.expect(
        bool(_ID.fullmatch(blueprint.id)),
        ("id",),
        f"{blueprint.id!r} is no world id; write lower case letters and digits with hyphens, as town-library",
    )
    for part, most in MOST.items():
        count = len(getattr(blueprint, part))
        findings.expect(count <= most, (part,), f"there are {count}; a blueprint has at most {most}")
        findings.expect(count > 0, (part,), "there are none; a world needs at least one")
    _check_entries(blueprint, findings)
    for split, count in blueprint.instances.items():
        findings.expect(
            0 <= count <= MOST_INSTANCES,
            ("instances", split),
            f"{count}; a split lists 0 to {MOST_INSTANCES} tasks of a family",
        )
    for request in blueprint.requests:
        findings.expect(
            bool(_ID.fullmatch(request)), ("requests", request), f"{request!r}: write lower case with hyphens"
        )
    for rule in blueprint.rules:
        _check_name(rule, ("rules", rule), findings)
    _check_entity_names(blueprint, findings)
    _check_tool_names(blueprint, findings)


def _check_entries(blueprint: Blueprint, findings: BlueprintFindings) -> None:
    """Report actions and requests of which no bound would hold in all, though each of their expressions has one."""
    for part, specs, keys in (
        ("actions", blueprint.actions, ("takes", "requires", "sets", "creates")),
        ("requests", blueprint.requests, ("states", "let", "refusals", "work", "reads")),
    ):
        for name, spec in specs.items():
            for key in keys:
                count = len(getattr(spec, key))
                findings.expect(
                    count <= MOST_ENTRIES, (part, name, key), f"there are {count}; leave at most {MOST_ENTRIES}"
                )
    for name, request in blueprint.requests.items():
        for number, refusal in enumerate(request.refusals):
            count, path = len(refusal.plant), ("requests", name, "refusals", number, "plant")
            findings.expect(count <= MOST_ENTRIES, path, f"there are {count}; leave at most {MOST_ENTRIES}")


def _check_entity_names(blueprint: Blueprint, findings: BlueprintFindings) -> None:
    tables = {"handbook": "the handbook", f"{blueprint.case}s": "the cases"}
    prefixes = {blueprint.case_prefix: "the cases"}
    for entity, spec in blueprint.entities.items():
        path: Path = ("entities", entity)
        _check_name(entity, path, findings)
        findings.expect(entity != blueprint.case, path, f"{entity!r} is what cases are called; choose another name")
        _check_name(spec.plural, (*path, "plural"), findings)
        for kind, value, known in (("plural", spec.plural, tables), ("prefix", spec.prefix, prefixes)):
            if value in known:
                findings.add((*path, kind), f"{value!r} is taken by {known[value]}; choose another")
            known[value] = entity
        findings.expect(
            bool(_PREFIX.fullmatch(spec.prefix)), (*path, "prefix"), f"{spec.prefix!r}: write capitals and -, as LN-"
        )
        for field in spec.fields:
            _check_name(field, (*path, "fields", field), findings)


def _check_tool_names(blueprint: Blueprint, findings: BlueprintFindings) -> None:
    word = blueprint.case
    taken = {f"{verb}_{word}": "the cases" for verb in ("get", "resolve", "decline", "escalate", "reopen")}
    taken |= {f"search_{word}s": "the cases", "calculate": "every desk"}
    taken |= dict.fromkeys(("read_handbook", "search_handbook"), "the handbook")
    taken |= dict.fromkeys(("reply", "finish", "give_up"), "every desk")
    for entity, spec in blueprint.entities.items():
        taken |= {f"get_{entity}": entity, f"get_{spec.plural}": entity, f"search_{spec.plural}": entity}
    for action, one in blueprint.actions.items():
        path: Path = ("actions", action)
        _check_name(action, path, findings)
        findings.expect(action not in taken, path, f"{action!r} is a tool of {taken.get(action)}; choose another name")
        for parameter in one.takes:
            _check_name(parameter, (*path, "takes", parameter), findings)
    findings.read(("style",), lambda: style_tool_names(blueprint.tool_style, {**taken, **blueprint.actions}))


def _check_name(name: str, path: Path, findings: BlueprintFindings) -> None:
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        findings.add(
            path, f"{name!r} is no name; write lower case letters, digits and underscores, and no Python keyword"
        )
    elif name in _TAKEN:
        findings.add(path, f"{name!r} means something in expressions; choose another name")
