"""Proof of tasks: oracles get every point, idle agents and attacks none; wrong work fails, right work never does."""

from palaestra.proof.attacks import ATTACKS
from palaestra.proof.document import proof_document, proof_markdown
from palaestra.proof.proof import Proof
from palaestra.proof.prove import prove
from palaestra.proof.release import release_of
from palaestra.proof.tables import proof_tables
from palaestra.proof.tally import CaseCounts, Finding
from palaestra.proof.task import TaskProof, prove_task
from palaestra.proof.variants import MUTANT_KINDS, ROUTE_KINDS

__all__ = [
    "ATTACKS",
    "MUTANT_KINDS",
    "ROUTE_KINDS",
    "CaseCounts",
    "Finding",
    "Proof",
    "TaskProof",
    "proof_document",
    "proof_markdown",
    "proof_tables",
    "prove",
    "prove_task",
    "release_of",
]
