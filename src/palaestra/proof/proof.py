"""The proof of a set of tasks: whether they are proved, and all faults if not."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from palaestra.proof.attacks import ATTACKS
from palaestra.proof.fault import Fault, FaultKind
from palaestra.proof.faults import faults_of
from palaestra.proof.totals import ProofTotals


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofVerdict:
    """The result of a proof, with the underlying counts."""

    proved: bool
    tasks: int
    families: int
    faults: int
    by_kind: Mapping[FaultKind, int]
    """The number of faults by kind, for kinds with faults."""
    mutants: int
    routes: int
    attacks: int
    """Attacks that found something to try in some task."""
    sequences: int
    """Distinct call sequences that those attacks tried, each counted once per task."""

    def __str__(self) -> str:
        """The verdict as a sentence."""
        tasks = f"{_count(self.tasks, 'task')} in {_count(self.families, 'family', 'families')}"
        if not self.proved:
            kinds = ", ".join(f"{kind} {count}" for kind, count in self.by_kind.items())
            return f"Not proved: {_count(self.faults, 'fault')} ({kinds}) in {tasks}."
        return (
            f"Proved: {tasks}. {self.mutants:,} mutants, {self.routes:,} other routes and {self.sequences:,} distinct "
            f"call sequences of {self.attacks} of {len(ATTACKS)} attacks were judged."
        )


@dataclass(slots=True, kw_only=True)
class Proof(ProofTotals):
    """The proofs of a set of tasks, together."""

    @property
    def faults(self) -> list[Fault]:
        """Why these tasks are not proved; empty when they are."""
        return faults_of(self)

    @property
    def verdict(self) -> ProofVerdict:
        """Whether they are proved, with counts."""
        faults = self.faults
        return ProofVerdict(
            proved=bool(self.tasks) and not faults,
            tasks=len(self.tasks),
            families=len(self.families),
            faults=len(faults),
            by_kind=dict(Counter(fault.kind for fault in faults)),
            mutants=self.total("mutants").of,
            routes=self.total("routes").of,
            attacks=sum(self.applying(name) > 0 for name in ATTACKS),
            sequences=sum(len(set(p.attack_sequences.values())) for p in self.tasks),
        )


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
