"""What the solutions of long tasks do, worked out a second time: from the request's words and the rows alone."""

import re
from collections.abc import Iterator
from datetime import date
from functools import cache

import gymnasium as gym
import pytest

from palaestra.envs import SPLITS, Instance, ToolEnv
from palaestra.envs.kit import Section
from palaestra.envs.worlds.storefront.population.sales import CARRIERS
from palaestra.envs.worlds.storefront.schema import (
    Build,
    CompetitorOffer,
    Credit,
    Customer,
    Employee,
    Order,
    OrderLine,
    Payment,
    Product,
    Promotion,
    Refund,
    Return,
    Shipment,
    Ticket,
)
from palaestra.records import Json

# The tests go through all tasks of their families, which one process makes once for these and other tests.
pytestmark = [pytest.mark.xdist_group("storefront"), pytest.mark.unmeasured]

HANDBOOKS = (0, 1, 2)
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


@cache
def env() -> ToolEnv:
    made = gym.make("palaestra/Storefront-v0").unwrapped
    assert isinstance(made, ToolEnv)
    return made


def instances(family: str) -> Iterator[Instance]:
    """Every task of a family, every sixth of them under other handbooks as well."""
    for split in SPLITS:
        for task in env().task_set.candidates(split):
            if task.rpartition("/")[0] == f"storefront/{family}":
                for handbook in HANDBOOKS if int(task[-4:]) % 6 == 0 else (0,):
                    yield env().task_set.instance(task, handbook)


def prompt(instance: Instance) -> str:
    return instance.messages[1]["content"]


def calls(instance: Instance, tool: str) -> list[dict[str, Json]]:
    return [dict(call.arguments) for call in instance.oracle if call.tool == tool]


def owner(instance: Instance) -> Customer:
    found = re.search(r"TCK-\d+", prompt(instance))
    assert found is not None
    return instance.initial_state.get(Customer, instance.initial_state.get(Ticket, found.group()).customer_id)


def paid_for(instance: Instance, order: Order, line: OrderLine, pieces: int) -> float:
    """What pieces really cost, before it is rounded."""
    return line.unit_cents * pieces * (1 - order.discount_cents / order.subtotal_cents)


def test_a_recall_credits_the_orders_that_arrived_on_its_days_and_are_still_held() -> None:
    for instance in instances("recall"):
        rows, percent = instance.initial_state, instance.rules.recall_credit_percent
        first, last = map(date.fromisoformat, _DAY.findall(rows.get(Section, "NTC-1").body))
        due: dict[str, float] = {}
        for key in re.findall(r"ORD-\d+", prompt(instance)):
            order = rows.get(Order, key)
            [parcel], [line] = rows.find(Shipment, order_id=key), rows.find(OrderLine, order_id=key)
            back = sum(r.quantity for r in rows.find(Refund, order_id=key))
            came = parcel.delivered is not None and first <= parcel.delivered <= last
            given = rows.find(Credit, order_id=key)
            if came and back < line.quantity and not given and not rows.get(Customer, order.customer_id).fraud_hold:
                due[key] = paid_for(instance, order, line, line.quantity - back) * percent / 100
        credited = {str(c["order_id"]): c["amount_cents"] for c in calls(instance, "give_credit")}
        assert len(due) == 3
        assert credited == {key: int(cents + 0.5) for key, cents in due.items()}


def test_no_order_of_a_recalls_twin_arrived_on_the_days_of_the_notice() -> None:
    for instance in instances("recall-twin"):
        first, last = map(date.fromisoformat, _DAY.findall(instance.initial_state.get(Section, "NTC-1").body))
        for key in re.findall(r"ORD-\d+", prompt(instance)):
            [parcel] = instance.initial_state.find(Shipment, order_id=key)
            assert parcel.delivered is None or not first <= parcel.delivered <= last


def late(instance: Instance) -> set[str]:
    """The orders for which the customer is owed a credit for lateness: by the carrier and since the day they name."""
    rows, customer = instance.initial_state, owner(instance)
    [since], [carrier] = _DAY.findall(prompt(instance)), [c for c in CARRIERS if c in prompt(instance)]
    found: set[str] = set()
    for order in rows.find(Order, customer_id=customer.id):
        for parcel in rows.find(Shipment, order_id=order.id):
            overdue = parcel.delivered is not None and (parcel.delivered - parcel.due).days
            given = any(c.reason == "delay" for c in rows.find(Credit, order_id=order.id))
            asked = parcel.carrier == carrier and order.placed.date() >= date.fromisoformat(since)
            if asked and overdue and overdue > instance.rules.delay_grace_days and not given:
                found.add(order.id)
    return found


def test_every_parcel_of_the_carrier_that_came_late_earns_its_credit_once() -> None:
    for instance in instances("late-parcels"):
        credited = calls(instance, "give_credit")
        assert len(credited) == len(late(instance)) == 8
        assert {str(c["order_id"]) for c in credited} == late(instance)
        due = instance.rules.delay_credit_cents[owner(instance).tier]
        assert [c["amount_cents"] for c in credited] == [due] * len(credited)


def test_in_the_twin_nothing_is_late_or_the_account_is_held() -> None:
    reasons = [(owner(i).fraud_hold, bool(late(i))) for i in instances("late-parcels-twin")]
    assert set(reasons) == {(True, True), (False, False)}


def test_the_net_sum_is_what_the_ledger_of_payments_and_refunds_says() -> None:
    for instance in instances("net-paid"):
        rows, customer = instance.initial_state, owner(instance)
        [since] = _DAY.findall(prompt(instance))
        orders = {
            o.id for o in rows.find(Order, customer_id=customer.id) if o.placed.date() >= date.fromisoformat(since)
        }
        charged = sum(p.amount_cents for p in rows.find(Payment) if p.order_id in orders and p.status == "captured")
        back = sum(r.amount_cents for r in rows.find(Refund) if r.order_id in orders and r.status == "paid")
        assert instance.oracle[-1].arguments["answer"] == {"net_cents": charged - back}


def test_the_charge_that_goes_back_is_one_of_the_only_two_of_one_order() -> None:
    for instance in instances("find-double-charge"):
        rows, customer = instance.initial_state, owner(instance)
        twice = [o for o in rows.find(Order, customer_id=customer.id) if len(rows.find(Payment, order_id=o.id)) > 1]
        assert len(twice) == 1
        charges = sorted(rows.find(Payment, order_id=twice[0].id), key=lambda p: p.charged)
        wrong = charges[0] if instance.rules.wrong_charge == "earlier" else charges[1]
        [refund] = calls(instance, "refund_payment")
        assert (refund["payment_id"], refund["amount_cents"]) == (wrong.id, twice[0].total_cents)


def test_a_whole_order_is_matched_line_by_line_with_the_best_offer_that_counts() -> None:
    for instance in instances("price-match-order"):
        rows, policy = instance.initial_state, instance.rules
        [credit] = calls(instance, "give_credit")
        order, cents = rows.get(Order, str(credit["order_id"])), 0
        for line in rows.find(OrderLine, order_id=order.id):
            offers = rows.find(CompetitorOffer, product_id=line.product_id)
            prices = [o.price_cents for o in offers if o.in_stock and o.shop in policy.price_match_shops]
            best = max(0, line.unit_cents - min(prices, default=line.unit_cents))
            cap = int(line.unit_cents * policy.price_match_cap_percent / 100 + 0.5)
            cents += line.quantity * min(best, cap)
        assert (instance.start.date() - order.placed.date()).days <= policy.price_match_days
        assert credit["amount_cents"] == cents


def test_what_is_due_for_half_a_bundle_leaves_the_price_of_the_other_half_bought_alone() -> None:
    broken = 0
    for instance in instances("bundle-return"):
        rows, policy = instance.initial_state, instance.rules
        [back] = calls(instance, "authorise_return")
        line = rows.get(OrderLine, str(back["line_id"]))
        order = rows.get(Order, line.order_id)
        [kept] = [x for x in rows.find(OrderLine, order_id=order.id) if x.id != line.id]
        code = rows.get(Promotion, order.promotion_code or "")
        lost = kept.unit_cents < code.minimum_cents and policy.bundle_claws_back
        alone = kept.unit_cents if lost else paid_for(instance, order, kept, 1)
        broken += lost
        paid = paid_for(instance, order, line, 1)
        exempt = not line.opened or rows.get(Customer, order.customer_id).tier in policy.fee_free_tiers
        restocking = 0 if exempt else paid * policy.restocking_percent / 100
        due = order.subtotal_cents - order.discount_cents - alone - restocking
        assert isinstance(back["fee_cents"], int)
        assert abs((paid - back["fee_cents"]) - due) < 2  # each of two shares is rounded to a cent
        assert not rows.find(Return, order_id=order.id)
    assert broken > 10


def test_a_finished_build_has_the_cheapest_card_and_supply_that_work_within_the_budget() -> None:
    for instance in instances("finish-build"):
        rows = instance.initial_state
        card, supply = (rows.get(Product, str(c["product_id"])) for c in calls(instance, "replace_build_part"))
        build = rows.get(Build, str(calls(instance, "replace_build_part")[0]["build_id"]))
        case = rows.get(Product, build.case_id)
        size, budget = re.search(r"\b(\d+ GB)", prompt(instance)), re.search(r"(?i)EUR (\d+)", prompt(instance))
        assert size is not None
        assert budget is not None
        shelf = [p for p in rows.find(Product, category="gpu") if p.stock > 0 and p.length_mm <= case.length_mm]
        assert card == min((p for p in shelf if size.group(1) in p.name), key=lambda p: p.price_cents)
        kept = [build.cpu_id, build.motherboard_id, build.memory_id, build.storage_id, build.cooler_id, build.case_id]
        draw = card.watts + sum(rows.get(Product, part).watts for part in kept)
        enough = [
            p
            for p in rows.find(Product, category="psu")
            if p.stock > 0 and p.watts * 100 >= draw * (100 + instance.rules.psu_headroom_percent)
        ]
        assert supply == min(enough, key=lambda p: p.price_cents)
        assert rows.get(Product, build.psu_id).watts * 100 < draw * (100 + instance.rules.psu_headroom_percent)
        assert card.price_cents + supply.price_cents <= 100 * int(budget.group(1))


def test_of_several_tickets_the_one_that_was_opened_first_or_last_is_kept() -> None:
    lower = 0
    for instance in instances("duplicate-tickets"):
        [kept], closed = calls(instance, "resolve_ticket"), calls(instance, "decline_request")
        main = instance.initial_state.get(Ticket, str(kept["ticket_id"]))
        doubles = [instance.initial_state.get(Ticket, str(c["ticket_id"])) for c in closed]
        first = instance.rules.worked_ticket == "first"
        assert all((main.opened < ticket.opened) == first for ticket in doubles)
        lower += all(main.id < ticket.id for ticket in doubles)
    assert 0 < lower < len(list(instances("duplicate-tickets")))


def test_no_colleague_at_work_whom_the_handbook_puts_first_could_have_been_asked() -> None:
    for family, tool, who in (
        ("least-approver", "request_refund_approval", "approver_id"),
        ("absent-approver", "send_internal_message", "recipient_id"),
    ):
        for instance in instances(family):
            rows = instance.initial_state
            [asked] = calls(instance, tool)
            cents = asked.get("amount_cents") or next(
                r.amount_cents for r in rows.find(Refund, status="pending_approval")
            )
            chosen = rows.get(Employee, str(asked[who]))
            assert isinstance(cents, int)
            assert not chosen.on_leave
            assert chosen.approval_limit_cents >= cents
            for other in rows.find(Employee, team=chosen.team, rank=chosen.rank, on_leave=False):
                if instance.rules.asked_first == "lowest":
                    assert not cents <= other.approval_limit_cents < chosen.approval_limit_cents
                else:
                    assert other.approval_limit_cents <= chosen.approval_limit_cents


def test_all_open_orders_are_redirected_and_none_that_left() -> None:
    for instance in instances("redirect-orders"):
        moved = {str(c["order_id"]) for c in calls(instance, "update_shipping_address")}
        orders = instance.initial_state.find(Order, customer_id=owner(instance).id)
        assert moved == {o.id for o in orders if o.status == "processing"}
        assert [o.status for o in orders].count("shipped") == 1
