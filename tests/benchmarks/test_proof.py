"""The proof must be able to fail: each kind of bad family is found out, and the bundled ones are not."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from palaestra.benchmarks.proof import MUTANT_KINDS, ROUTE_KINDS, Proof, proof_document, proof_tables, prove, prove_task
from palaestra.benchmarks.proof.prove import Tally
from palaestra.benchmarks.roster import FLOORS, IDLE, roster
from palaestra.digest import canonical
from palaestra.envs import SPLITS, ToolEnv

HEAD = """
from palaestra.envs.storefront import (
    Criterion, Desk, Order, Task, call, called, changed, closing, family, saw, told, touches,
)
from palaestra.records import Verdict

@family("storefront/bad", level=1)
def bad(desk: Desk) -> Task:
    order = desk.pick(Order, lambda o: o.status == "processing" and desk.plain(o))
    ticket = desk.ticket(desk.customer(order), "Moving")
    prompt = desk.mail(ticket, f"Send {order.id} to Ringstr. 4 in Wien.")
    moved = changed(order, {"ship_street": "Ringstr. 4", "ship_city": "Wien"}, id="moved")
    rubric = [moved, *desk.resolved(ticket, after=["moved"])]
    anything = [touches(order, "ship_street", "ship_city"), touches(ticket, "status", "policy_id", "evidence_id")]
    ending = closing(ticket, "Done.")
    oracle = [call("update_shipping_address", order_id=order.id, street="Ringstr. 4", city="Wien"), *ending]
"""
TASKS = [f"storefront/bad/{index:04d}" for index in range(6)]
GOOD = "return Task(prompt=prompt, rubric=rubric, oracle=oracle)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bad:
    """What an author might write, and what the proof has to say about it."""

    name: str
    body: str
    says: str


NO_OUTCOME = """
    return Task(prompt=prompt, rubric=[called('reply', id='told')], allow=anything, oracle=oracle)
"""
BAD = (
    Bad(
        name="an oracle that does not solve",
        body="return Task(prompt=prompt, rubric=rubric, oracle=ending)",
        says=r"storefront/bad/0000: the oracle gets 0 of 100 points; "
        "moved: not met; told: done before what had to come first; resolved: ",
    ),
    Bad(
        name="a rubric without the outcome",
        body=NO_OUTCOME,
        says=r"\d+\.\d % of the mutants of kind 'argument' are rejected, less than 90 %",
    ),
    Bad(
        name="a rubric that wants one order of two",
        body="""
    begins = lambda e: Verdict(met=e.events[0].tool == "get_order", reason="")
    first = Criterion(id="first", text="Began with the order.", about="event", check=begins)
    looks = [call("get_order", order_id=order.id), call("get_ticket", ticket_id=ticket.id)]
    return Task(prompt=prompt, rubric=[first, saw(order, id="saw"), *rubric], oracle=[*looks, *oracle])
""",
        says=r"storefront/bad/0000: right work \(reordered: get_ticket\(.*\) before get_order\(.*\)\) gets \d+ points",
    ),
    Bad(
        name="a rubric that wants one choice of words",
        body="""
    polite = called("reply", arguments={"message": "Done."}, id="polite")
    return Task(prompt=prompt, rubric=[polite, *rubric], oracle=oracle)
""",
        says=r"storefront/bad/0000: right work \(paraphrased: with the words 'All done.'\) gets \d+ points",
    ),
    Bad(
        name="an alternative that the rubric rejects",
        body="return Task(prompt=prompt, rubric=rubric, oracle=oracle, alternatives=[ending])",
        says=r"storefront/bad/0000: right work \(alternative: the author's alternative 1\) gets 0 points",
    ),
    Bad(
        name="a criterion that guards nothing",
        body="""
    again = changed(order, {"ship_city": "Wien"}, id="again")
    return Task(prompt=prompt, rubric=[moved, again, *rubric[1:]], oracle=oracle)
""",
        says=r"storefront/bad: criterion 'again' is the first to fail for no mutant",
    ),
    Bad(
        name="a rubric that is passed by finishing at once",
        body="return Task(prompt=prompt, rubric=[called('finish')], allow=anything, oracle=oracle)",
        says=r"the agent finish-at-once solves 6 task\(s\); a rubric must ask for work",
    ),
    Bad(
        name="a rubric that is passed by declining",
        body="""
    shut = lambda e: Verdict(met=e.state.get(type(ticket), ticket.id).status != "open", reason="")
    closed = Criterion(id="closed", text="Closed the ticket.", tables=frozenset({"tickets"}), check=shut)
    return Task(prompt=prompt, rubric=[closed], allow=anything, oracle=oracle)
""",
        says=r"the agent always-refuse solves 6 task\(s\); a rubric must ask for work",
    ),
    Bad(
        name="a rubric that pays for reading",
        body="""
    looks = [call("get_order", order_id=order.id), *oracle]
    return Task(prompt=prompt, rubric=[saw(order, id="saw", points=70), *rubric], oracle=looks)
""",
        says=r"the agent reader gets 70\.0 points on average, more than 20 for nothing",
    ),
)


@pytest.fixture
def prove_family(tmp_path: Path) -> Callable[[str], Proof]:
    """Proves six instances of a family with this body."""

    def run(body: str) -> Proof:
        (tmp_path / "bad.py").write_text(f"{HEAD}    {body.strip()}\n")
        return prove(make(tasks=tmp_path), TASKS)

    return run


def make(**kwargs: Any) -> ToolEnv:
    env = gym.make("palaestra/Storefront-v0", **kwargs).unwrapped
    assert isinstance(env, ToolEnv)
    return env


@cache
def storefront() -> ToolEnv:
    return make()


@cache
def one_of_each() -> tuple[str, ...]:
    """The first instance of every family."""
    ids = [task for split in SPLITS for task in storefront().task_set.ids(split)]
    return tuple({task.rpartition("/")[0]: task for task in reversed(ids)}.values())


@cache
def bundled_proof() -> Proof:
    return prove(storefront(), one_of_each())


# It can fail


@pytest.mark.parametrize("case", BAD, ids=[bad.name for bad in BAD])
def test_the_proof_finds_out(case: Bad, prove_family: Callable[[str], Proof]) -> None:
    faults = prove_family(case.body).faults()
    assert any(re.search(case.says, fault) for fault in faults), faults


def test_the_same_family_without_a_fault_is_proved(prove_family: Callable[[str], Proof]) -> None:
    proof = prove_family(GOOD)
    assert [fault for fault in proof.faults() if "first to fail" not in fault] == []
    assert proof.survivors == proof.false_rejects == []


def test_a_survivor_is_found_with_its_task_kind_and_work(prove_family: Callable[[str], Proof]) -> None:
    survivors = prove_family(NO_OUTCOME).survivors
    dropped = [s for s in survivors if s.kind == "dropped" and s.task == TASKS[0]]
    assert any(s.what.startswith("without update_shipping_address(") for s in dropped)
    assert {s.points for s in survivors} == {100}


# The bundled families


def test_one_instance_of_every_family_has_no_fault_but_idle_criteria() -> None:
    faults = [f for f in bundled_proof().faults() if not f.endswith("is the first to fail for no mutant")]
    assert faults == []


def test_only_prohibitions_are_idle_on_one_instance_of_every_family() -> None:
    assert {criterion for _, criterion in bundled_proof().idle_criteria()} <= {"collateral", "ungrounded"}


def test_every_kind_of_mutant_and_route_is_made_for_some_family() -> None:
    for mutant in MUTANT_KINDS:
        assert bundled_proof().tally("mutants", mutant).of > 10, mutant
    for route in ROUTE_KINDS:
        assert bundled_proof().tally("routes", route).of > 0, route


def test_every_family_is_tried_with_wrong_and_right_work() -> None:
    proof = bundled_proof()
    assert proof.families == sorted(storefront().task_set.families)
    for family in proof.families:
        assert sum(proof.tally("mutants", kind, family).of for kind in MUTANT_KINDS) > 10, family
        assert sum(proof.tally("routes", kind, family).of for kind in ROUTE_KINDS) > 5, family


def test_every_mutant_fails_at_a_criterion_of_its_rubric() -> None:
    for task in bundled_proof().tasks:
        assert set(task.first_failures) <= set(task.criteria)
        rejected = sum(tally.hits for tally in task.mutants.values())
        assert sum(task.first_failures.values()) <= rejected


def test_idle_agents_solve_nothing_and_every_floor_is_measured() -> None:
    proof = bundled_proof()
    assert set(IDLE) < set(FLOORS) == set(roster(storefront())) - {"oracle"}
    for name in FLOORS:
        assert proof.tally("floors", name).of == len(one_of_each())
    for name in IDLE:
        assert proof.tally("floors", name).hits == 0


def test_a_proof_repeats() -> None:
    for task in one_of_each()[::6]:
        again = prove_task(make(), task)
        assert again == next(p for p in bundled_proof().tasks if p.spec.id == task)


def test_proving_tells_how_far_it_is() -> None:
    told: list[str] = []
    prove(storefront(), one_of_each()[:2], progress=told.append)
    assert told == list(one_of_each()[:2])


# Sums and tables


def test_a_tally_of_nothing_is_whole() -> None:
    assert (Tally().percent, Tally().mean_points) == (100.0, 0.0)


def test_tallies_add_up() -> None:
    total = Tally()
    total.add(hit=True, points=100)
    total.add(hit=False, points=-40)
    total += Tally(hits=1, of=2, points=60)
    assert (total.hits, total.of, total.points, total.percent, total.mean_points) == (2, 4, 120, 50.0, 30.0)


def test_the_tables_count_what_the_proof_counted() -> None:
    proof = bundled_proof()
    agents, work, families = proof_tables(proof)
    assert [row[0] for row in agents.rows] == ["oracle", *FLOORS]
    assert agents.rows[0][1:4] == (str(len(one_of_each())), "100.0 %", "100.0")
    assert len(work.rows) == len(MUTANT_KINDS) + len(ROUTE_KINDS)
    assert [int(row[2]) for row in work.rows] == [
        *(proof.tally("mutants", kind).of for kind in MUTANT_KINDS),
        *(proof.tally("routes", kind).of for kind in ROUTE_KINDS),
    ]
    assert [f"storefront/{row[0]}" for row in families.rows] == proof.families


def test_the_document_is_plain_data_with_every_task() -> None:
    document = proof_document(bundled_proof())
    assert canonical(document)
    assert [entry["task"] for entry in document["by_task"]] == list(one_of_each())
    assert document["faults"] == bundled_proof().faults()


def test_a_family_that_is_made_otherwise_the_second_time_is_found_out(
    prove_family: Callable[[str], Proof],
) -> None:
    body = """
    import uuid
    return Task(prompt=f"{prompt} {uuid.uuid4()}", rubric=rubric, oracle=oracle)
"""
    assert "storefront/bad/0000: made twice, it is not the same task" in "\n".join(prove_family(body).faults())
