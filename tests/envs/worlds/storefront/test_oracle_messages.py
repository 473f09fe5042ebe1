"""What the solutions of the Storefront's tasks write to customers: every family tells them, in words that they know."""

import re
from collections.abc import Iterator
from functools import cache

import pytest

from palaestra.envs import Instance, TaskSet, bundled_tasks, open_world
from palaestra.envs.kit import amount
from palaestra.envs.worlds.storefront.schema import Build, Customer, Product
from palaestra.records import ToolCall

pytestmark = pytest.mark.xdist_group("storefront")


@cache
def tasks() -> TaskSet:
    return bundled_tasks(open_world("storefront"))


@cache
def firsts() -> tuple[Instance, ...]:
    """The first task of every family, and of every twin."""
    found: dict[str, str] = {}
    for split in tasks().splits:
        for task in tasks().candidates(split):
            found.setdefault(task.rpartition("/")[0], task)
    return tuple(tasks().instance(task) for task in found.values())


def texts(calls: tuple[ToolCall, ...]) -> Iterator[str]:
    """The messages and notes of a solution."""
    for call in calls:
        for name in ("message", "note", "text", "body"):
            if isinstance(said := call.arguments.get(name), str):
                yield said


def cents_of(instance: Instance) -> set[int]:
    """The amounts that a solution writes into records."""
    found = [value for call in instance.oracle for name, value in call.arguments.items() if name.endswith("_cents")]
    return {value for value in found if isinstance(value, int) and value >= 100}


def test_every_solution_tells_the_customer() -> None:
    silent = [i.spec.id for i in firsts() if not any(call.tool == "reply" for call in i.oracle)]
    assert silent == []


def test_amounts_stand_in_euros() -> None:
    for instance in firsts():
        for path in (instance.oracle, *instance.alternatives):
            for said in texts(tuple(path)):
                assert "cents" not in said, (instance.spec.id, said)
                bare = {int(found) for found in re.findall(r"(?<![\w.,-])\d{3,}(?![\w.,-])", said)}
                assert not bare & cents_of(instance), (instance.spec.id, said)


@pytest.mark.parametrize("index", range(4))
def test_who_gets_another_card_learns_the_difference_in_price(index: int) -> None:
    instance = tasks().instance(f"storefront/swap-graphics-card/{index:04d}")
    state = instance.initial_state
    swap = next(call for call in instance.oracle if call.tool == "replace_build_part")
    build = state.get(Build, str(swap.arguments["build_id"]))
    new, old = state.get(Product, str(swap.arguments["product_id"])), state.get(Product, str(build.gpu_id))
    [said] = texts(instance.oracle)
    assert amount(abs(new.price_cents - old.price_cents)) in said
    assert new.name in said
    assert old.name in said


def test_who_asks_for_money_too_late_learns_when_the_window_closed() -> None:
    for index in range(6):
        instance = tasks().instance(f"storefront/warranty-claim/{index:04d}")
        [said] = texts(instance.oracle)
        assert re.search(r"on \d{4}-\d\d-\d\d, and your return window of \d+ days has closed", said)


def test_who_writes_from_elsewhere_is_told_nothing_of_the_record_on_file() -> None:
    seen = set[str]()
    for instance in firsts():
        owners = [c.arguments["evidence_id"] for c in instance.oracle if c.arguments.get("policy_id") == "PRV-1"]
        if not owners:
            continue
        owner = instance.initial_state.get(Customer, str(owners[0]))
        mailbox, _, host = owner.email.partition("@")
        on_file = (mailbox, host, owner.name, owner.phone, owner.street, owner.city, owner.tier)
        said = " ".join(text for path in (instance.oracle, *instance.alternatives) for text in texts(tuple(path)))
        assert not [value for value in on_file if value in said], (instance.spec.id, said)
        seen.add(instance.spec.family)
    assert {"storefront/talk-in-a-hurry-twin", "storefront/talk-right-sender-twin"} <= seen
