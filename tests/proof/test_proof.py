"""The proof must be able to fail: each kind of bad family is found out, and the bundled ones are not."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import gymnasium as gym
import pytest
from pydantic import TypeAdapter

from palaestra.digest import canonical
from palaestra.envs import SPLITS, ToolEnv
from palaestra.proof import (
    MUTANT_KINDS,
    ROUTE_KINDS,
    CaseCounts,
    Proof,
    proof_document,
    proof_lines,
    proof_markdown,
    proof_tables,
    prove,
    prove_task,
)
from palaestra.proof.attacks import ATTACKS
from palaestra.proof.baselines import FLOORS, IDLE, baselines
from worlds import registration

HEAD = """
from palaestra.envs.worlds.storefront import (
    Criterion, Desk, Order, Task, call, expect_call, expect_change, closing_calls, family, expect_read, permit_change,
)
from palaestra.records import Verdict

@family("storefront/bad", level=1, traits=("refusal",))
def bad(desk: Desk) -> Task:
    order = desk.pick(Order, lambda o: o.status == "processing" and desk.plain(o))
    ticket = desk.ticket(desk.customer(order), "Moving")
    prompt = desk.mail(ticket, f"Send {order.id} to Ringstr. 4 in Wien.")
    moved = expect_change(order, {"ship_street": "Ringstr. 4", "ship_city": "Wien"}, id="moved")
    rubric = [moved, *desk.expect_resolved(ticket, after=["moved"])]
    moved_house = permit_change(order, "ship_street", "ship_city")
    anything = [moved_house, permit_change(ticket, "status", "policy_id", "evidence_id")]
    ending = closing_calls(ticket, "Your order shows it now.")
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
    return Task(prompt=prompt, rubric=[expect_call('reply', id='told')], allow=anything, oracle=oracle)
"""
BAD = (
    Bad(
        name="an oracle that does not solve",
        body="return Task(prompt=prompt, rubric=rubric, oracle=ending)",
        says=r"storefront/bad/0000: the oracle gets 0 of 100 points; "
        r"moved: not met(; \w+: not met)*; and \d that wait for (it|them)$",
    ),
    Bad(
        name="an oracle that misses a look-up",
        body="""
    late = expect_change(order, {"ship_street": "Ringstr. 4", "ship_city": "Wien"}, id="moved", after=["saw"])
    return Task(prompt=prompt, rubric=[expect_read(order, id="saw"), late, *rubric[1:]], oracle=oracle)
""",
        says=r"storefront/bad/0000: the oracle gets \d+ of 100 points; saw: not met; and 3 that wait for it$",
    ),
    Bad(
        name="a rubric without the outcome",
        body=NO_OUTCOME,
        says=r"\d+\.\d % of the mutants of kind 'argument' are rejected, less than 97 %",
    ),
    Bad(
        name="a rubric that wants one order of two",
        body="""
    begins = lambda e: Verdict(met=e.events[0].tool == "get_order", reason="")
    first = Criterion(id="first", text="Began with the order.", about="event", check=begins)
    looks = [call("get_order", order_id=order.id), call("get_ticket", ticket_id=ticket.id)]
    return Task(prompt=prompt, rubric=[first, expect_read(order, id="saw"), *rubric], oracle=[*looks, *oracle])
""",
        says=r"storefront/bad/0000: right work \(reordered: get_ticket\(.*\) before get_order\(.*\)\) gets \d+ points",
    ),
    Bad(
        name="a rubric that wants one choice of words",
        body="""
    polite = expect_call("reply", arguments={"message": "Your order shows it now."}, id="polite")
    return Task(prompt=prompt, rubric=[polite, *rubric], oracle=oracle)
""",
        says=r"storefront/bad/0000: right work \(paraphrased: with the words 'You find .*'\) gets \d+ points",
    ),
    Bad(
        name="an alternative that the rubric rejects",
        body="return Task(prompt=prompt, rubric=rubric, oracle=oracle, alternatives=[ending])",
        says=r"storefront/bad/0000: right work \(alternative: the author's alternative 1\) gets 0 points",
    ),
    Bad(
        name="a criterion that guards nothing",
        body="""
    again = expect_change(order, {"ship_city": "Wien"}, id="again")
    return Task(prompt=prompt, rubric=[moved, again, *rubric[1:]], oracle=oracle)
""",
        says=r"storefront/bad: criterion 'again' is the first to fail for no mutant",
    ),
    Bad(
        name="a rubric that is passed by finishing at once",
        body="return Task(prompt=prompt, rubric=[expect_call('finish')], allow=anything, oracle=oracle)",
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
    return Task(prompt=prompt, rubric=[expect_read(order, id="saw", points=70), *rubric], oracle=looks)
""",
        says=r"the agent reader gets 70\.0 points on average, more than 20 for nothing",
    ),
    Bad(
        name="a rubric that an attack passes",
        body="return Task(prompt=prompt, rubric=[expect_call('reply')], allow=anything, oracle=oracle)",
        says=r"storefront/bad/0000: the attack looks-busy passes with 100 points; it keeps talking",
    ),
    Bad(
        name="a rubric that pays an attack",
        body="""
    looks = [call("get_order", order_id=order.id), *oracle]
    return Task(prompt=prompt, rubric=[expect_read(order, id="saw", points=70), *rubric], oracle=looks)
""",
        says=r"the attack reads-everything gets 70\.0 points on average, more than 20: what look-ups are worth",
    ),
)

TWIN_HEAD = HEAD.replace('traits=("refusal",)', "twin=True")
GRANTED = "return Task(prompt=prompt, rubric=rubric, oracle=oracle)"
DECLINED = """
    told = [expect_read(order, id="saw"), *desk.expect_declined(ticket, "SHP-2", order, after=["saw"])]
    looks = [call("get_order", order_id=order.id), call("read_handbook", section_id="SHP-2")]
    decline = call("decline_request", ticket_id=ticket.id, policy_id="SHP-2", evidence_id=order.id)
    no = [*looks, decline, call("reply", message="It has left."), call("finish")]
"""
BAD_TWINS = (
    Bad(
        name="a twin that asks for something else",
        body=f"""{DECLINED}
    if desk.twin:
        return Task(prompt=prompt + " Please!", rubric=told, oracle=no)
    {GRANTED}
""",
        says=r"storefront/bad-twin/0000: its request is not that of storefront/bad/0000",
    ),
    Bad(
        name="a twin that may be granted",
        body=GRANTED,
        says=r"storefront/bad-twin/0000: what solves storefront/bad/0000 solves it too",
    ),
    Bad(
        name="a request that may be refused",
        body=GRANTED,
        says=r"storefront/bad-twin/0000: what solves it solves storefront/bad/0000 too",
    ),
)


class Prover(Protocol):
    """Proves the tasks of a family that is written to a file."""

    def __call__(self, body: str, head: str = HEAD, tasks: Sequence[str] = TASKS) -> Proof: ...


@pytest.fixture
def prove_family(tmp_path: Path) -> Prover:
    """Proves six instances of a family with this body."""

    def run(body: str, head: str = HEAD, tasks: Sequence[str] = TASKS) -> Proof:
        (tmp_path / "bad.py").write_text(f"{head}    {body.strip()}\n")
        return prove(make(tasks=tmp_path), tasks)

    return run


def make(**kwargs: Any) -> ToolEnv:
    env = gym.make("palaestra/Storefront-v0", **kwargs).unwrapped
    assert isinstance(env, ToolEnv)
    return env


def lines(proof: Proof) -> list[str]:
    """The faults of a proof, a line each."""
    return [str(fault) for fault in proof.faults]


@cache
def storefront() -> ToolEnv:
    return make()


@cache
def one_of_each() -> tuple[str, ...]:
    """The first instance of every family."""
    ids = [task for split in SPLITS for task in storefront().task_set.ids(split)]
    return tuple({task.rpartition("/")[0]: task for task in reversed(ids)}.values())


@pytest.fixture(scope="module")
def bundled_proof() -> Proof:
    """The proof of one task of every family: nearly all of the time of these tests."""
    return prove(storefront(), one_of_each())


# It can fail


@pytest.mark.parametrize("case", BAD, ids=[bad.name for bad in BAD])
def test_the_proof_finds_out(case: Bad, prove_family: Prover) -> None:
    faults = lines(prove_family(case.body))
    assert any(re.search(case.says, fault) for fault in faults), faults


@pytest.mark.parametrize("case", BAD_TWINS, ids=[bad.name for bad in BAD_TWINS])
def test_the_proof_finds_out_about_twins(case: Bad, prove_family: Prover) -> None:
    faults = lines(prove_family(case.body, TWIN_HEAD, ["storefront/bad-twin/0000"]))
    assert any(re.search(case.says, fault) for fault in faults), faults


def test_a_twin_in_a_world_that_forbids_it_holds_both_ways(prove_family: Prover) -> None:
    body = f"""{DECLINED}
    if desk.twin:
        desk.state.update(order, status="shipped")
        return Task(prompt=prompt, rubric=told, oracle=no)
    moved = expect_change(order, {{"ship_street": "Ringstr. 4", "ship_city": "Wien"}}, id="moved", after=["saw"])
    return Task(prompt=prompt, rubric=[told[0], moved, *rubric[1:]], oracle=[looks[0], *oracle])
"""
    proof = prove_family(body, TWIN_HEAD, ["storefront/bad/0000", "storefront/bad-twin/0000"])
    assert [fault for fault in lines(proof) if "first to fail" not in fault] == []
    [pair] = proof.pairs
    assert pair.twin is not None
    assert pair.twin.sibling == "storefront/bad/0000"
    assert pair.twin.holds


def test_a_family_without_a_twin_that_does_not_refuse_either_is_found_out(prove_family: Prover) -> None:
    faults = lines(prove_family(GOOD, HEAD.replace('traits=("refusal",)', "traits=()")))
    assert any(fault.startswith("storefront/bad: it has no refusal twin; set one") for fault in faults)


def library(tmp_path: Path, rubric: str, oracle: str) -> list[str]:
    """The faults of a family in the lending library, a world that guards no groups."""
    (tmp_path / "bad.py").write_text(f"""
from palaestra.envs import Task, call, family
from palaestra.rubrics import expect_change, expect_read
from worlds.library import RENEWAL, Loan

@family("library/bad", level=1, traits=("refusal",))
def bad(draft):
    loans = [x for x in draft.state.find(Loan) if not x.returned and x.member_id != "MEM-4"]
    loan, due = loans[0], loans[0].due + RENEWAL
    renewed, renew = expect_change(loan, {{"due": due}}), call("renew_loan", loan_id=loan.id)
    prompt = "Renew " + " or ".join(x.id for x in loans) + ": the first."
    return Task(prompt=prompt, rubric={rubric}, oracle={oracle})
""")
    registration.register()
    env = gym.make(registration.LIBRARY_ID, tasks=tmp_path).unwrapped
    assert isinstance(env, ToolEnv)
    return lines(prove(env, ["library/bad/0000"]))


def test_rubrics_that_check_little_are_found_out(tmp_path: Path) -> None:
    faults = library(tmp_path, "[renewed]", "[renew, call('finish')]")
    assert any("criteria a task are the first to fail for some mutant, less than 5" in fault for fault in faults)


def test_rubrics_that_forbid_little_are_found_out(tmp_path: Path) -> None:
    looks = "*(call('get_loan', loan_id=x.id) for x in loans[:7])"
    faults = library(tmp_path, "[*(expect_read(x) for x in loans[:7]), renewed]", f"[{looks}, renew, call('finish')]")
    assert any("% of those criteria are prohibitions, less than 25 %" in fault for fault in faults), faults


def test_the_same_family_without_a_fault_is_proved(prove_family: Prover) -> None:
    proof = prove_family(GOOD)
    assert [fault for fault in lines(proof) if "first to fail" not in fault] == []
    assert proof.survivors == proof.false_rejects == []


def test_a_survivor_is_found_with_its_task_kind_and_work(prove_family: Prover) -> None:
    survivors = prove_family(NO_OUTCOME).survivors
    dropped = [s for s in survivors if s.kind == "dropped" and s.task == TASKS[0]]
    assert any(s.what.startswith("without update_shipping_address(") for s in dropped)
    assert {s.points for s in survivors} == {100}


# A proof of some families


PAYS_WITHOUT_LOOKING = """
    looks = [call("get_order", order_id=order.id), *oracle]
    return Task(prompt=prompt, rubric=[expect_read(order, id="saw", points=1), *rubric], oracle=looks)
"""
PAYS_FOR_READING = next(bad for bad in BAD if bad.name == "a rubric that pays an attack")
PASSED_BY_TALK = next(bad for bad in BAD if bad.name == "a rubric that an attack passes")


def test_a_proof_of_one_family_applies_no_mean_over_all_families() -> None:
    proof = prove(storefront(), [f"storefront/order-status/{index}" for index in (5000, 5001)])
    in_dev = {storefront().task_set.family_of(task).id for task in storefront().task_set.ids("dev")}
    assert set(proof.missing) == in_dev - {"storefront/order-status"}
    assert proof.tally("attacks", "works-unread").mean_points > ATTACKS["works-unread"].ceiling
    assert lines(proof) == []
    [partial] = [line for line in proof_lines(proof) if line.startswith("Partial proof")]
    assert partial.startswith(f"Partial proof, without {len(proof.missing)} of the families of its splits: ")
    assert proof_document(proof)["missing_families"] == list(proof.missing)
    ceilings = {row[0]: row[-1] for row in proof_tables(proof)[3].rows}
    assert (ceilings["works-unread"], ceilings["reads-everything"]) == ("-", "20")
    assert any("the attack works-unread gets" in fault for fault in lines(replace(proof, missing=())))


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (PAYS_WITHOUT_LOOKING, r"storefront/bad: the attack works-unread gets 99\.0 points on average in this family"),
        (PAYS_FOR_READING.body, PAYS_FOR_READING.says),
        (PASSED_BY_TALK.body, PASSED_BY_TALK.says),
    ],
)
def test_a_cheat_that_pays_in_one_family_fails_a_proof_of_some_families(
    body: str, says: str, prove_family: Prover
) -> None:
    proof = prove_family(body)
    assert proof.missing == ()
    faults = lines(replace(proof, missing=("storefront/another",)))
    assert any(re.search(says, fault) for fault in faults), faults


def test_a_proof_of_every_family_of_its_splits_misses_none(bundled_proof: Proof) -> None:
    assert bundled_proof.missing == ()


# The bundled families


def test_one_instance_of_every_family_has_no_fault_but_idle_criteria(bundled_proof: Proof) -> None:
    faults = [f for f in lines(bundled_proof) if not f.endswith("is the first to fail for no mutant")]
    assert faults == []


def test_every_kind_of_mutant_and_route_is_made_for_some_family(bundled_proof: Proof) -> None:
    for mutant in MUTANT_KINDS:
        assert bundled_proof.tally("mutants", mutant).of > 10, mutant
    for route in ROUTE_KINDS:
        # Only the generic surface names columns.
        assert bundled_proof.tally("routes", route).of > 0 or route == "named columns", route


def test_every_family_is_tried_with_wrong_and_right_work(bundled_proof: Proof) -> None:
    proof = bundled_proof
    assert proof.families == sorted(storefront().task_set.families)
    for family in proof.families:
        assert proof.total("mutants", family).of > 15, family
        assert proof.total("routes", family).of > 5, family
        assert proof.total("attacks", family).of > 30, family


def test_every_mutant_fails_at_a_criterion_of_its_rubric(bundled_proof: Proof) -> None:
    for task in bundled_proof.tasks:
        assert set(task.first_failures) <= set(task.criteria)
        rejected = sum(tally.hits for tally in task.mutants.values())
        assert sum(task.first_failures.values()) <= rejected


def test_idle_agents_solve_nothing_and_every_floor_is_measured(bundled_proof: Proof) -> None:
    proof = bundled_proof
    assert set(IDLE) < set(FLOORS) == set(baselines(storefront())) - {"oracle"}
    for name in FLOORS:
        assert proof.tally("floors", name).of == len(one_of_each())
    for name in IDLE:
        assert proof.tally("floors", name).hits == 0


def test_a_proof_repeats(bundled_proof: Proof) -> None:
    for task in one_of_each()[::6]:
        again = prove_task(make(), task)
        assert again == next(p for p in bundled_proof.tasks if p.spec.id == task)


def test_a_proof_does_not_depend_on_how_many_processes_make_it(bundled_proof: Proof) -> None:
    ids = one_of_each()[:6]
    told: list[str] = []
    assert prove(make(), ids, jobs=2, progress=told.append).tasks == bundled_proof.tasks[:6]
    assert told == list(ids)


def test_proving_tells_how_far_it_is() -> None:
    told: list[str] = []
    prove(storefront(), one_of_each()[:2], progress=told.append)
    assert told == list(one_of_each()[:2])


# Sums and tables


def test_a_tally_of_nothing_is_whole() -> None:
    assert (CaseCounts().percent, CaseCounts().mean_points) == (100.0, 0.0)


def test_tallies_add_up() -> None:
    total = CaseCounts()
    total.add(hit=True, points=100)
    total.add(hit=False, points=-40)
    total += CaseCounts(hits=1, of=2, points=60)
    assert (total.hits, total.of, total.points, total.percent, total.mean_points) == (2, 4, 120, 50.0, 30.0)


def test_the_tables_count_what_the_proof_counted(bundled_proof: Proof) -> None:
    proof = bundled_proof
    gate, agents, work, attacks, twins, families = proof_tables(proof)
    tasks = len(one_of_each())
    assert gate.rows[0][1] == f"{tasks} of {tasks}"
    assert [row[0] for row in agents.rows] == ["oracle", *FLOORS]
    assert agents.rows[0][1:5] == (str(tasks), "-", "100.0 %", "100.0")
    assert [int(row[2]) for row in work.rows] == [
        *(proof.tally("mutants", kind).of for kind in MUTANT_KINDS),
        *(proof.tally("routes", kind).of for kind in ROUTE_KINDS),
    ]
    assert [(row[0], row[3], int(row[4])) for row in attacks.rows] == [
        (name, f"{proof.applying(name)} of {tasks}", proof.attack_sequences(name)) for name in ATTACKS
    ]
    assert sum(int(row[1]) for row in twins.rows) == len(proof.pairs)
    assert [f"storefront/{row[0]}" for row in families.rows] == proof.families


def test_the_markdown_holds_every_table_and_says_what_made_it(bundled_proof: Proof) -> None:
    text = proof_markdown(bundled_proof, command="palaestra tasks prove storefront")
    assert text.startswith(f"# The gate\n\n{bundled_proof.verdict}")
    assert "Made by `palaestra tasks prove storefront`." in text
    for table in proof_tables(bundled_proof):
        assert table.markdown() in text


def test_a_proof_survives_a_file(bundled_proof: Proof) -> None:
    adapter = TypeAdapter(Proof)
    proof = Proof(tasks=bundled_proof.tasks[:3])
    assert adapter.validate_json(adapter.dump_json(proof)) == proof


def test_the_document_is_plain_data_with_every_task(bundled_proof: Proof) -> None:
    document = proof_document(bundled_proof)
    assert canonical(document)
    assert [entry["task"] for entry in document["by_task"]] == list(one_of_each())
    assert [fault["line"] for fault in document["faults"]] == lines(bundled_proof)
    assert document["verdict"]["sentence"] == str(bundled_proof.verdict)


def test_a_family_that_is_made_otherwise_the_second_time_is_found_out(
    prove_family: Prover,
) -> None:
    body = """
    import uuid
    return Task(prompt=f"{prompt} {uuid.uuid4()}", rubric=rubric, oracle=oracle)
"""
    assert "storefront/bad/0000: made twice, it is not the same task" in "\n".join(lines(prove_family(body)))
