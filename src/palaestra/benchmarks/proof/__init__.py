"""Proof of tasks: the oracle gets every point, idle agents none, wrong work does not pass, right work always does."""

from palaestra.benchmarks.proof.prove import Finding, Proof, Tally, TaskProof, prove, prove_task
from palaestra.benchmarks.proof.tables import proof_document, proof_tables
from palaestra.benchmarks.proof.variants import MUTANT_KINDS, ROUTE_KINDS

__all__ = [
    "MUTANT_KINDS",
    "ROUTE_KINDS",
    "Finding",
    "Proof",
    "Tally",
    "TaskProof",
    "proof_document",
    "proof_tables",
    "prove",
    "prove_task",
]
