"""Requests: that their texts can be read, that a draw has bounds, and that each refusal can decide a task."""

import math
from collections.abc import Mapping

from palaestra.envs.blueprints.blueprint import Blueprint, RefusalSpec, RequestSpec
from palaestra.envs.blueprints.checking.findings import BlueprintFindings
from palaestra.envs.blueprints.decision import RequestRefusal, read_amount, read_refusal, read_step
from palaestra.envs.blueprints.expressions import Expression, Scope, parse_expression
from palaestra.envs.blueprints.problems import Path
from palaestra.envs.blueprints.scopes import Scopes
from palaestra.envs.blueprints.templates import parse_template
from palaestra.envs.blueprints.tools import Action
from palaestra.rubrics.messages.stated import tells_something

MOST_DRAW_STEPS = 50_000_000
"""The most evaluations of parts of expressions that the draw of one task may come to."""
_SAYS_NOTHING = "a reply of one or two words tells nothing; write a sentence"


def check_request(
    name: str,
    spec: RequestSpec,
    blueprint: Blueprint,
    scopes: Scopes,
    actions: Mapping[str, Action],
    findings: BlueprintFindings,
) -> None:
    """Report what is wrong with one request."""
    path: Path = ("requests", name)
    if not findings.expect_name(spec.about, "entity", blueprint.entities, (*path, "about")):
        return
    _check_parts(path, spec, blueprint, findings)
    scope = _read_let(path, spec, scopes, findings)
    if scope is None or any(one.action not in actions for one in spec.work):
        return
    where = findings.read((*path, "where"), lambda: parse_expression(spec.where, scopes.target(spec)))
    refusals = [
        _read_refusal((*path, "refusals", number), one, scope, scopes, findings)
        for number, one in enumerate(spec.refusals)
    ]
    _check_refusals((*path, "refusals"), refusals, blueprint, findings)
    _check_draw(path, spec, scopes, scope, [where, *[one.when for one in refusals if one is not None]], findings)
    for number, step in enumerate(spec.work):
        findings.read((*path, "work", number), lambda one=step: read_step(one, spec, scope, actions))  # type: ignore[misc]
    for number, text in enumerate(spec.reads):
        findings.read((*path, "reads", number), lambda one=text: parse_expression(one, scope))  # type: ignore[misc]
    findings.read((*path, "amount"), lambda: read_amount(spec, scope))
    findings.read((*path, "tells"), lambda: parse_template(spec.tells, scope))
    if (question := spec.question) is not None:
        findings.read((*path, "question", "answers"), lambda: parse_template(question.answers, scope))
    _check_wordings(path, spec, blueprint, scope, findings)


def _check_parts(path: Path, spec: RequestSpec, blueprint: Blueprint, findings: BlueprintFindings) -> None:
    """Report parts that are missing, and names that there are not."""
    for key in ("subject", "says", "refusals"):
        findings.expect(bool(getattr(spec, key)), path, f"`{key}` is empty; give at least one")
    findings.expect(
        bool(spec.work or spec.amount), path, "it asks for nothing; give `work`, or the `amount` of a reply"
    )
    for number, refusal in enumerate(spec.refusals):
        here = (*path, "refusals", number)
        findings.expect_name(refusal.section, "section", blueprint.handbook, (*here, "section"))
        if refusal.team:
            findings.expect_name(refusal.team, "team", blueprint.teams, (*here, "team"))
            findings.expect(refusal.team != blueprint.team, (*here, "team"), "the desk hands nothing to its own team")
        findings.expect(tells_something(refusal.tells), (*here, "tells"), _SAYS_NOTHING)
    for section in spec.sections:
        findings.expect_name(section, "section", blueprint.handbook, (*path, "sections"))
    findings.expect(tells_something(spec.tells), (*path, "tells"), _SAYS_NOTHING)
    for step, one in enumerate(spec.work):
        findings.expect_name(one.action, "action", blueprint.actions, (*path, "work", step, "action"))


def _read_let(path: Path, spec: RequestSpec, scopes: Scopes, findings: BlueprintFindings) -> Scope | None:
    """What the expressions of a request may name; `None` where one of `let` cannot be read."""
    scope = scopes.request_values(spec)
    for name, text in spec.let.items():
        found = findings.read((*path, "let", name), lambda one=text, known=scope: parse_expression(one, known))  # type: ignore[misc]
        if found is None:
            return None
        scope = scope.define(name, found)
    return scope


def _read_refusal(
    path: Path, spec: RefusalSpec, scope: Scope, scopes: Scopes, findings: BlueprintFindings
) -> RequestRefusal | None:
    before = len(findings.problems)
    findings.read((*path, "when"), lambda: parse_expression(spec.when, scope))
    findings.read((*path, "shows"), lambda: parse_expression(spec.shows, scope))
    if len(findings.problems) > before:
        return None
    return findings.read(path, lambda: read_refusal(spec, scope, scopes))


def _check_refusals(
    path: Path, refusals: list[RequestRefusal | None], blueprint: Blueprint, findings: BlueprintFindings
) -> None:
    """Report refusals that can decide no task."""
    tasks = sum(blueprint.instances.values())
    findings.expect(
        len(refusals) <= tasks,
        path,
        f"{len(refusals)} refusals, and {tasks} refusal twins; raise `instances`, so that each refusal decides one",
    )
    earlier: list[str] = []
    for number, one in enumerate(refusals):
        if one is None:
            continue
        here = (*path, number)
        findings.expect(
            one.spec.when not in earlier,
            (*here, "when"),
            "an earlier refusal has this condition, so this one never decides; change one of them, or remove this one",
        )
        findings.expect(
            _touches(one),
            (*here, "plant"),
            f"it changes nothing that `{one.spec.when}` goes by; set a field, or insert a row, that it reads",
        )
        earlier.append(one.spec.when)


def _touches(refusal: RequestRefusal) -> bool:
    """Whether what a refusal plants can change its condition."""
    written = {(one.row.type.entity, one.column) for effects in refusal.plant for one in effects.assignments}
    written |= {(one.entity, "") for effects in refusal.plant for one in effects.insertions}
    return not written.isdisjoint(refusal.when.reads)


def _check_draw(
    path: Path,
    spec: RequestSpec,
    scopes: Scopes,
    scope: Scope,
    conditions: list[Expression | None],
    findings: BlueprintFindings,
) -> None:
    """Report a request whose draw may take too long: all conditions for each row, with each row that is stated."""
    where = {
        name: findings.read((*path, "states", name, "where"), lambda text=one.where: parse_expression(text, scope))  # type: ignore[misc]
        for name, one in spec.states.items()
        if one.where
    }
    stated = [kind.entity for kind in scopes.parameters(spec).values() if kind.name == "row"]
    each = sum(one.steps for one in [*conditions, *where.values()] if one is not None)
    steps = each * math.prod(scopes.most_rows[entity] for entity in [spec.about, *stated])
    findings.expect(
        steps <= MOST_DRAW_STEPS,
        path,
        f"a draw of it takes up to {steps} steps, and one has at most {MOST_DRAW_STEPS}; lower `count` or `per` of "
        f"{', '.join([spec.about, *stated])}, or let conditions go through fewer rows",
    )


def _check_wordings(
    path: Path, spec: RequestSpec, blueprint: Blueprint, scope: Scope, findings: BlueprintFindings
) -> None:
    for key in ("says", "says_heldout", "subject"):
        for number, text in enumerate(getattr(spec, key)):
            here = (*path, key, number)
            findings.read(here, lambda t=text: parse_template(t, scope))  # type: ignore[misc]
            named = f"{{{spec.about}.id}}" in text or spec.about == blueprint.people
            if key != "subject" and not named and spec.question is None:
                findings.add(
                    here, f"it does not name the {spec.about}; write {{{spec.about}.id}}, or give a `question`"
                )
