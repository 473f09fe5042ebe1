"""A rubric from runs that solve a task, for tasks that no expert has written one for.

Every run is accepted by the rubric that is derived from it. From one run alone nothing tells what it could have left
out; each further run that an author gives (an `alternative`) makes the rubric fairer: only facts that all of them
learnt are asked for, a value in which they differ may be any of theirs, and work that only some of them did is
permitted and not asked for.
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
"""What telling the person wins beside other work, as in rubrics that experts write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedRubric:
    """What a rubric is made of; `collateral` and `ungrounded` belong to every task and are not in it."""

    criteria: tuple[Criterion, ...]
    allow: tuple[Allowance, ...]
    """Changes permitted beside those that the criteria expect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """Something that a rubric asks for, and the call of each run that did it."""

    id: str
    at: tuple[int, ...]
    needed: tuple[int, ...] = ()
    """For what was found out: the first call of each run that could not do without it."""

    def before(self, other: "_Step") -> bool:
        """Whether every run did this first."""
        return all(mine < theirs for mine, theirs in zip(self.at, other.at, strict=True))

    def can_inform(self, other: "_Step") -> bool:
        """Whether every run found this out before the other, and had a use for it by then."""
        return self.before(other) and all(need <= at for need, at in zip(self.needed, other.at, strict=True))


def derive(
    runs: Sequence[SolutionTrace], *, given: frozenset[str], own: frozenset[str], initial: StateView, tables: Tables
) -> DerivedRubric:
    """The criteria that all of `runs` meet.

    Args:
        runs: Runs that solve the task, the oracle's first.
        given: The ids that the task's messages name.
        own: Those of them that name rows of the task's own, planted for it: its ticket, say.
        initial: The rows as the episode begins.
        tables: The world's tables by name.
    """
    by_run = [effects(run) for run in runs]
    expected = outcomes(by_run)
    case = _case(runs[0], own)
    # The request says what its record says, so closing it needs no look at it; but it may be all the work there is.
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
    """The record of the request itself, such as a ticket: the last changed of the task's own rows.

    The person may be told before it is closed or after.
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
    """The criteria about rows: each waits for what every run found out, and did, before it."""
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
    """Expect that the person is told, once there is something to tell; nothing where some run told nobody."""
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
    """What `step` waits for; not what the work that it waits for has waited for itself."""
    awaited = {s.id for s in lookups if any(s.before(done) for done in work)}
    return [s.id for s in lookups if s.before(step) and s.id not in awaited] + [s.id for s in work]


def _expect_finished(runs: Sequence[SolutionTrace], lookups: Sequence[_Step]) -> list[Criterion]:
    """Expect the answer that runs finished with, or any one of theirs."""
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
