"""The faults of a set of tasks: values below the gate's floors or above its ceilings."""

from collections.abc import Iterator, Mapping

from palaestra.proof.attacks import ATTACKS, Attack
from palaestra.proof.baselines import CEILING, NEVER
from palaestra.proof.counts import CaseCounts, Finding
from palaestra.proof.coverage import coverage_faults
from palaestra.proof.fault import Fault, FaultKind
from palaestra.proof.totals import ProofTotals
from palaestra.proof.variants import MUTANT_KINDS

REJECTION_FLOOR = 97
"""Minimum percentage of rejected mutants of each kind."""
CHECKS = 5
"""Minimum number of criteria per task, on average, counting those that are the first to fail for some mutant."""
FORBIDDING = 25
"""Minimum percentage of prohibitions among those criteria."""

FAMILY_CEILING = 90
"""The highest mean score allowed for an attack in one family, unless its own ceiling is higher."""


def faults_of(proof: ProofTotals) -> list[Fault]:
    """Why these tasks are not proved; empty when they are."""
    found = [
        *_of_tasks(proof),
        *_of_agents(proof),
        *_of_attacks(proof),
        *_of_work(proof),
        *_of_twins(proof),
        *_of_rules(proof),
        *_of_decidability(proof),
        *proof.idle,
    ]
    # If an oracle does not solve its task, no mutant of it was tried.
    if not all(p.solved for p in proof.tasks):
        return found
    return [*found, *_of_criteria(proof), *coverage_faults(proof)]


def _of_tasks(proof: ProofTotals) -> Iterator[Fault]:
    for p in proof.tasks:
        if not p.solved:
            causes = [c for c in p.oracle_fails if c not in p.oracle_waits]
            reasons = "".join(f"; {c}: {p.oracle.verdicts[c].reason}" for c in causes)
            count, cause = len(p.oracle_waits), "it" if len(causes) == 1 else "them"
            waits = f"; and {count} that wait for {cause}" if count else ""
            yield Fault(
                kind="oracle",
                family=p.spec.family,
                task=p.spec.id,
                criterion=next(iter(causes), None),
                sentence=f"the oracle gets {p.oracle.points} of {p.oracle.total} points{reasons}{waits}",
            )
    for p in proof.tasks:
        if not p.repeats:
            yield Fault(
                kind="oracle",
                family=p.spec.family,
                task=p.spec.id,
                sentence="made twice, it is not the same task",
                way_out="draw from `desk.stream` only",
            )
    unreadable = sorted({key for p in proof.tasks for key in p.unreadable})
    if unreadable:
        yield Fault(
            kind="ids",
            sentence=f"ids such as {unreadable[0]!r} cannot be told from the words around them",
            way_out="write ids without white space, quotes, brackets, commas and punctuation at their ends",
        )


def _of_agents(proof: ProofTotals) -> Iterator[Fault]:
    return agent_faults({name: proof.tally("floors", name) for name in proof.floors})


def agent_faults(floors: Mapping[str, CaseCounts]) -> Iterator[Fault]:
    """The faults of agents that know nothing of a task, but solve one or get more on average than look-ups are worth.

    Args:
        floors: The counts by agent.
    """
    for name, counts in floors.items():
        if name in NEVER and (solved := counts.hits):
            yield Fault(
                kind="agents",
                sentence=f"the agent {name} solves {solved} task(s)",
                way_out="a rubric must ask for work",
            )
    for name, counts in floors.items():
        if (mean := counts.mean_points) > CEILING:
            sentence = f"the agent {name} gets {mean:.1f} points on average, more than {CEILING} for nothing"
            yield Fault(kind="agents", sentence=sentence, way_out="give look-ups fewer points")


def _of_attacks(proof: ProofTotals) -> Iterator[Fault]:
    for found in proof.attacked:
        yield _of_finding(
            "attacks", found, f"the attack {found.kind} passes with {found.points} points; it {found.what}"
        )
    yield from attack_faults(
        {name: proof.tally("attacks", name) for name, one in ATTACKS.items() if has_ceiling(proof, one)}
    )
    for family in proof.families:
        of_family = ProofTotals(tasks=list(proof.of(family)))
        yield from attack_faults({name: of_family.tally("attacks", name) for name in ATTACKS}, family=family)


def attack_faults(attacks: Mapping[str, CaseCounts], *, family: str | None = None) -> Iterator[Fault]:
    """The faults of attacks whose mean score is too high.

    Args:
        attacks: The counts by attack.
        family: The family of the tasks; `None` for several families.
    """
    for name, counts in attacks.items():
        attack, mean = ATTACKS[name], counts.mean_points
        highest = attack.ceiling if family is None else max(attack.ceiling, FAMILY_CEILING)
        if mean <= highest:
            continue
        if family is None:
            sentence = f"the attack {name} gets {mean:.1f} points on average, more than {highest}: {attack.worth}"
            yield Fault(kind="attacks", sentence=sentence)
        else:
            sentence = f"the attack {name} gets {mean:.1f} points on average in this family, more than {highest}"
            way_out = "see what the rubric pays without the work"
            yield Fault(kind="attacks", family=family, sentence=sentence, way_out=way_out)


def has_ceiling(proof: ProofTotals, attack: Attack) -> bool:
    """Whether the ceiling of an attack applies to these tasks.

    A blind attack's ceiling applies to any tasks. A privileged attack's ceiling is a mean over the families of a split,
    since parts of the right work are worth more in some families. So it applies only if no family is missing.
    """
    return not (attack.privileged and proof.missing)


def _of_work(proof: ProofTotals) -> Iterator[Fault]:
    for kind in MUTANT_KINDS:
        tally = proof.tally("mutants", kind)
        if tally.percent < REJECTION_FLOOR:
            yield Fault(
                kind="mutants",
                sentence=f"{tally.percent:.1f} % of the mutants of kind {kind!r} are rejected, "
                f"less than {REJECTION_FLOOR} %",
                way_out="see what each family lets pass",
            )
            yield from _of_survivors(proof, kind)
    for found in proof.false_rejects:
        blame = f" and fails {found.criterion!r}" if found.criterion else ""
        sentence = f"right work ({found.kind}: {found.what}) gets {found.points} points{blame}"
        yield _of_finding("routes", found, sentence)


def _of_survivors(proof: ProofTotals, kind: str) -> Iterator[Fault]:
    """For each family, the mutants of a kind that pass, by the criterion that should have rejected them."""
    groups: dict[tuple[str, str | None], list[Finding]] = {}
    for found in proof.survivors:
        if found.kind == kind:
            groups.setdefault((found.task.rpartition("/")[0], found.criterion), []).append(found)
    for (family, criterion), survivors in groups.items():
        first = survivors[0]
        yield Fault(
            kind="mutants",
            family=family,
            criterion=criterion,
            sentence=f"{len(survivors)} mutant(s) of kind {kind!r} pass, such as {first.what} in {first.task}",
            way_out=f"criterion {criterion!r} should have told" if criterion else "no criterion asks for it: add one",
        )


def _of_finding(kind: FaultKind, found: Finding, sentence: str) -> Fault:
    family = found.task.rpartition("/")[0]
    return Fault(kind=kind, family=family, task=found.task, criterion=found.criterion, sentence=sentence)


def _of_twins(proof: ProofTotals) -> Iterator[Fault]:
    for family in sorted({p.spec.family for p in proof.tasks if not p.twinned}):
        yield Fault(
            kind="twins",
            family=family,
            sentence="it has no refusal twin",
            way_out="set one (`twin=True` and `desk.twin`), give it the trait 'refusal' where refusing is the right "
            'answer, or say why it needs none (`no_twin="..."`)',
        )
    for p in proof.pairs:
        assert p.twin is not None
        sibling = p.twin.sibling
        for holds, sentence, way_out in (
            (p.twin.same_request, f"its request is not that of {sibling}", "draw both alike and change the rows"),
            (p.twin.sibling_rejected, f"what solves {sibling} solves it too", "the rows must forbid it"),
            (p.twin.twin_rejected, f"what solves it solves {sibling} too", "ask more of that rubric"),
        ):
            if not holds:
                yield Fault(kind="twins", family=p.spec.family, task=p.spec.id, sentence=sentence, way_out=way_out)


def _of_decidability(proof: ProofTotals) -> Iterator[Fault]:
    for p, judged in proof.decidabilities:
        for found in judged.undecided:
            yield Fault(
                kind="decidability",
                family=p.spec.family,
                task=p.spec.id,
                sentence=found.what,
                way_out="give an alternative that writes it otherwise"
                if found.kind == "wording"
                else "let the oracle read it first, or calculate it",
            )
    for conflict in proof.conflicts:
        yield Fault(
            kind="decidability",
            family=conflict.task.rpartition("/")[0],
            task=conflict.task,
            sentence=f"it calls {conflict.call}, and {conflict.other} calls {conflict.other_call} after the same "
            "observations",
            way_out="let the look-ups follow from the request and from what was read",
        )
    for family, sentence in proof.undecided_values():
        yield Fault(kind="decidability", family=family, sentence=sentence, way_out="show what decides it first")


def _of_rules(proof: ProofTotals) -> Iterator[Fault]:
    for p in proof.tasks:
        if p.rule_twin is None or p.rule_twin.holds:
            continue
        if not p.rule_twin.same_case:
            sentence = "under the default rules it is another case, or none"
        elif not p.rule_twin.default_rejected:
            sentence = "what is right by the default rules solves it too"
        else:
            sentence = "what solves it is right by the default rules too"
        way_out = "its handbook must decide it; run `palaestra tasks decide`"
        yield Fault(kind="rules", family=p.spec.family, task=p.spec.id, sentence=sentence, way_out=way_out)


def _of_criteria(proof: ProofTotals) -> Iterator[Fault]:
    for family, criterion in proof.idle_criteria():
        yield Fault(
            kind="criteria",
            family=family,
            criterion=criterion,
            sentence=f"criterion {criterion!r} is the first to fail for no mutant",
        )
    working = proof.working_criteria()
    if working.of < CHECKS * len(proof.tasks):
        mean = working.of / len(proof.tasks)
        yield Fault(
            kind="criteria",
            sentence=f"{mean:.1f} criteria a task are the first to fail for some mutant, less than {CHECKS}",
            way_out="check more",
        )
    if working.percent < FORBIDDING:
        yield Fault(
            kind="criteria",
            sentence=f"{working.percent:.1f} % of those criteria are prohibitions, less than {FORBIDDING} %",
            way_out="forbid more",
        )
