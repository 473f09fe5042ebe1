"""Tasks held against their rule twins by the proof: what is recorded, and the faults of a task that nothing decides."""

from dataclasses import replace

import gymnasium as gym
import pytest

from palaestra.envs import ToolEnv
from palaestra.proof import prove
from palaestra.proof.proof import Proof
from palaestra.proof.rule_twins import RuleTwinProof, prove_rule_twin, tasks_by_section
from palaestra.proof.tables import gate_table, sections_table
from palaestra.proof.trial import Trial


@pytest.fixture(scope="module")
def env() -> ToolEnv:
    made = gym.make("palaestra/Storefront-v0").unwrapped
    assert isinstance(made, ToolEnv)
    return made


@pytest.fixture(scope="module")
def proof(env: ToolEnv) -> Proof:
    task = next(id for id in env.task_set.candidates("heldout-policy") if "/double-charge/" in id)
    return prove(env, [task])


def test_a_task_of_changed_rules_is_held_against_its_rule_twin(proof: Proof) -> None:
    twin = proof.tasks[0].rule_twin
    assert twin is not None
    assert twin.holds
    assert (twin.rules, twin.sections) == (("wrong_charge",), ("REF-4",))
    assert not [fault for fault in proof.faults if fault.kind == "rules"]
    assert ("tasks that a changed rule decides", "1 of 1", "1 handbooks, 1 sections that decide") in gate_table(
        proof
    ).rows
    assert sections_table(proof).rows == (("REF-4", "1"),)


def test_a_task_of_another_split_has_none(env: ToolEnv) -> None:
    assert prove_rule_twin(env, Trial(env, "storefront/double-charge/5000")) is None


def without(twin: RuleTwinProof, broken: str) -> RuleTwinProof:
    """A proof of which one part does not hold."""
    return replace(
        twin,
        same_case=broken != "same_case",
        default_rejected=broken != "default_rejected",
        twin_rejected=broken != "twin_rejected",
    )


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        ("same_case", "under the default rules it is another case, or none"),
        ("default_rejected", "what is right by the default rules solves it too"),
        ("twin_rejected", "what solves it is right by the default rules too"),
    ],
)
def test_a_task_that_its_handbook_does_not_decide_is_a_fault(proof: Proof, broken: str, sentence: str) -> None:
    task = proof.tasks[0]
    assert task.rule_twin is not None
    failing = Proof(tasks=[replace(task, rule_twin=without(task.rule_twin, broken))])
    [fault] = [fault for fault in failing.faults if fault.kind == "rules"]
    assert (fault.task, fault.sentence) == (task.spec.id, sentence)
    assert "palaestra tasks decide" in fault.way_out


def test_sections_are_counted_once_a_task() -> None:
    twin = RuleTwinProof(
        handbook=3,
        same_case=True,
        default_rejected=True,
        twin_rejected=True,
        rules=("agent_limit_cents",),
        sections=("REF-2", "WHO-1"),
    )
    assert tasks_by_section([twin, twin]) == {"REF-2": 2, "WHO-1": 2}
