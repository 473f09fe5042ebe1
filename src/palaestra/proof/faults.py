"""Why a set of tasks is not proved, a sentence each."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from palaestra.proof.attacks import ATTACKS
from palaestra.proof.baselines import CEILING, FLOORS, IDLE
from palaestra.proof.variants import MUTANT_KINDS

if TYPE_CHECKING:
    from palaestra.proof.proof import Proof

REJECTION_FLOOR = 97
"""Percent of the mutants of each kind that a proved set of tasks rejects at least."""
CHECKS = 5
"""How many criteria a task has at least, on average, counting those that are the first to fail for some mutant."""
FORBIDDING = 25
"""Percent of those criteria that are prohibitions, at least."""


def faults_of(proof: "Proof") -> list[str]:
    """Why these tasks are not proved; empty when they are."""
    found = [*_of_tasks(proof), *_of_agents(proof), *_of_attacks(proof), *_of_work(proof), *_of_twins(proof)]
    # Where an oracle does not solve its task, no mutant of it was tried.
    return found + list(_of_criteria(proof)) if all(p.solved for p in proof.tasks) else found


def _of_tasks(proof: "Proof") -> Iterator[str]:
    for p in proof.tasks:
        if not p.solved:
            reasons = "".join(f"; {c}: {p.oracle.verdicts[c].reason}" for c in p.oracle_fails)
            yield f"{p.spec.id}: the oracle gets {p.oracle.points} of {p.oracle.total} points{reasons}"
    for p in proof.tasks:
        if not p.repeats:
            yield f"{p.spec.id}: made twice, it is not the same task; draw from `desk.stream` only"


def _of_agents(proof: "Proof") -> Iterator[str]:
    for name in IDLE:
        if solved := proof.tally("floors", name).hits:
            yield f"the agent {name} solves {solved} task(s); a rubric must ask for work"
    for name in FLOORS:
        if (mean := proof.tally("floors", name).mean_points) > CEILING:
            yield f"the agent {name} gets {mean:.1f} points on average, more than {CEILING} for nothing"


def _of_attacks(proof: "Proof") -> Iterator[str]:
    for finding in proof.attacked:
        yield f"{finding.task}: the attack {finding.kind} passes with {finding.points} points; it {finding.what}"
    for name, attack in ATTACKS.items():
        if (mean := proof.tally("attacks", name).mean_points) > attack.ceiling:
            yield f"the attack {name} gets {mean:.1f} points on average, more than {attack.ceiling}: {attack.worth}"


def _of_work(proof: "Proof") -> Iterator[str]:
    for kind in MUTANT_KINDS:
        tally = proof.tally("mutants", kind)
        if tally.percent < REJECTION_FLOOR:
            yield f"{tally.percent:.1f} % of the mutants of kind {kind!r} are rejected, less than {REJECTION_FLOOR} %"
    for f in proof.false_rejects:
        yield f"{f.task}: right work ({f.kind}: {f.what}) gets {f.points} points"


def _of_twins(proof: "Proof") -> Iterator[str]:
    for family in sorted({p.spec.family for p in proof.tasks if not p.twinned}):
        yield (
            f"{family}: it has no impossible twin; set one (`twin=True` and `desk.twin`), "
            "or give it the trait 'refusal' where refusing is the right answer"
        )
    for p in proof.pairs:
        assert p.twin is not None
        if not p.twin.same_request:
            yield f"{p.spec.id}: its request is not that of {p.twin.sibling}; draw both alike and change the rows"
        if not p.twin.sibling_rejected:
            yield f"{p.spec.id}: what solves {p.twin.sibling} solves it too; the rows must forbid it"
        if not p.twin.twin_rejected:
            yield f"{p.spec.id}: what solves it solves {p.twin.sibling} too; ask more of that rubric"


def _of_criteria(proof: "Proof") -> Iterator[str]:
    for family, criterion in proof.idle_criteria():
        yield f"{family}: criterion {criterion!r} is the first to fail for no mutant"
    working = proof.working_criteria()
    if working.of < CHECKS * len(proof.tasks):
        mean = working.of / len(proof.tasks)
        yield f"{mean:.1f} criteria a task are the first to fail for some mutant, less than {CHECKS}; check more"
    if working.percent < FORBIDDING:
        yield f"{working.percent:.1f} % of those criteria are prohibitions, less than {FORBIDDING} %; forbid more"
