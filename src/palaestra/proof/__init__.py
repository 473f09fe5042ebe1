"""Proof of tasks: oracles get full score, idle agents and attacks fail, wrong work fails, right work passes.

`prove(env, task_ids)` returns a `Proof` with its `verdict`, its `faults` and its counts. `proof_lines`,
`proof_markdown` and `proof_document` report it.
"""

from palaestra.proof.attack import AttackReport, attack_table, attack_tasks
from palaestra.proof.attacks import ATTACKS
from palaestra.proof.counts import CaseCounts, Finding
from palaestra.proof.decide import decide_tasks
from palaestra.proof.document import proof_document, proof_markdown
from palaestra.proof.fault import FAULT_KINDS, Fault, group_faults
from palaestra.proof.injections import InjectionProof, InjectionTrial, prove_injections, try_injection
from palaestra.proof.proof import Proof, ProofVerdict
from palaestra.proof.prove import prove
from palaestra.proof.release import release_of
from palaestra.proof.report import proof_lines
from palaestra.proof.tables import proof_tables
from palaestra.proof.task import TaskProof, prove_task
from palaestra.proof.variants import MUTANT_KINDS, ROUTE_KINDS

__all__ = [
    "ATTACKS",
    "FAULT_KINDS",
    "MUTANT_KINDS",
    "ROUTE_KINDS",
    "AttackReport",
    "CaseCounts",
    "Fault",
    "Finding",
    "InjectionProof",
    "InjectionTrial",
    "Proof",
    "ProofVerdict",
    "TaskProof",
    "attack_table",
    "attack_tasks",
    "decide_tasks",
    "group_faults",
    "proof_document",
    "proof_lines",
    "proof_markdown",
    "proof_tables",
    "prove",
    "prove_injections",
    "prove_task",
    "release_of",
    "try_injection",
]
