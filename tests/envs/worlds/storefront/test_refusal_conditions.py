"""Refusal conditions: each lies just beyond what is granted, and the records still agree afterwards."""

from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta

import pytest

from palaestra.envs.kit import RefusalCondition, Section
from palaestra.envs.state import Overlay
from palaestra.envs.worlds.storefront import refusal_conditions
from palaestra.envs.worlds.storefront.aftersales import add_claim, add_pending_refund, add_refund, add_return, lately
from palaestra.envs.worlds.storefront.consequences import move_back, settle_account
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.invariants import fresh_violations, violations
from palaestra.envs.worlds.storefront.schema import (
    Build,
    Credit,
    Customer,
    Employee,
    Order,
    OrderLine,
    Product,
    Promotion,
    Refund,
    Return,
    Shipment,
    WarrantyClaim,
)
from palaestra.envs.worlds.storefront.world import STOREFRONT
from palaestra.records import Row
from palaestra.seeding import Stream

WORLDS = ((1000, 0), (1005, 2), (4000, 0))
"""World seeds, each with a handbook."""


def desk_of(seed: int, handbook: int) -> Desk:
    return Desk(
        state=Overlay(STOREFRONT.base(seed, handbook)),
        start=STOREFRONT.start(seed),
        family_stream=Stream.root("test-refusal-conditions", seed),
        ordinal=0,
        rules=STOREFRONT.rules(seed, handbook),
    )


@pytest.fixture(params=WORLDS, ids=str)
def desk(request: pytest.FixtureRequest) -> Desk:
    seed, handbook = request.param
    return desk_of(seed, handbook)


def unsent(desk: Desk) -> Order:
    return desk.pick(Order, lambda o: o.status == "processing" and desk.plain(o))


def returnable(desk: Desk) -> OrderLine:
    return desk.pick(OrderLine, lambda x: desk.returnable(x) and not desk.product(x).final_sale)


def claimable(desk: Desk) -> OrderLine:
    return desk.pick(OrderLine, lambda x: desk.claimable(x) and desk.warranty_ends(x) >= desk.today)


def lost(desk: Desk, *, at_most: int = 10**9) -> tuple[Order, Shipment]:
    order = desk.pick(Order, lambda o: desk.plain(o) and desk.is_lost(o) and o.total_cents <= at_most)
    [parcel] = desk.shipments(order)
    return order, parcel


def late(desk: Desk) -> tuple[Order, Shipment]:
    def fits(order: Order) -> bool:
        parcels = desk.shipments(order)
        return len(parcels) == 1 and parcels[0].delivered is not None and parcels[0].delivered > parcels[0].due

    order = desk.pick(Order, fits)
    [parcel] = desk.shipments(order)
    return order, parcel


def sound(desk: Desk) -> list[str]:
    return violations(desk.state, desk.today, desk.policy)


# Just beyond


def test_the_window_closed_yesterday_or_the_calendar_left_no_such_day(desk: Desk) -> None:
    line = returnable(desk)
    order, before = desk.order(line), desk.last_return_day(desk.order(line))
    refusal_conditions.arrived_too_long_ago(desk, line)
    assert desk.last_return_day(order) < desk.today <= before
    move_back(desk, order.id, days=-1)
    assert desk.last_return_day(order) >= desk.today


def test_a_parcel_that_is_not_yet_lost_is_lost_a_day_later(desk: Desk) -> None:
    order, parcel = lost(desk)
    refusal_conditions.not_yet_lost(desk, parcel)
    assert not desk.is_lost(order)
    [now] = desk.shipments(order)
    desk.state.update(now, due=now.due - timedelta(days=1))
    assert desk.is_lost(order)


def test_a_parcel_that_was_scanned_after_its_due_date_is_not_lost(desk: Desk) -> None:
    order, parcel = lost(desk)
    refusal_conditions.scanned_lately(desk, parcel)
    assert not desk.is_lost(order)


def test_a_parcel_within_grace_came_on_its_last_day(desk: Desk) -> None:
    order, parcel = late(desk)
    refusal_conditions.within_grace(desk, parcel)
    [now] = desk.shipments(order)
    assert now.delivered is not None
    assert (now.delivered - now.due).days == desk.policy.delay_grace_days


def test_an_order_of_too_long_ago_is_a_day_over_the_limit(desk: Desk) -> None:
    order = desk.pick(Order, lambda o: o.status == "delivered" and desk.plain(o))
    refusal_conditions.ordered_too_long_ago(desk, order, 14, "PRM-1")
    assert (desk.today - desk.state.get(Order, order.id).placed.date()).days == 15


def test_a_young_claim_is_slow_tomorrow(desk: Desk) -> None:
    line = claimable(desk)
    claim = add_claim(desk, line, "dead", ago=desk.policy.claim_days + 3)
    refusal_conditions.claim_is_young(desk, claim)
    young = desk.state.get(WarrantyClaim, claim.id)
    assert (desk.today - young.opened.date()).days == desk.policy.claim_days


def test_nothing_cheaper_is_left_where_other_shops_sold_out(desk: Desk) -> None:
    line = desk.pick(OrderLine, lambda x: desk.best_offer(x) is not None)
    refusal_conditions.sold_out_elsewhere(desk, line)
    assert desk.best_offer(line) is None


# Records agree


Change = Callable[[Desk], RefusalCondition]


def hold(desk: Desk) -> RefusalCondition:
    return refusal_conditions.on_hold(desk, desk.customer(unsent(desk)))


def elsewhere(desk: Desk) -> RefusalCondition:
    return refusal_conditions.written_from_elsewhere(desk, desk.customer(unsent(desk)))


def left(desk: Desk) -> RefusalCondition:
    return refusal_conditions.left_already(desk, unsent(desk))


def cancelled(desk: Desk) -> RefusalCondition:
    return refusal_conditions.cancelled_already(desk, unsent(desk))


def scanned(desk: Desk) -> RefusalCondition:
    return refusal_conditions.scanned_lately(desk, lost(desk)[1])


def overdue(desk: Desk) -> RefusalCondition:
    return refusal_conditions.not_yet_lost(desk, lost(desk)[1])


def punctual(desk: Desk) -> RefusalCondition:
    return refusal_conditions.within_grace(desk, late(desk)[1])


def replaced(desk: Desk) -> RefusalCondition:
    return refusal_conditions.sent_again_already(desk, desk.state.update(lost(desk)[1], status="lost"))


def loss_paid(desk: Desk) -> RefusalCondition:
    order, parcel = lost(desk, at_most=desk.policy.agent_limit_cents)
    desk.state.update(parcel, status="lost")
    return refusal_conditions.loss_paid_already(desk, order)


def expired(desk: Desk) -> RefusalCondition:
    return refusal_conditions.arrived_too_long_ago(desk, returnable(desk))


def coming_back(desk: Desk) -> RefusalCondition:
    return refusal_conditions.coming_back_already(desk, returnable(desk))


def received(desk: Desk) -> RefusalCondition:
    return refusal_conditions.received_already(desk, add_return(desk, returnable(desk), "authorised"))


def awaited(desk: Desk) -> RefusalCondition:
    return refusal_conditions.not_received(desk, add_return(desk, returnable(desk), "received"))


def small(desk: Desk, line: OrderLine) -> bool:
    return desk.returnable(line) and desk.paid_cents(line, line.quantity) <= desk.policy.agent_limit_cents


def return_paid(desk: Desk) -> RefusalCondition:
    line = desk.pick(OrderLine, lambda x: small(desk, x) and not desk.product(x).final_sale)
    return refusal_conditions.return_paid_already(desk, add_return(desk, line, "received"))


def refunded(desk: Desk) -> RefusalCondition:
    return refusal_conditions.paid_back_already(desk, desk.pick(OrderLine, lambda x: small(desk, x)), "faulty")


def short(desk: Desk) -> tuple[Refund, int]:
    """A refund of a piece that left out one cent, and what was due."""
    line = desk.pick(OrderLine, lambda x: small(desk, x) and x.quantity == 1)
    [payment], due = desk.payments(desk.order(line)), desk.paid_cents(line, 1)
    desk.state.update(line, returned=1)
    return add_refund(desk, payment, due - 1, "damaged", line=line, pieces=1), due


def right_amount(desk: Desk) -> RefusalCondition:
    return refusal_conditions.refund_was_right(desk, *short(desk))


def rest_paid(desk: Desk) -> RefusalCondition:
    return refusal_conditions.rest_paid_already(desk, *short(desk))


def double(desk: Desk) -> Order:
    def fits(order: Order) -> bool:
        twice = len(desk.payments(order)) == 2 and not desk.state.find(Refund, order_id=order.id)
        return twice and order.total_cents <= desk.policy.agent_limit_cents

    return desk.pick(Order, fits)


def went_back(desk: Desk) -> RefusalCondition:
    return refusal_conditions.charge_went_back(desk, desk.payments(double(desk))[1])


def once(desk: Desk) -> RefusalCondition:
    order = double(desk)
    return refusal_conditions.charged_once(desk, order, desk.payments(order)[1])


def waits(desk: Desk) -> RefusalCondition:
    line, approver = large(desk)
    return refusal_conditions.waiting_for_approval(desk, add_pending_refund(desk, line, approver), approver)


def large(desk: Desk) -> tuple[OrderLine, Employee]:
    """A piece too dear for an agent, and a supervisor at work who may approve it."""
    agent, supervisor = desk.policy.agent_limit_cents, desk.policy.supervisor_limit_cents

    def fits(line: OrderLine) -> bool:
        return line.quantity == 1 and desk.returnable(line) and agent < desk.paid_cents(line, 1) <= supervisor

    able = desk.pick(Employee, lambda e: e.rank == "supervisor" and e.approval_limit_cents == supervisor)
    return desk.pick(OrderLine, fits), able


def deserted(desk: Desk) -> RefusalCondition:
    line, approver = large(desk)
    return refusal_conditions.nobody_to_approve(desk, line, [approver])


def credited(desk: Desk) -> RefusalCondition:
    order = desk.pick(Order, lambda o: o.status == "delivered" and not desk.state.find(Credit, order_id=o.id))
    return refusal_conditions.credited_already(desk, order, "delay", 500, "LOY-2")


def sold_out_elsewhere(desk: Desk) -> RefusalCondition:
    return refusal_conditions.sold_out_elsewhere(desk, desk.pick(OrderLine, lambda x: desk.best_offer(x) is not None))


def open_claim(desk: Desk) -> RefusalCondition:
    return refusal_conditions.claimed_already(desk, claimable(desk), "dead")


def closed_claim(desk: Desk) -> RefusalCondition:
    return refusal_conditions.mended_already(desk, add_claim(desk, claimable(desk), "dead", ago=3))


def no_stock(desk: Desk) -> RefusalCondition:
    return refusal_conditions.sold_out(desk, desk.product(claimable(desk)))


def cleared(desk: Desk) -> RefusalCondition:
    return refusal_conditions.final_sale(desk, desk.product(returnable(desk)))


def outdated(desk: Desk) -> RefusalCondition:
    order = desk.pick(Order, lambda o: o.status == "delivered" and desk.plain(o))
    return refusal_conditions.ordered_too_long_ago(desk, order, 400, "PRM-2")


def young_claim(desk: Desk) -> RefusalCondition:
    return refusal_conditions.claim_is_young(
        desk, add_claim(desk, claimable(desk), "dead", ago=desk.policy.claim_days + 2)
    )


def draft(desk: Desk) -> Build:
    return desk.pick(Build, lambda b: b.status == "draft")


def anothers(desk: Desk) -> RefusalCondition:
    return refusal_conditions.anothers_build(desk, draft(desk))[0]


def no_parts(desk: Desk) -> RefusalCondition:
    return refusal_conditions.parts_sold_out(desk, draft(desk), desk.state.find(Product, category="cooler"))


def no_card(desk: Desk) -> RefusalCondition:
    return refusal_conditions.card_sold_out(desk, draft(desk), desk.pick(Product, lambda p: p.category == "gpu"))


def other_case(desk: Desk) -> RefusalCondition:
    card = max(desk.state.find(Product, category="gpu"), key=lambda p: p.length_mm)
    case = desk.pick(Product, lambda p: p.category == "case" and p.length_mm < card.length_mm)
    return refusal_conditions.rest_changed(desk, draft(desk), card, case)


CHANGES: tuple[Change, ...] = (
    hold,
    elsewhere,
    left,
    cancelled,
    scanned,
    overdue,
    punctual,
    replaced,
    loss_paid,
    expired,
    coming_back,
    received,
    awaited,
    return_paid,
    refunded,
    went_back,
    once,
    waits,
    deserted,
    credited,
    sold_out_elsewhere,
    open_claim,
    closed_claim,
    no_stock,
    cleared,
    outdated,
    young_claim,
    anothers,
    no_parts,
    no_card,
    other_case,
    right_amount,
    rest_paid,
)


@pytest.mark.measured
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_world_in_which_a_request_is_refused_keeps_every_rule(desk: Desk, change: Change) -> None:
    assert sound(desk) == []
    found = change(desk)
    assert sound(desk) == []
    assert desk.state.peek(Section, found.section) is not None
    assert desk.state.get(type(found.evidence), found.evidence.id) == found.evidence
    assert desk.state.settle().changes() == []


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_the_handbook_names_the_kind_of_record_that_shows_the_grounds(desk: Desk, change: Change) -> None:
    words = {
        "customers": ("account", "customer's own"),
        "orders": ("order",),
        "order_lines": ("order line",),
        "shipments": ("shipment", "replacement"),
        "payments": ("payment",),
        "refunds": ("refund",),
        "returns": ("return",),
        "credits": ("credit",),
        "products": ("product",),
        "warranty_claims": ("claim",),
        "builds": ("build",),
    }
    found = change(desk)
    body = desk.state.get(Section, found.section).body
    record = body[body.index("record") :]
    assert any(word in record for word in words[found.evidence.table])


# The past moved


def dated(desk: Desk, order: Order) -> Iterator[tuple[str, str, date | datetime]]:
    """Every date of an order and of what happened to it."""
    rows: list[Row] = [desk.state.get(Order, order.id), *desk.payments(order), *desk.shipments(order)]
    for kind in (Refund, Return, Credit):
        rows += desk.state.find(kind, order_id=order.id)
    for row in rows:
        for name in ("placed", "charged", "shipped", "due", "last_scan", "delivered", "created"):
            value = getattr(row, name, None)
            if value is not None:
                yield row.id, name, value


@pytest.mark.parametrize("days", [1, 9, 40])
def test_all_dates_of_an_order_move_together(desk: Desk, days: int) -> None:
    order = desk.pick(Order, lambda o: bool(desk.state.find(Refund, order_id=o.id)))
    before = list(dated(desk, order))
    move_back(desk, order.id, days=days)
    assert list(dated(desk, order)) == [(key, name, day - timedelta(days=days)) for key, name, day in before]
    assert sound(desk) == []


def test_an_order_with_a_code_stays_within_what_the_code_allows(desk: Desk) -> None:
    order = desk.pick(Order, lambda o: o.promotion_code is not None)
    move_back(desk, order.id, days=60)
    moved = desk.state.get(Order, order.id)
    promotion = desk.state.get(Promotion, str(moved.promotion_code))
    assert promotion.starts <= moved.placed.date()
    assert sound(desk) == []


def test_settling_an_account_that_is_settled_changes_nothing(desk: Desk) -> None:
    for customer in desk.state.find(Customer):
        settle_account(desk, customer.id)
    assert desk.state.changes() == []


def test_settling_an_account_finds_what_a_payment_changed(desk: Desk) -> None:
    order = desk.pick(Order, lambda o: desk.days_since_delivery(o) in range(30) and desk.plain(o))
    [payment], before = desk.payments(order), desk.customer(order).lifetime_cents
    desk.state.update(payment, refunded_cents=payment.refunded_cents + 100)
    settle_account(desk, order.customer_id)
    assert desk.customer(order).lifetime_cents == before - 100


def test_what_happened_lately_lies_between_the_order_and_now(desk: Desk) -> None:
    for order in desk.state.find(Order):
        moment = lately(desk, order)
        assert max(order.placed.date(), desk.delivery_day(order) or date.min) <= moment.date() <= desk.today
        assert moment < desk.start


def test_planted_returns_and_claims_are_such_as_a_world_begins_with(desk: Desk) -> None:
    add_return(desk, returnable(desk), "authorised")
    add_claim(desk, claimable(desk), "noise", ago=5)
    assert fresh_violations(desk.state, desk.today, desk.policy) == []


def test_a_shop_that_asks_less_is_needed_to_sell_out() -> None:
    desk = desk_of(1000, 0)
    line = desk.pick(OrderLine, lambda x: desk.best_offer(x) is None)
    with pytest.raises(AssertionError, match="no shop asks less"):
        refusal_conditions.sold_out_elsewhere(desk, line)


def test_every_ground_is_tried() -> None:
    tried = {name for change in CHANGES for name in change.__code__.co_names}
    assert set(refusal_conditions.__all__) <= tried
