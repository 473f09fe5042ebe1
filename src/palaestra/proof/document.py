"""The proof as documents: plain data to store with the tasks, and Markdown to read."""

from dataclasses import asdict
from typing import Any

from palaestra.proof.attacks import ATTACKS, NEEDS
from palaestra.proof.demonstrations import shared_histories
from palaestra.proof.proof import Proof
from palaestra.proof.report import proof_lines
from palaestra.proof.tables import proof_tables
from palaestra.proof.task import TaskProof


def proof_document(proof: Proof) -> dict[str, Any]:
    """The whole proof as plain data."""
    return {
        "verdict": {**asdict(proof.verdict), "sentence": str(proof.verdict)},
        "faults": [asdict(fault) | {"line": str(fault)} for fault in proof.faults],
        "tasks": len(proof.tasks),
        "missing_families": list(proof.missing),
        "survivors": [asdict(finding) for finding in proof.survivors],
        "false_rejects": [asdict(finding) for finding in proof.false_rejects],
        "attacked": [asdict(finding) for finding in proof.attacked],
        "idle_criteria": proof.idle_criteria(),
        "without_twins": proof.without_twins(),
        "decidability": {
            "values": dict(sorted(proof.value_sources().items())),
            "choices": sum(found.choices for _, found in proof.decidabilities),
            "compared": shared_histories(proof.demonstrations),
            "undecided": [
                asdict(u) | {"task": p.spec.id} for p, found in proof.decidabilities for u in found.undecided
            ],
            "conflicts": [asdict(conflict) for conflict in proof.conflicts],
            "undecided_values": [list(found) for found in proof.undecided_values()],
        },
        "attacks": {
            name: {
                "tasks": proof.applying(name),
                "sequences": proof.attack_sequences(name),
                "needs": NEEDS[attack.needs],
            }
            for name, attack in ATTACKS.items()
        },
        "by_task": [_by_task(p) for p in proof.tasks],
    }


def _by_task(proof: TaskProof) -> dict[str, Any]:
    return {
        "task": proof.spec.id,
        "split": proof.spec.split,
        "oracle": proof.oracle.points,
        "floors": {name: tally.points for name, tally in proof.floors.items()},
        "attacks": {name: tally.points for name, tally in proof.attacks.items() if tally.of},
        "mutants": {kind: [tally.hits, tally.of] for kind, tally in proof.mutants.items()},
        "equivalents": {kind: dict(rules) for kind, rules in proof.equivalents.items() if rules},
        "routes": {kind: [tally.hits, tally.of] for kind, tally in proof.routes.items()},
        "first_failures": dict(sorted(proof.first_failures.items())),
        "twin": None if proof.twin is None else asdict(proof.twin),
        "rule_twin": None if proof.rule_twin is None else asdict(proof.rule_twin),
    }


def proof_markdown(proof: Proof, *, command: str) -> str:
    """The proof's tables as a Markdown document.

    Args:
        proof: The proof.
        command: The command that made it, so that a reader can repeat it.
    """
    verdict, *faults = proof_lines(proof)
    parts = ["# The gate", verdict, *(["```text\n" + "\n".join(faults) + "\n```"] if faults else [])]
    parts.append(f"Made by `{command}`.")
    for number, table in enumerate(proof_tables(proof)):
        parts += ([] if number == 0 else [f"## {table.title}"]) + [table.markdown(), table.note]
    return "\n\n".join(part for part in parts if part) + "\n"
