"""Refusal twins: the same words in another world, where the handbook refuses what it granted before."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import date
from functools import cache
from itertools import chain

import gymnasium as gym
import pytest

from palaestra.agents import oracle, rollout
from palaestra.envs import SPLITS, Instance, TaskSet, ToolEnv, bundled_tasks
from palaestra.envs.worlds.storefront.invariants import violations
from palaestra.envs.worlds.storefront.invariants.books import Books
from palaestra.envs.worlds.storefront.invariants.fresh import (
    approvers_may_approve,
    claims_are_in_warranty,
    credit_is_unspent,
    lifetimes_are_sums,
    returned_is_exact,
    the_desk_is_dated,
)
from palaestra.envs.worlds.storefront.policy import last_return_day
from palaestra.envs.worlds.storefront.schema import Customer, Order, Refund, Return, Shipment, Ticket
from palaestra.envs.worlds.storefront.world import STOREFRONT
from palaestra.records import Json, ToolCall

# The tests go through all twins, which one process makes once. Of the code,
# `tests/envs/test_release.py` covers as much.
pytestmark = [pytest.mark.xdist_group("storefront"), pytest.mark.unmeasured]

KEPT = (
    lifetimes_are_sums,
    credit_is_unspent,
    returned_is_exact,
    approvers_may_approve,
    claims_are_in_warranty,
    the_desk_is_dated,
)
"""Rules of a fresh world that a twin's keeps as well. The others judge the past by today's catalogue and windows."""
HANDBOOKS = (0, 1, 2, 3)
CLOSES = frozenset({"decline_request", "escalate_ticket"})


@cache
def tasks() -> TaskSet:
    return bundled_tasks(STOREFRONT)


@cache
def env() -> ToolEnv:
    made = gym.make("palaestra/Storefront-v0").unwrapped
    assert isinstance(made, ToolEnv)
    return made


def twins() -> list[str]:
    return [family.id for family in tasks().families.values() if family.twin_of is not None]


def ids(family: str) -> list[str]:
    """Four listed tasks of every split in which a family occurs, or as many as there are."""
    listed = [[task for task in tasks().ids(split) if task.startswith(f"{family}/")][:4] for split in SPLITS]
    return list(chain.from_iterable(listed))


def pair(task: str) -> tuple[Instance, Instance]:
    """The task and its twin."""
    family, _, index = task.rpartition("/")
    return tasks().instance(f"{family.removesuffix('-twin')}/{index}"), tasks().instance(task)


def passes(instance: Instance, calls: tuple[ToolCall, ...]) -> bool:
    episode = rollout(env(), oracle(lambda: calls), name="oracle", seed=0, task=instance.spec.id)
    return episode.score.passed


def refusals(instance: Instance) -> list[Mapping[str, Json]]:
    """The arguments of the calls that refuse a request or hand it over."""
    return [call.arguments for call in instance.oracle if call.tool in CLOSES]


def answer(instance: Instance) -> frozenset[str]:
    """The names of what a task has to be answered with."""
    given = instance.oracle[-1].arguments.get("answer")
    return frozenset(given) if isinstance(given, dict) else frozenset()


def test_every_family_that_grants_something_has_a_twin() -> None:
    families = tasks().families
    granting = [f.id for f in families.values() if "refusal" not in f.traits and f.twin_of is None]
    assert [f for f in granting if f"{f}-twin" not in families] == []


@pytest.mark.parametrize("family", twins())
def test_a_twin_has_its_siblings_words_and_another_world(family: str) -> None:
    for task in ids(family):
        sibling, twin = pair(task)
        assert twin.messages == sibling.messages, task
        # Where the customer answers or the case waits, what comes later may be all that differs.
        told = [(i.initial_state.state_hash(), i.user, i.later) for i in (sibling, twin)]
        assert told[0] != told[1], task
        assert [t for t in twin.initial_state.find(Ticket) if t not in sibling.initial_state.find(Ticket)] == [], task


@pytest.mark.parametrize("family", twins())
def test_a_twin_is_refused_and_its_sibling_is_not(family: str) -> None:
    for task in ids(family):
        sibling, twin = pair(task)
        # Where an answer is all that is asked for, another one says that it cannot be given.
        says_no = bool(answer(twin)) and answer(twin).isdisjoint(answer(sibling))
        assert says_no or [r for r in refusals(twin) if r not in refusals(sibling)] != [], task
        assert {"refusal", "twin"} <= set(twin.spec.traits), task
        assert "twin" not in sibling.spec.traits, task


@pytest.mark.parametrize("family", twins())
def test_what_solves_the_one_does_not_solve_the_other(family: str) -> None:
    for task in ids(family):
        sibling, twin = pair(task)
        assert passes(sibling, sibling.oracle), task
        assert passes(twin, twin.oracle), task
        assert not passes(sibling, twin.oracle), task
        assert not passes(twin, sibling.oracle), task
        assert all(passes(i, route) for i in (sibling, twin) for route in i.alternatives), task


@pytest.mark.parametrize("family", twins())
def test_what_happened_in_a_twins_world_agrees_with_all_else(family: str) -> None:
    for task in ids(family):
        _, twin = pair(task)
        books = Books(state=twin.initial_state, today=twin.start.date(), policy=twin.rules)
        assert violations(twin.initial_state, twin.start.date(), twin.rules) == [], task
        assert list(chain.from_iterable(rule(books) for rule in KEPT)) == [], task


@pytest.mark.parametrize("family", twins())
def test_a_twin_is_refused_under_every_handbook(family: str) -> None:
    for task in (tasks_of[0] for tasks_of in [ids(family)] if tasks_of):
        for handbook in HANDBOOKS:
            other = gym.make("palaestra/Storefront-v0", handbook=handbook, task=task).unwrapped
            assert isinstance(other, ToolEnv)
            assert rollout(other, oracle(other.oracle), name="oracle", seed=0).score.passed, (task, handbook)


def test_families_refuse_on_several_grounds() -> None:
    found = defaultdict[str, set[tuple[Json, str]]](set)
    for task in chain.from_iterable(tasks().ids(split) for split in SPLITS):
        twin = tasks().instance(task)
        for under in refusals(twin) if "twin" in twin.spec.traits else ():
            found[twin.spec.family].add((under["policy_id"], str(under["evidence_id"]).partition("-")[0]))
    assert len([family for family, several in found.items() if len(several) > 1]) >= len(found) // 2
    assert len(set(chain.from_iterable(found.values()))) >= 20


def test_goods_that_came_back_are_refused_while_the_window_is_open() -> None:
    """Otherwise the parcel would show the grounds as well as the return or the refund does."""
    checked = 0
    for twin in map(tasks().instance, chain.from_iterable(ids(family) for family in twins())):
        for under in refusals(twin):
            evidence = str(under["evidence_id"])
            kind = {"RMA": Return, "RFD": Refund}.get(evidence[:3])
            # A row that is made while the case waits is not there at first.
            row = None if kind is None else twin.initial_state.peek(kind, evidence)
            if row is not None and under["policy_id"] == "RET-1":
                assert window_ends(twin, row.order_id) >= twin.start.date(), twin.spec.id
                checked += 1
    assert checked >= 10


def window_ends(instance: Instance, order_id: str) -> date:
    """The last day on which goods of an order may come back."""
    order = instance.initial_state.get(Order, order_id)
    tier = instance.initial_state.get(Customer, order.customer_id).tier
    days = [s.delivered for s in instance.initial_state.find(Shipment, order_id=order_id) if s.delivered is not None]
    return last_return_day(instance.rules, tier, max(days), order.placed.date())
