"""What customers are told agrees with the records, names the cause and states the figures."""

import re
from collections.abc import Iterator
from functools import cache, partial

import gymnasium as gym
import pytest

from palaestra.agents import oracle, rollout
from palaestra.envs import SPLITS, Instance, ToolEnv
from palaestra.envs.kit import amount
from palaestra.envs.worlds.storefront.schema import Customer, Order, OrderLine, Product, Refund, Shipment
from palaestra.records import Json

pytestmark = pytest.mark.xdist_group("storefront")

INSTANCES = 20
LATE = ("decline-late-cancel", "decline-late-address", "cancel-order-twin", "change-address-twin")
LATE_TALKS = ("duplicate-tickets-twin", "talk-new-address-twin", "talk-which-order-twin")


@cache
def env() -> ToolEnv:
    made = gym.make("palaestra/Storefront-v0").unwrapped
    assert isinstance(made, ToolEnv)
    return made


def instances(family: str) -> Iterator[Instance]:
    """The first tasks of a family in each split that it occurs in."""
    for split in SPLITS:
        tasks = [task for task in env().task_set.candidates(split) if task.startswith(f"storefront/{family}/")]
        yield from (env().task_set.instance(task, 0) for task in tasks[:INSTANCES])


def arguments(instance: Instance, tool: str) -> list[dict[str, Json]]:
    return [dict(call.arguments) for call in instance.oracle if call.tool == tool]


def last_reply(instance: Instance) -> str:
    return str(arguments(instance, "reply")[-1]["message"])


def promises_clearance_goods_back(instance: Instance, order: str) -> bool:
    """Whether the reply offers to take back goods of an order, and does not say that some of them are final sale."""
    rows, told = instance.initial_state, last_reply(instance)
    owner = rows.get(Customer, rows.get(Order, order).customer_id)
    goods = [rows.get(Product, line.product_id) for line in rows.find(OrderLine, order_id=order)]
    bound = [p for p in goods if p.final_sale and owner.tier not in instance.rules.final_sale_tiers]
    offered = "send the goods back" in told
    return offered and (len(bound) == len(goods) or not all(product.name in told for product in bound))


def test_who_cancels_too_late_learns_what_they_can_do_instead() -> None:
    for instance in instances("decline-late-cancel"):
        assert "send the goods back" in last_reply(instance) or "final sale" in last_reply(instance)


@pytest.mark.parametrize("family", [*LATE, *LATE_TALKS])
def test_a_parcel_that_left_is_not_overdue_and_no_return_of_clearance_goods_is_promised(family: str) -> None:
    seen = 0
    for instance in instances(family):
        declined = [one for one in arguments(instance, "decline_request") if one["policy_id"] == "SHP-2"]
        for one in declined:
            parcels = instance.initial_state.find(Shipment, order_id=str(one["evidence_id"]))
            assert all(parcel.status == "in_transit" for parcel in parcels), instance.spec.id
            assert all(parcel.due >= instance.start.date() for parcel in parcels), instance.spec.id
            assert not promises_clearance_goods_back(instance, str(one["evidence_id"])), last_reply(instance)
            assert "this morning" not in last_reply(instance)
            seen += 1
    assert seen >= 3


def test_the_reply_about_half_a_bundle_states_what_was_paid_what_is_taken_off_and_what_is_left() -> None:
    for instance in instances("bundle-return"):
        [asked], told = arguments(instance, "authorise_return"), last_reply(instance)
        line = instance.initial_state.get(OrderLine, str(asked["line_id"]))
        order = instance.initial_state.get(Order, line.order_id)
        paid = int(line.unit_cents * (1 - order.discount_cents / order.subtotal_cents) + 0.5)
        figures = [
            int(whole.replace(",", "")) * 100 + int(cents) for whole, cents in re.findall(r"([\d,]+)\.(\d\d)", told)
        ]
        first, *parts, left = figures
        assert abs(first - paid) <= 1
        assert (sum(parts), left) == (asked["fee_cents"], first - sum(parts))
        assert ("the package was opened" in told) <= line.opened
        assert ("Nothing is taken off" in told) == (asked["fee_cents"] == 0)


def test_a_declined_price_match_names_each_condition_that_fails() -> None:
    for instance in instances("decline-price-match"):
        [closed], told = arguments(instance, "decline_request"), last_reply(instance)
        order = instance.initial_state.get(Order, str(closed["evidence_id"]))
        late = (instance.start.date() - order.placed.date()).days > instance.rules.price_match_days
        barred = order.promotion_code is not None and not instance.rules.match_with_promotion
        assert (str(order.placed.date()) in told) == late
        assert (f"the promotion code {order.promotion_code}" in told) == barred
        assert late or barred


def paid_cents(instance: Instance, line: OrderLine) -> int:
    """What was paid back for the order of a line so far: all that one piece cost."""
    return sum(refund.amount_cents for refund in instance.initial_state.find(Refund, order_id=line.order_id))


def test_a_customer_whose_refund_was_right_is_told_the_figures() -> None:
    seen = 0
    for instance in instances("short-refund-twin"):
        told, [one] = last_reply(instance), arguments(instance, "compute_paid")
        line = instance.initial_state.get(OrderLine, str(one["line_id"]))
        if "paid back already" in told:
            assert amount(paid_cents(instance, line)) in told
            continue
        seen += 1
        assert amount(line.unit_cents) in told
        assert "discount" in told
    assert seen >= 3


# Who writes


def test_whoever_answers_is_asked_for_the_address_on_file_before_they_are_declined_for_their_sender() -> None:
    seen = set[str]()
    for family in env().task_set.families:
        for instance in instances(family.removeprefix("storefront/")):
            if instance.user is None:
                break
            declined = [n for n, call in enumerate(instance.oracle) if call.arguments.get("policy_id") == "PRV-1"]
            if declined:
                asked = [n for n, call in enumerate(instance.oracle) if call.arguments.get("act") == "ask"]
                assert [instance.oracle[n].arguments["about"] for n in asked if n < declined[0]] == ["account"]
                assert "asked-account" in {criterion.id for criterion in instance.rubric.criteria}
                seen.add(family)
    assert seen == {"storefront/talk-in-a-hurry-twin", "storefront/talk-right-sender-twin"}


@pytest.mark.parametrize(("family", "proved"), [("talk-right-sender", True), ("talk-right-sender-twin", False)])
def test_only_the_owners_answer_comes_from_the_address_on_file(family: str, proved: bool) -> None:
    claims = 0
    for instance in instances(family):
        [looked] = arguments(instance, "get_customer")
        address = instance.initial_state.get(Customer, str(looked["customer_id"])).email
        agent = oracle(partial(tuple, instance.oracle))
        episode = rollout(env(), agent, name="oracle", seed=0, task=instance.spec.id)
        spoken = [m["content"] for turn in episode.turns for m in turn.observation if m["role"] == "user"]
        heads = [content.partition(":\n\n")[0] for content in spoken if content.startswith("From ")]
        assert (f"From {address}" in heads) == proved
        assert len(heads) >= 1
        claims += any(address in content.partition("\n\n")[2] for content in spoken)
    assert claims == 0 or not proved
