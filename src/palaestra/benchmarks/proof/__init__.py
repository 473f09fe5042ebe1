"""Proof of tasks: the oracle gets every point, idle agents and hacks none, wrong work fails, right work never does."""

from palaestra.benchmarks.proof.document import proof_document, proof_markdown
from palaestra.benchmarks.proof.hacks import HACKS
from palaestra.benchmarks.proof.proof import Proof
from palaestra.benchmarks.proof.prove import prove
from palaestra.benchmarks.proof.release import release_of
from palaestra.benchmarks.proof.tables import proof_tables
from palaestra.benchmarks.proof.tally import Finding, Tally
from palaestra.benchmarks.proof.task import TaskProof, prove_task
from palaestra.benchmarks.proof.variants import MUTANT_KINDS, ROUTE_KINDS

__all__ = [
    "HACKS",
    "MUTANT_KINDS",
    "ROUTE_KINDS",
    "Finding",
    "Proof",
    "Tally",
    "TaskProof",
    "proof_document",
    "proof_markdown",
    "proof_tables",
    "prove",
    "prove_task",
    "release_of",
]
