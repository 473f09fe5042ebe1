"""The report: the verdict first, faults by family and kind, and the criterion that should have told."""

from dataclasses import replace
from functools import cache

import gymnasium as gym
import pytest

from palaestra.envs import ToolEnv, family
from palaestra.errors import DefinitionError, TaskError
from palaestra.proof import ATTACKS, Fault, Proof, group_faults, proof_lines, prove
from palaestra.proof.blame import guarding_criterion
from palaestra.proof.coverage import coverage_faults
from palaestra.proof.trial import Trial
from palaestra.proof.variants import replace_call, variant
from palaestra.tools import ToolContext, tool

TASK = "storefront/decline-late-return/0000"


@cache
def env() -> ToolEnv:
    made = gym.make("palaestra/Storefront-v0").unwrapped
    assert isinstance(made, ToolEnv)
    return made


@cache
def sound() -> Proof:
    return prove(env(), [TASK])


def unsolved() -> Proof:
    """The same proof, had the oracle failed."""
    [task] = prove(env(), [TASK]).tasks
    task.oracle = replace(task.oracle, points=0)
    return Proof(tasks=[task])


def test_the_verdict_comes_first_and_counts_what_it_rests_on() -> None:
    first, *rest = proof_lines(sound())
    verdict = sound().verdict
    assert verdict.proved
    assert first == str(verdict)
    assert first.startswith("Proved: 1 task in 1 family. ")
    assert f"{verdict.sequences} distinct call sequences of {verdict.attacks} of {len(ATTACKS)} attacks" in first
    assert [line.partition(",")[0] for line in rest] == ["Partial proof"]


def test_a_verdict_that_is_not_proved_counts_faults_by_kind() -> None:
    proof = unsolved()
    first, *rest = proof_lines(proof)
    assert not proof.verdict.proved
    assert first == "Not proved: 1 fault (oracle 1) in 1 task in 1 family."
    assert rest[0] == "storefront/decline-late-return:"
    assert rest[1] == "  the oracle does not solve its task (1):"
    assert rest[2].strip().startswith(f"{TASK}: the oracle gets 0 of 100 points")


def test_faults_are_grouped_by_family_and_then_by_kind() -> None:
    faults = [
        Fault(kind="twins", sentence="b", family="w/b"),
        Fault(kind="mutants", sentence="a", family="w/b"),
        Fault(kind="twins", sentence="c", family="w/a"),
        Fault(kind="agents", sentence="d"),
        Fault(kind="twins", sentence="e", family="w/b"),
    ]
    assert {key: [fault.sentence for fault in found] for key, found in group_faults(faults).items()} == {
        (None, "agents"): ["d"],
        ("w/a", "twins"): ["c"],
        ("w/b", "mutants"): ["a"],
        ("w/b", "twins"): ["b", "e"],
    }
    assert list(group_faults(faults)) == [(None, "agents"), ("w/a", "twins"), ("w/b", "mutants"), ("w/b", "twins")]


def test_a_fault_reads_as_place_sentence_and_way_out() -> None:
    assert str(Fault(kind="twins", family="w/a", task="w/a/0000", sentence="s", way_out="do")) == "w/a/0000: s; do"
    assert str(Fault(kind="twins", sentence="s")) == "s"


def test_a_survivor_names_the_criterion_that_the_missing_call_would_have_met() -> None:
    trial = Trial(env(), TASK)
    position, step = next((n, step) for n, step in enumerate(trial.steps) if step.changes and step.met)
    dropped = variant("dropped", "", replace_call(trial.calls, position))
    assert guarding_criterion(trial, dropped) in step.met
    assert guarding_criterion(trial, variant("dropped", "", trial.calls)) is None


def test_attacks_that_mostly_do_not_apply_fail_the_gate_with_what_is_lacking() -> None:
    [task] = prove(env(), [TASK]).tasks
    talkers = {name: hash_ for name, hash_ in task.attack_sequences.items() if ATTACKS[name].needs == "talk"}
    task.attack_sequences = talkers
    faults = [str(fault) for fault in coverage_faults(Proof(tasks=[task]))]
    assert any(f"{len(talkers)} of {len(ATTACKS)} attacks find something to try, fewer than 30" in f for f in faults)
    assert all("need a tool that writes" in fault for fault in faults)


def test_a_random_agent_that_makes_one_sequence_in_all_tasks_fails_the_gate() -> None:
    [task] = prove(env(), [TASK]).tasks
    same = Proof(tasks=[task, task, task])
    assert "the agent legal-random makes one call sequence in all 3 tasks" in "\n".join(map(str, coverage_faults(same)))


def test_random_agents_differ_from_task_to_task() -> None:
    proof = prove(env(), [f"storefront/cancel-order/{index:04d}" for index in range(3)])
    for name in ("schema-random", "legal-random"):
        assert proof.floor_sequences(name) == 3, name


@pytest.mark.parametrize(("reason", "twin"), [("", False), ("  ", False), ("needs none", True)])
def test_a_family_says_in_words_why_it_has_no_twin(reason: str, twin: bool) -> None:
    with pytest.raises(TaskError, match="say in words why the family needs no refusal twin"):
        family("w/f", level=1, twin=twin, no_twin=reason)(lambda desk: desk)


def test_what_closes_a_case_writes_and_names_it() -> None:
    def shut(context: ToolContext, note: str) -> object:
        """Shut it.

        Args:
            note: Why.
        """
        return context, note

    with pytest.raises(DefinitionError, match="closes='done': what closes a case has `writes=True` and names the case"):
        tool(writes=True, closes="done")(shut)


def test_storefront_declares_what_closes_a_case_and_what_is_money() -> None:
    tools = {tool.name: tool for tool in env().world.toolbox}
    assert {name: tool.closes for name, tool in tools.items() if tool.closes} == {
        "resolve_ticket": "done",
        "decline_request": "declined",
        "escalate_ticket": "handed on",
    }
    priced = {name for name, tool in tools.items() if tool.money}
    named = {n for n, tool in tools.items() if any(a.endswith("_cents") for a in tool.parameters["properties"])}
    assert {name for name in named if tools[name].writes} == priced
