"""Derives a rubric from runs that solve a task, for tasks without an expert's rubric.

The derived rubric accepts all its runs. A single run does not show what it could have left out. Each further run of the
author (an `alternative`) makes the rubric fairer: it requires only facts that all runs learnt, accepts any of their
values where they differ, and permits work that only some of them did without requiring it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from palaestra.protocols import StateView
from palaestra.records import Verdict
from palaestra.rubrics.criterion import Allowance, Criterion
from palaestra.rubrics.derivation.effects import CommonEffect, effects, outcomes, side_effects
from palaestra.rubrics.derivation.facts import RequiredFact, facts
from palaestra.rubrics.derivation.neighbours import forbid_neighbour_work
from palaestra.rubrics.derivation.runs import SolutionTrace, Tables, free_name
from palaestra.rubrics.evidence import Evidence
from palaestra.rubrics.expected import as_written
from palaestra.rubrics.library import expect_answer, expect_call

TOLD = 10
"""The points for telling the person beside other work, as in experts' rubrics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedRubric:
    """The parts of a rubric, without `collateral` and `ungrounded`, which every task has."""

    criteria: tuple[Criterion, ...]
    allow: tuple[Allowance, ...]
    """Changes permitted in addition to those that the criteria expect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """Something that a rubric requires, and the call of each run that did it."""

    id: str
    at: tuple[int, ...]
    needed: tuple[int, ...] = ()
    """For facts: the first call of each run that needed it."""

    def before(self, other: "_Step") -> bool:
        """Whether every run did this first."""
        return all(mine < theirs for mine, theirs in zip(self.at, other.at, strict=True))

    def can_inform(self, other: "_Step") -> bool:
        """Whether every run learnt this before the other step, and needed it by then."""
        return self.before(other) and all(need <= at for need, at in zip(self.needed, other.at, strict=True))


def derive(
    runs: Sequence[SolutionTrace], *, given: frozenset[str], own: frozenset[str], initial: StateView, tables: Tables
) -> DerivedRubric:
    """The criteria that all of `runs` meet.

    Args:
        runs: Runs that solve the task, the oracle's first.
        given: The ids that the task's messages name.
        own: Those of them that name the task's own planted rows, such as its ticket.
        initial: The rows at the beginning of the episode.
        tables: The world's tables by name.
    """
    by_run = [effects(run) for run in runs]
    expected = outcomes(by_run)
    case = _case(runs[0], own)
    # The request says what its record says, so closing it needs no look-up of it; but that may be all the work.
    unasked = case if any(outcome.effect.key != case for outcome in expected) else None
    found = facts(runs, given, unasked, initial, tables)
    lookups = _name_facts(found, runs)
    steps, work = _work(expected, lookups, runs[0], case)
    told = _expect_told(
        runs, lookups, [step for step, outcome in steps if outcome.effect.key != case], alone=not expected
    )
    finished = _expect_finished(runs, lookups)
    criteria = [
        *(
            fact.criterion(step.id, None, [s.id for s in lookups if s.before(step)] if fact.informed else [])
            for fact, step in zip(found, lookups, strict=True)
        ),
        *work,
        *told,
        *finished,
        *forbid_neighbour_work(runs, by_run, [o for o in expected if o.effect.key != case], initial, tables),
    ]
    return DerivedRubric(criteria=tuple(criteria), allow=tuple(side_effects(by_run, expected)))


def _case(run: SolutionTrace, own: frozenset[str]) -> str | None:
    """The record of the request itself, such as a ticket: the task's own row that was changed last.

    The person may be told before or after it is closed.
    """
    changed = [c.key for step in run.steps for c in step.changes if c.before is not None and c.key in own]
    return changed[-1] if changed else None


def _name_facts(found: Sequence[RequiredFact], runs: Sequence[SolutionTrace]) -> list[_Step]:
    steps: list[_Step] = []
    for fact in found:
        steps.append(
            _Step(
                id=free_name(fact.name, (step.id for step in steps)),
                at=tuple(i for run in runs if (i := fact.learnt(run)) is not None),
                needed=tuple(i for run in runs if (i := fact.first_need(run)) is not None),
            )
        )
    return steps


def _work(
    expected: Sequence[CommonEffect], lookups: Sequence[_Step], run: SolutionTrace, case: str | None
) -> tuple[list[tuple[_Step, CommonEffect]], list[Criterion]]:
    """The criteria about rows: each waits for everything that all runs learnt and did before it."""
    steps: list[tuple[_Step, CommonEffect]] = []
    criteria: list[Criterion] = []
    for outcome in expected:
        verb = "created" if outcome.effect.before is None else "changed" if outcome.effect.after else "deleted"
        step = _Step(
            id=free_name(f"{verb}-{outcome.effect.table}", (s.id for s, _ in steps)),
            at=tuple(e.calls[-1] for e in outcome.all),
        )
        closes = outcome.effect.key == case
        first = [s for s, o in steps if s.before(step) and (closes or _leads_to(o, outcome, run))]
        known = lookups if closes else [s for s in lookups if s.can_inform(step)]
        criteria.append(outcome.criterion(step.id, _after(step, known, first)))
        steps.append((step, outcome))
    return steps, criteria


def _leads_to(earlier: CommonEffect, later: CommonEffect, run: SolutionTrace) -> bool:
    """Whether the later work was done on the row that the earlier work was about."""
    steps = [run.steps[index] for index in later.effect.calls]
    return any(earlier.effect.key in {*step.event.named, *(c.key for c in step.changes)} for step in steps)


def _expect_told(
    runs: Sequence[SolutionTrace], lookups: Sequence[_Step], work: Sequence[_Step], *, alone: bool
) -> list[Criterion]:
    """Expect that the person is told, once there is something to tell; empty if some run told nobody."""
    spoken = [[i for i, step in enumerate(run.steps) if step.spoke] for run in runs]
    if not all(spoken):
        return []
    step = _Step(id="told", at=tuple(positions[-1] for positions in spoken))
    tools = dict.fromkeys(run.steps[i].event.tool for run, i in zip(runs, step.at, strict=True))
    return [
        expect_call(
            *tools,
            id=step.id,
            text="Told the person who asked, once there was something to tell.",
            layer="task",
            points=None if alone else TOLD,
            after=_after(step, lookups, [s for s in work if s.before(step)]),
        )
    ]


def _after(step: _Step, lookups: Sequence[_Step], work: Sequence[_Step]) -> list[str]:
    """The direct dependencies of `step`, without those of the work that it waits for."""
    awaited = {s.id for s in lookups if any(s.before(done) for done in work)}
    return [s.id for s in lookups if s.before(step) and s.id not in awaited] + [s.id for s in work]


def _expect_finished(runs: Sequence[SolutionTrace], lookups: Sequence[_Step]) -> list[Criterion]:
    """Expect the answer that the runs finished with, or any one of their answers."""
    if not all(run.answer for run in runs):
        return []
    options = [
        expect_answer({n: as_written(v) for n, v in run.answer.items()}, after=[step.id for step in lookups])
        for run in runs
    ]

    def check(evidence: Evidence) -> Verdict:
        verdicts = [option.check(evidence) for option in options]
        return next((v for v in verdicts if v.met), verdicts[0])

    return [
        Criterion(
            id="answer",
            text=" Or: ".join(dict.fromkeys(option.text for option in options)),
            check=check,
            layer="task",
            after=options[0].after,
            about="answer",
        )
    ]
