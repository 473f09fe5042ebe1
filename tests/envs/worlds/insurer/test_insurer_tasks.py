"""The Insurer's tasks: oracles on every surface, twins, what scripts win, and that every section and tool decides."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import gymnasium as gym
import orjson
import pytest

from palaestra.agents import PatientAgent, oracle, rollout
from palaestra.envs import SPLITS, Instance, ToolEnv, call
from palaestra.envs.rule_twin import deciding_rules, solves
from palaestra.envs.worlds.insurer.handbook import write_sections
from palaestra.envs.worlds.insurer.rules import RULES
from palaestra.envs.worlds.insurer.schema import Claim, Cover, Invoice, Matter
from palaestra.envs.worlds.insurer.tools import TOOLBOX
from palaestra.proof import prove_injections
from palaestra.records import ToolCall
from palaestra.tools import CONTROL

pytestmark = [pytest.mark.unmeasured, pytest.mark.xdist_group("insurer")]

FINISH = call("finish")
INVOICE_FAMILIES = (
    "pay-cancelled-cover",
    "pay-four-eyes",
    "pay-invoice",
    "pay-late-premium",
    "pay-late-report",
    "pay-outside-garage",
    "pay-with-approval",
)


@cache
def made(surface: str = "conventional") -> ToolEnv:
    switches: dict[str, Any] = {} if surface == "conventional" else {"surface": surface}
    env = gym.make("palaestra/Insurer-v0", **switches).unwrapped
    assert isinstance(env, ToolEnv)
    return env


def first_tasks(split: str) -> list[str]:
    """The first task of every family of a split."""
    return list({task.rpartition("/")[0]: task for task in reversed(made().task_set.ids(split))}.values())


@cache
def pairs() -> list[tuple[Instance, Instance]]:
    """The first pairs of a task and its refusal twin."""
    tasks = made().task_set
    twins = [task for task in first_tasks("dev") if "-twin/" in task]
    return [(tasks.instance(twin.replace("-twin/", "/")), tasks.instance(twin)) for twin in twins]


def points(task: str, calls: list[ToolCall]) -> float:
    env = made()
    env.reset(options={"task": task})
    return rollout(env, oracle(lambda: calls), name="script", seed=0, task=task).score.points


def reads(task: Instance) -> list[ToolCall]:
    """The look-ups and questions of a solution."""
    ends = ("finish", "resolve_matter", "decline_request", "escalate_matter")
    talk = [c for c in task.oracle if c.tool == "reply" and c.arguments.get("act") == "ask"]
    return [c for c in task.oracle if c in talk or not (TOOLBOX[c.tool].writes or c.tool in (*ends, "reply"))]


def matter_of(task: Instance) -> Matter:
    open_ones = [row for row in task.initial_state.find(Matter) if row.id in str(task.messages[-1]["content"])]
    return open_ones[0]


def test_it_lists_what_was_asked_for() -> None:
    families = made().task_set.families.values()
    assert sum(f.twin_of is None for f in families) >= 15
    assert all(f.twin for f in families if f.twin_of is None)
    assert sum(len(made().task_set.ids(split)) for split in SPLITS) >= 300
    assert sum("dialogue" in f.traits for f in families if f.twin_of is None) >= 3


@pytest.mark.parametrize("surface", ["conventional", "generic", "pages"])
@pytest.mark.parametrize("split", SPLITS)
def test_the_oracle_gets_every_point(surface: str, split: str) -> None:
    env = made(surface)
    for task in first_tasks(split):
        env.reset(options={"task": task})
        assert rollout(env, oracle(env.oracle), name="oracle", seed=0, task=task).score.passed, task


def test_a_twin_has_the_same_request_and_the_other_answer_is_wrong() -> None:
    assert len(pairs()) >= 15
    for task, twin in pairs():
        assert task.messages == twin.messages, twin.spec.id
        assert not solves(task.oracle, twin), twin.spec.id
        assert not solves(twin.oracle, task), twin.spec.id


def test_reading_alone_wins_no_more_than_look_ups() -> None:
    for task, twin in pairs():
        assert points(task.spec.id, [*reads(task), FINISH]) <= 5, task.spec.id
        assert points(twin.spec.id, [*reads(twin), FINISH]) <= 5, twin.spec.id


# Scripts that look everything up and decide without looking at it


def end(task: Instance, words: str) -> list[ToolCall]:
    return [call("reply", message=words), call("resolve_matter", matter_id=matter_of(task).id), FINISH]


def invoice_of(task: Instance) -> Invoice:
    request = str(task.messages[-1]["content"])
    return next(row for row in task.initial_state.find(Invoice) if row.id in request)


def pay_total(task: Instance) -> list[ToolCall]:
    invoice = invoice_of(task)
    pay = call("pay_invoice", invoice_id=invoice.id, amount_cents=invoice.total_cents)
    return [*reads(task), pay, *end(task, "We have paid the invoice in full.")]


def pay_less_deductible(task: Instance) -> list[ToolCall]:
    invoice = invoice_of(task)
    claim = task.initial_state.get(Claim, invoice.claim_id)
    cover = task.initial_state.find(Cover, contract_id=claim.contract_id, peril=claim.peril)[0]
    due = invoice.total_cents - cover.deductible_cents
    pay = call("pay_invoice", invoice_id=invoice.id, amount_cents=due)
    return [*reads(task), pay, *end(task, f"The garage gets {due} cents of the invoice.")]


def invoice_pairs() -> Iterator[tuple[Instance, Instance]]:
    for task, twin in pairs():
        if task.spec.family.partition("/")[2] in INVOICE_FAMILIES:
            yield task, twin


@pytest.mark.parametrize("script", [pay_total, pay_less_deductible])
def test_a_script_that_pays_invoices_unseen_solves_no_pair(script: Any) -> None:
    found = list(invoice_pairs())
    assert len(found) == len(INVOICE_FAMILIES)
    for task, twin in found:
        assert not (solves(script(task), task) and solves(script(twin), twin)), task.spec.id
        assert points(twin.spec.id, script(twin)) <= 5, twin.spec.id


def test_the_total_of_an_invoice_is_never_what_is_due() -> None:
    assert not any(solves(pay_total(task), task) for task, _ in invoice_pairs())


def test_refusing_everything_solves_no_task_that_is_granted() -> None:
    """With the section and the record of the twin, which is the best that such a script can have."""
    for task, twin in pairs():
        grounds = next(c for c in twin.oracle if c.tool in ("decline_request", "escalate_matter"))
        read = call("read_handbook", section_id=grounds.arguments["policy_id"])
        script = [*reads(task), read, grounds, call("reply", message="I am sorry: the handbook forbids it."), FINISH]
        assert not solves(script, task), task.spec.id


# Nothing is decorative


@cache
def all_first_instances() -> list[Instance]:
    return [made().task_set.instance(task) for split in SPLITS for task in first_tasks(split)]


def test_every_section_decides_some_task() -> None:
    """A task is refused by it, or its work waits until it was read."""
    refused = {
        str(c.arguments["policy_id"])
        for task in all_first_instances()
        for c in task.oracle
        if "policy_id" in c.arguments
    }
    needed = {name for task in all_first_instances() for c in task.rubric.criteria for name in c.after}
    sections = {section.id for section in write_sections(RULES.own)}
    assert {section for section in sections if section not in refused and f"read-{section}" not in needed} == set()
    assert len(refused) >= 18


def test_every_tool_is_used_or_declared_optional() -> None:
    used = {c.tool for task in all_first_instances() for c in task.oracle}
    idle = {tool.name for tool in TOOLBOX} - used - {tool.name for tool in CONTROL}
    assert idle == set(made().world.optional_tools)


def test_every_rule_decides_a_task_of_the_held_out_handbooks() -> None:
    tasks, left = made().task_set, set(RULES.changes)
    for task in tasks.ids("heldout-policy"):
        if left:
            left -= set(deciding_rules(tasks.instance(task)))
    assert left == set()


def test_noise_leaves_every_task_solvable() -> None:
    noise = {"renames": True, "stale": 60, "conflicts": 4, "failures": 10, "events": 60, "injections": 40}
    env = gym.make("palaestra/Insurer-v0", noise=noise, max_turns=120).unwrapped
    assert isinstance(env, ToolEnv)
    for task in first_tasks("dev"):
        env.reset(options={"task": task})
        patient = PatientAgent(oracle(env.oracle))
        assert rollout(env, patient, name="oracle", seed=0, task=task).score.passed, task


def test_injections_find_out_victims_and_accuse_no_honest_solution() -> None:
    listed = made().task_set.ids("dev")
    proof = prove_injections(made(), listed[:: len(listed) // 5])
    assert len(proof.trials) >= 8 * 5
    assert all(trial.detected and trial.careful and not trial.accused for trial in proof.trials)


def test_held_out_requests_have_words_of_their_own() -> None:
    def bodies(split: str) -> set[str]:
        tasks = made().task_set
        contents = [str(tasks.instance(task).messages[-1]["content"]) for task in first_tasks(split)]
        return {content.partition("\n\n")[2][:16] for content in contents}

    assert bodies("train").isdisjoint(bodies("heldout"))


def test_families_share_requests_so_that_words_tell_no_answer() -> None:
    """At least four families begin with the same words."""
    kinds: dict[str, set[str]] = {}
    for task, _ in pairs():
        body = str(task.messages[-1]["content"]).partition("\n\n")[2]
        opening = " ".join(body.split()[:3])
        kinds.setdefault(opening, set()).add(task.spec.family)
    assert max(map(len, kinds.values())) >= 4


def test_the_release_lists_every_family() -> None:
    release = made().world.release
    assert release is not None
    listed = orjson.loads(release.read_bytes())["families"]
    assert set(listed) == set(made().task_set.families)
