"""What happens by itself: writes of the world, in the log, and no change of the agent's."""

from itertools import pairwise
from typing import Any

import pytest

from palaestra.envs import ToolEnv
from palaestra.envs.noise.task_records import task_records
from palaestra.envs.worlds.storefront.invariants import violations
from palaestra.envs.worlds.storefront.noise import NOISE
from palaestra.envs.worlds.storefront.schema import Order, Product, Shipment
from palaestra.rubrics import WORLD
from worlds.noisy import storefront

TASK = "storefront/lost-parcel/5000"
MINUTE: dict[str, Any] = {"tool": "read_handbook", "arguments": {"section_id": "RET-1"}}


def begun(rate: int = 3_600, task: str = TASK, seed: int = 0) -> ToolEnv:
    env = storefront({"events": rate})
    env.reset(seed=seed, options={"task": task})
    return env


def test_world_events_are_events_of_the_world_and_the_journal_belongs_to_events() -> None:
    env = begun()
    _, reward, _, _, info = env.step([MINUTE] * 4)
    moved = [event for event in info["events"] if event.tool == WORLD]
    assert len(info["events"]) == len(moved) + 4
    assert len(moved) > 60
    assert {event.arguments["what"] for event in moved} == {event.name for event in NOISE.events}
    assert sum(event.written for event in info["events"]) == len(info["changes"]) == len(env.journal)
    assert all(event.written for event in moved)
    assert (reward, info["violated"], env.changes) == (0.0, (), ())
    assert env.state_hash() != env.instance.initial_state.state_hash()
    assert info["noise"]["events"] == len(moved)


def test_what_the_world_did_keeps_the_world_s_rules() -> None:
    env = begun()
    for _ in range(5):
        env.step([MINUTE] * 6)
    before = set(violations(env.instance.initial_state, today=env.instance.start.date()))
    after = set(violations(env.state, today=env.instance.start.date()))
    assert after <= before


@pytest.mark.parametrize("task", [TASK, "storefront/fix-build/5000", "storefront/order-status/5001"])
def test_nothing_happens_to_what_the_task_turns_on(task: str) -> None:
    env = begun(task=task)
    records = task_records(env.task_set.instance(task))
    for _ in range(6):
        env.step([MINUTE] * 6)
    touched = {change.key for change in env.journal}
    assert len(touched) > 100
    assert touched.isdisjoint(records.ids)
    named = {str(v) for call in env.oracle() for v in call.arguments.values()}
    assert touched.isdisjoint(named)


def test_the_records_that_a_task_turns_on_are_its_records_and_what_belongs_to_their_customer() -> None:
    instance = storefront(None).task_set.instance(TASK)
    records = task_records(instance)
    shipment = next(c.arguments["shipment_id"] for c in instance.oracle if c.tool == "declare_lost")
    parcel = instance.initial_state.get(Shipment, str(shipment))
    customer = instance.initial_state.get(Order, parcel.order_id).customer_id
    orders = {order.id for order in instance.initial_state.find(Order, customer_id=customer)}
    assert {parcel.id, parcel.order_id, customer} | orders <= records.ids
    assert ("shipments", parcel.id) in records.shown


def test_nothing_happens_to_what_the_agent_changed_and_the_agent_answers_for_it() -> None:
    env = begun()
    records = task_records(env.task_set.instance(TASK))
    order = next(o for o in env.state.find(Order, status="processing") if o.id not in records.ids)
    address = {"order_id": order.id, "street": "Elsewhere 1", "city": "Graz"}
    info = env.step({"tool": "update_shipping_address", "arguments": address})[-1]
    assert info["points"] < 0
    assert order.id in {change.key for change in env.changes}
    for _ in range(4):
        env.step([MINUTE] * 6)
    [change] = [change for change in env.changes if change.key == order.id]
    assert change.after is not None
    assert change.after.ship_street == "Elsewhere 1"  # type: ignore[attr-defined]


def test_who_changes_what_the_world_moved_answers_for_their_own_part_alone() -> None:
    env = begun()
    by_world = env.episode.evidence.by_world
    records = task_records(env.task_set.instance(TASK))
    keys: list[str] = []
    while not keys:  # until the deadline, after which a step raises
        env.step([MINUTE] * 5)
        keys = [k for (table, k), row in by_world.items() if table == "shipments" and row and k not in records.ids
                and row.status == "in_transit"]  # type: ignore[attr-defined]  # fmt: skip
    key = keys[0]
    moved = by_world["shipments", key]
    env.step({"tool": "declare_lost", "arguments": {"shipment_id": key}})
    [change] = [change for change in env.changes if change.key == key]
    assert change.before == moved
    assert change.before != env.instance.initial_state.get(Shipment, key)


def test_when_something_happens_depends_on_the_second_alone() -> None:
    one, other = begun(300), begun(300)
    one.step([MINUTE] * 4)
    for _ in range(4):
        other.step(MINUTE)
    assert one.state_hash() == other.state_hash()
    assert [e.call_id for e in one.events if e.tool == WORLD] == [e.call_id for e in other.events if e.tool == WORLD]


def test_about_as_much_happens_as_was_asked_for() -> None:
    env = begun(600)
    for _ in range(5):
        env.step([MINUTE] * 24)
    happened = sum(event.tool == WORLD for event in env.events)
    assert env.snapshot().elapsed == 3_600
    assert 520 < happened < 680  # 600 expected, with a standard deviation of 22


def test_a_snapshot_knows_what_the_world_did() -> None:
    env = begun()
    env.step([MINUTE] * 3)
    snapshot, by_world = env.snapshot(), dict(env.episode.evidence.by_world)
    other = begun(seed=7)
    other.restore(snapshot)
    assert other.episode.evidence.by_world == by_world
    assert other.changes == env.changes == ()
    for e in (env, other):
        e.step(MINUTE)
    assert env.digest() == other.digest()


def test_time_goes_by_in_order() -> None:
    env = begun(1_800)
    env.step([MINUTE] * 4)
    seconds = [int(e.call_id.removeprefix("world_")) for e in env.events if e.tool == WORLD]
    assert all(a < b for a, b in pairwise(seconds))
    assert all(isinstance(row, Product) for (t, _), row in env.episode.evidence.by_world.items() if t == "products")
