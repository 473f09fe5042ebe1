"""A fault: one reason why a set of tasks is not proved, and what to do about it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

FaultKind: TypeAlias = Literal[
    "oracle",
    "ids",
    "agents",
    "attacks",
    "mutants",
    "routes",
    "twins",
    "rules",
    "criteria",
    "coverage",
    "decidability",
    "idle",
]
FAULT_KINDS: dict[FaultKind, str] = {
    "oracle": "the oracle does not solve its task",
    "ids": "ids that cannot be read in a text",
    "agents": "agents that know nothing are paid",
    "attacks": "attacks are paid",
    "mutants": "wrong work passes",
    "routes": "right work is rejected",
    "twins": "refusal twins are missing or do not hold",
    "rules": "tasks that their handbooks do not decide",
    "criteria": "criteria that guard nothing",
    "coverage": "too little was tried",
    "decidability": "oracles use what they have not read",
    "idle": "parts of the world decide no task",
}
"""The kinds of faults, in the order of reports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One reason why a set of tasks is not proved."""

    kind: FaultKind
    sentence: str
    """What is wrong, without the place."""
    way_out: str = ""
    """What the author can do."""
    family: str | None = None
    """The family; `None` if the fault concerns all tasks together."""
    task: str | None = None
    criterion: str | None = None
    """The criterion that is at fault, or that should have rejected the work, if known."""

    def __str__(self) -> str:
        """The place, the sentence and what to do, in one line."""
        place = self.task or self.family
        said = f"{place}: {self.sentence}" if place else self.sentence
        return f"{said}; {self.way_out}" if self.way_out else said


def group_faults(faults: Iterable[Fault]) -> dict[tuple[str | None, FaultKind], list[Fault]]:
    """The faults by family and kind: first those of all tasks together, then families by name; kinds in order."""
    kinds = list(FAULT_KINDS)
    found = sorted(faults, key=lambda fault: (fault.family or "", kinds.index(fault.kind)))
    groups: dict[tuple[str | None, FaultKind], list[Fault]] = {}
    for fault in found:
        groups.setdefault((fault.family, fault.kind), []).append(fault)
    return groups
