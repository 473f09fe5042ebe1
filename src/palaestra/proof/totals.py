"""Totals over the proofs of a set of tasks: sums over tasks and kinds."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from palaestra.proof.counts import CaseCounts, Finding
from palaestra.proof.decidability import Basis, Decidability
from palaestra.proof.demonstrations import Conflict, ObservedCall, find_conflicts, undecided_values
from palaestra.proof.equivalence import RULES, Rule
from palaestra.proof.fault import Fault
from palaestra.proof.rule_twins import RuleTwinProof
from palaestra.proof.task import TaskProof
from palaestra.rubrics.guards import SLIP_ID

MANY_FAMILIES = 20
"""From this many families on, each prohibition that every task has must be the first to fail somewhere."""
ENOUGH = 3
"""Tasks of a family from which its mutants can show that a criterion guards nothing."""


@dataclass(slots=True, kw_only=True)
class ProofTotals:
    """The proofs of a set of tasks, and what they add up to."""

    tasks: list[TaskProof]
    missing: tuple[str, ...] = ()
    """The families in the splits of these tasks without a proved task."""
    idle: tuple[Fault, ...] = ()
    """The parts of the world that decide no task; empty unless all its tasks were proved."""

    def of(self, family: str | None) -> Iterator[TaskProof]:
        """The proofs of a family's tasks; of all tasks for `None`."""
        return (proof for proof in self.tasks if family in (None, proof.spec.family))

    def tally(self, part: str, kind: str, family: str | None = None) -> CaseCounts:
        """The sum over tasks of `part` ("floors", "mutants", "routes", "attacks") and `kind`."""
        total = CaseCounts()
        for proof in self.of(family):
            total += getattr(proof, part)[kind]
        return total

    def total(self, part: str, family: str | None = None) -> CaseCounts:
        """The sum over tasks and kinds of `part`."""
        total = CaseCounts()
        for proof in self.of(family):
            for tally in getattr(proof, part).values():
                total += tally
        return total

    def oracle(self, family: str | None = None) -> CaseCounts:
        """The number of tasks that their oracle solves with full score."""
        total = CaseCounts()
        for proof in self.of(family):
            total.add(hit=proof.solved, points=proof.oracle.points)
        return total

    def equivalents(self, kind: str | None = None) -> dict[Rule, int]:
        """The number of mutants of a kind, or of all kinds, that are right work after all, by rule."""
        found: Counter[Rule] = Counter()
        for proof in self.tasks:
            for of, rules in proof.equivalents.items():
                if kind in (None, of):
                    found.update(rules)
        return {rule: found[rule] for rule in RULES}

    @property
    def floors(self) -> tuple[str, ...]:
        """The measured agents that know nothing of a task."""
        return tuple(dict.fromkeys(name for proof in self.tasks for name in proof.floors))

    @property
    def families(self) -> list[str]:
        """The families that were proved."""
        return sorted({proof.spec.family for proof in self.tasks})

    @property
    def pairs(self) -> list[TaskProof]:
        """The refusal twins, each compared with its sibling."""
        return [proof for proof in self.tasks if proof.twin is not None]

    def first_to_fail(self) -> dict[str, set[str]]:
        """The criteria that are the first to fail for some mutant, by family."""
        found: dict[str, set[str]] = {}
        for proof in self.tasks:
            found.setdefault(proof.spec.family, set()).update(proof.first_failures)
        return found

    def idle_criteria(self) -> list[tuple[str, str]]:
        """(family, criterion) for criteria that are the first to fail for no mutant: they guard nothing.

        Only families with enough proved tasks count. A prohibition that every task has must be the first to fail in
        some family if there are many: not each family allows every harm. Slips have no check of their own: whatever
        breaks a guard is a slip.
        """
        first, tasks = self.first_to_fail(), Counter(proof.spec.family for proof in self.tasks)
        enough = [proof for proof in self.tasks if tasks[proof.spec.family] >= ENOUGH]
        everywhere = set[str].intersection(*(set(p.forbidding) for p in self.tasks)) if self.tasks else set[str]()
        broken = set[str]().union(*first.values()) | {SLIP_ID}
        anywhere = everywhere & broken if len(first) >= MANY_FAMILIES else everywhere
        return sorted(
            {(p.spec.family, c) for p in enough for c in p.criteria if c not in first[p.spec.family] | anywhere}
        )

    def working_criteria(self) -> CaseCounts:
        """Over tasks, the criteria that are the first to fail for some mutant; hits are prohibitions among them."""
        first, total = self.first_to_fail(), CaseCounts()
        for proof in self.tasks:
            for criterion in proof.criteria:
                if criterion in first[proof.spec.family]:
                    total.add(hit=criterion in proof.forbidding, points=0)
        return total

    @property
    def decidabilities(self) -> list[tuple[TaskProof, Decidability]]:
        """Each task whose demonstration was judged, with the result."""
        return [(proof, proof.decidability) for proof in self.tasks if proof.decidability is not None]

    def value_sources(self) -> Counter[Basis]:
        """The values that demonstrations write, by source."""
        total: Counter[Basis] = Counter()
        for _, found in self.decidabilities:
            total.update(found.values)
        return total

    @property
    def demonstrations(self) -> list[tuple[str, Sequence[ObservedCall]]]:
        """Each task's id, and the calls of its demonstration with everything observed before them."""
        return [(proof.spec.id, found.decisions) for proof, found in self.decidabilities]

    @property
    def conflicts(self) -> list[Conflict]:
        """Demonstrations with equal observations and different next calls."""
        return find_conflicts(self.demonstrations)

    def undecided_values(self) -> list[tuple[str, str]]:
        """(family, sentence) for listed values that differ between tasks, though nothing shown decides them."""
        return [
            (family, sentence)
            for family in self.families
            for sentence in undecided_values(
                value for proof, found in self.decidabilities if proof.spec.family == family for value in found.open
            )
        ]

    @property
    def survivors(self) -> list[Finding]:
        """Wrong work that passed."""
        return [finding for proof in self.tasks for finding in proof.survivors]

    @property
    def false_rejects(self) -> list[Finding]:
        """Right work that did not get every point."""
        return [finding for proof in self.tasks for finding in proof.false_rejects]

    @property
    def attacked(self) -> list[Finding]:
        """Attacks that passed."""
        return [finding for proof in self.tasks for finding in proof.attacked]

    @property
    def rule_twins(self) -> list[RuleTwinProof]:
        """The tasks that were compared with rule twins."""
        return [proof.rule_twin for proof in self.tasks if proof.rule_twin is not None]

    def without_twins(self) -> dict[str, str]:
        """By family: why it has no refusal twin, if its author says so."""
        return {p.spec.family: p.no_twin for p in self.tasks if p.no_twin}

    def applying(self, name: str) -> int:
        """The number of tasks in which an attack found something to try."""
        return sum(name in proof.attack_sequences for proof in self.tasks)

    def attack_sequences(self, name: str) -> int:
        """The number of distinct call sequences that an attack tried."""
        return len({p.attack_sequences[name] for p in self.tasks if name in p.attack_sequences})

    def floor_sequences(self, name: str) -> int:
        """The number of distinct call sequences that an agent made."""
        return len({p.floor_sequences[name] for p in self.tasks if name in p.floor_sequences})

    def sequences_a_task(self) -> float:
        """The number of distinct call sequences that attacks tried per task, on average."""
        tried = [len(set(p.attack_sequences.values())) for p in self.tasks]
        return sum(tried) / len(tried) if tried else 0.0
