"""The proofs of a set of tasks, together: sums, and why the set is not proved where it is not."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from palaestra.proof.equivalence import RULES, Rule
from palaestra.proof.faults import faults_of
from palaestra.proof.tally import CaseCounts, Finding
from palaestra.proof.task import TaskProof

ENOUGH = 3
"""Tasks of a family from which on its mutants say that a criterion guards nothing."""


@dataclass(slots=True, kw_only=True)
class Proof:
    """The proofs of a set of tasks, together."""

    tasks: list[TaskProof]

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
        """How many tasks their oracle solves with every point."""
        total = CaseCounts()
        for proof in self.of(family):
            total.add(hit=proof.solved, points=proof.oracle.points)
        return total

    def equivalents(self, kind: str | None = None) -> dict[Rule, int]:
        """How many mutants of a kind, or of all, are right work after all, by which rule."""
        found: Counter[Rule] = Counter()
        for proof in self.tasks:
            for of, rules in proof.equivalents.items():
                if kind in (None, of):
                    found.update(rules)
        return {rule: found[rule] for rule in RULES}

    @property
    def families(self) -> list[str]:
        """The families that were proved."""
        return sorted({proof.spec.family for proof in self.tasks})

    @property
    def pairs(self) -> list[TaskProof]:
        """The impossible twins, each held against its sibling."""
        return [proof for proof in self.tasks if proof.twin is not None]

    def first_to_fail(self) -> dict[str, set[str]]:
        """By family: the criteria that are the first to fail for some mutant."""
        found: dict[str, set[str]] = {}
        for proof in self.tasks:
            found.setdefault(proof.spec.family, set()).update(proof.first_failures)
        return found

    def idle_criteria(self) -> list[tuple[str, str]]:
        """(family, criterion) for criteria that are the first to fail for no mutant: they guard nothing.

        Only of families of which enough tasks were proved to say so.
        """
        first, tasks = self.first_to_fail(), Counter(proof.spec.family for proof in self.tasks)
        enough = [proof for proof in self.tasks if tasks[proof.spec.family] >= ENOUGH]
        return sorted({(p.spec.family, c) for p in enough for c in p.criteria if c not in first[p.spec.family]})

    def working_criteria(self) -> CaseCounts:
        """Over tasks, the criteria that are the first to fail for some mutant; hits are prohibitions among them."""
        first, total = self.first_to_fail(), CaseCounts()
        for proof in self.tasks:
            for criterion in proof.criteria:
                if criterion in first[proof.spec.family]:
                    total.add(hit=criterion in proof.forbidding, points=0)
        return total

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

    def faults(self) -> list[str]:
        """Why these tasks are not proved, a sentence each; empty when they are."""
        return faults_of(self)
