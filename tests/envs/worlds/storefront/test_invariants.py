"""The invariants: each of them fires on a broken row, and says which."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from typing import TypeAlias

import pytest

from palaestra.envs.state import Base, Overlay, SqlProjection
from palaestra.envs.worlds.storefront.invariants import ALWAYS, FRESH, fresh_violations, violations
from palaestra.envs.worlds.storefront.policy import POLICY
from palaestra.envs.worlds.storefront.population import populate, world_start
from palaestra.envs.worlds.storefront.schema import (
    Build,
    CompetitorOffer,
    Credit,
    Customer,
    Employee,
    InternalMessage,
    Order,
    OrderLine,
    Payment,
    Product,
    Refund,
    Return,
    Shipment,
    Ticket,
    WarrantyClaim,
)

SEED = 0
TODAY: date = world_start(SEED).date()

Break: TypeAlias = Callable[[Overlay], str]
"""Breaks one row and gives the words of the sentence that must follow."""


@pytest.fixture(scope="module")
def base() -> Base:
    return populate(SEED)


@pytest.fixture
def state(base: Base) -> Overlay:
    return Overlay(base)


def order_with(state: Overlay, status: str) -> Order:
    return next(o for o in state.find(Order, status=status))


def parcel_of(state: Overlay, order: Order) -> Shipment:
    return state.find(Shipment, order_id=order.id)[0]


def line_refund(state: Overlay) -> Refund:
    return next(r for r in state.find(Refund) if r.line_id is not None and r.reason != "changed_mind")


# Rules that always hold


def dangling_reference(state: Overlay) -> str:
    line = state.find(OrderLine)[0]
    state.update(line, product_id="CPU-9999")
    return f"{line.id}: product_id is 'CPU-9999', which products has not"


def shared_email(state: Overlay) -> str:
    first, second, *_ = state.find(Customer)
    state.update(second, email=first.email)
    return f"{first.id}, {second.id}: they share the e-mail address {first.email}"


def unearned_tier(state: Overlay) -> str:
    customer = next(c for c in state.find(Customer) if c.tier == "bronze")
    state.update(customer, tier="gold")
    return f"{customer.id}: is gold, but {customer.lifetime_cents} cents earn bronze"


def credit_from_nowhere(state: Overlay) -> str:
    customer = state.find(Customer)[0]
    state.update(customer, credit_cents=customer.credit_cents + 1)
    return f"{customer.id}: holds {customer.credit_cents + 1} cents of credit, given {customer.credit_cents}"


def credit_of_nothing(state: Overlay) -> str:
    credit = state.find(Credit)[0]
    state.update(credit, amount_cents=0)
    return f"{credit.id}: a credit of 0 cents is none"


def credit_for_a_strangers_order(state: Overlay) -> str:
    credit = state.find(Credit)[0]
    other = next(o for o in state.find(Order) if o.customer_id != credit.customer_id)
    state.update(credit, order_id=other.id)
    return f"{credit.id}: is for {other.id}, an order of another customer"


def negative_stock(state: Overlay) -> str:
    product = state.find(Product)[0]
    state.update(product, stock=-1)
    return f"{product.id}: a stock of -1 is below zero"


def free_product(state: Overlay) -> str:
    product = state.find(Product)[0]
    state.update(product, price_cents=0)
    return f"{product.id}: a price of 0 cents is none"


def part_in_the_wrong_slot(state: Overlay) -> str:
    build = state.find(Build, status="draft")[0]
    state.update(build, psu_id=build.cpu_id)
    return f"{build.id}: {build.cpu_id} is no psu"


def ordered_build_that_fails(state: Overlay) -> str:
    build = state.find(Build, status="ordered")[0]
    board = state.get(Product, build.motherboard_id)
    wrong = next(p for p in state.find(Product, category="cpu") if p.socket != board.socket)
    state.update(build, cpu_id=wrong.id)
    return f"{build.id}: was ordered, but does not work: socket"


def wrong_subtotal(state: Overlay) -> str:
    order = state.find(Order)[0]
    state.update(order, subtotal_cents=order.subtotal_cents + 1)
    return f"{order.id}: the lines make {order.subtotal_cents} cents"


def wrong_total(state: Overlay) -> str:
    order = state.find(Order)[0]
    state.update(order, shipping_cents=order.shipping_cents + 1)
    return f"{order.id}: the total is {order.total_cents} cents, its parts make {order.total_cents + 1}"


def promotion_that_did_not_hold(state: Overlay) -> str:
    order = next(o for o in state.find(Order) if o.promotion_code is not None)
    state.update(order, placed=order.placed - timedelta(days=5_000))
    return f"{order.id}: {order.promotion_code} did not hold for it on"


def discount_without_promotion(state: Overlay) -> str:
    order = next(o for o in state.find(Order) if o.promotion_code is None)
    state.update(order, discount_cents=100)
    return f"{order.id}: the discount is 100 cents, its promotion gives 0"


def order_without_payment(state: Overlay) -> str:
    order = order_with(state, "processing")
    state.delete(state.find(Payment, order_id=order.id)[0])
    return f"{order.id}: has no payment"


def wrong_charge(state: Overlay) -> str:
    payment = state.find(Payment)[0]
    state.update(payment, amount_cents=payment.amount_cents + 1)
    return f"{payment.id}: is {payment.amount_cents + 1} cents, {payment.order_id} costs {payment.amount_cents}"


def captured_too_early(state: Overlay) -> str:
    order = order_with(state, "processing")
    payment = state.find(Payment, order_id=order.id)[0]
    state.update(payment, status="captured")
    return f"{payment.id}: is captured, but {order.id} is processing, so: authorised"


def refund_of_nothing(state: Overlay) -> str:
    refund = state.find(Refund)[0]
    state.update(refund, amount_cents=0)
    return f"{refund.id}: a refund of 0 cents is none"


def unrecorded_refund(state: Overlay) -> str:
    payment = next(p for p in state.find(Payment) if p.refunded_cents == 0)
    state.update(payment, refunded_cents=5)
    return f"{payment.id}: has 5 cents refunded, refunds say 0"


def more_back_than_paid(state: Overlay) -> str:
    refund = line_refund(state)
    payment = state.get(Payment, refund.payment_id)
    state.update(refund, amount_cents=payment.amount_cents + 1)
    return f"{payment.id}: {payment.amount_cents + 1} cents went back, {payment.amount_cents} were captured"


def refund_to_a_strangers_payment(state: Overlay) -> str:
    refund = state.find(Refund)[0]
    other = next(p for p in state.find(Payment) if p.order_id != refund.order_id)
    state.update(refund, payment_id=other.id)
    return f"{refund.id}: {other.id} does not belong to {refund.order_id}"


def refund_of_a_strangers_line(state: Overlay) -> str:
    refund = line_refund(state)
    other = next(x for x in state.find(OrderLine) if x.order_id != refund.order_id)
    state.update(refund, line_id=other.id)
    return f"{refund.id}: {other.id} does not belong to {refund.order_id}"


def refund_of_too_many_pieces(state: Overlay) -> str:
    refund = line_refund(state)
    state.update(refund, quantity=9)
    return f"{refund.id}: is for 9 piece(s) of {refund.line_id}, which has"


def refund_above_the_price(state: Overlay) -> str:
    refund = line_refund(state)
    state.update(refund, amount_cents=refund.amount_cents + 1)
    return f"{refund.id}: {refund.amount_cents + 1} cents for pieces of {refund.line_id} that cost"


def pending_on_nobody(state: Overlay) -> str:
    refund = next(r for r in state.find(Refund) if r.approver_id is None)
    state.update(refund, status="pending_approval")
    return f"{refund.id}: waits for nobody's approval"


def large_refund_paid_alone(state: Overlay) -> str:
    refund = next(r for r in state.find(Refund) if r.approver_id is not None)
    state.update(refund, approver_id=None)
    return f"{refund.id}: {refund.amount_cents} cents were paid without an approver"


def large_refund_approved_by_an_agent(state: Overlay) -> str:
    refund = next(r for r in state.find(Refund) if r.approver_id is not None)
    state.update(refund, approver_id=state.find(Employee, rank="agent")[0].id)
    return f"{refund.id}: {refund.amount_cents} cents were paid without an approver"


def return_of_a_strangers_line(state: Overlay) -> str:
    back = state.find(Return)[0]
    other = next(x for x in state.find(OrderLine) if x.order_id != back.order_id)
    state.update(back, line_id=other.id)
    return f"{back.id}: {other.id} does not belong to {back.order_id}"


def return_of_too_many_pieces(state: Overlay) -> str:
    back = state.find(Return)[0]
    state.update(back, quantity=9)
    return f"{back.id}: is for 9 piece(s) of {back.line_id}, which has"


def return_at_another_price(state: Overlay) -> str:
    back = state.find(Return)[0]
    state.update(back, refund_due_cents=back.refund_due_cents + 1)
    return f"{back.id}: fee and refund do not make the"


def return_before_delivery(state: Overlay) -> str:
    back = state.find(Return)[0]
    state.update(back, created=back.created - timedelta(days=400))
    return f"{back.id}: came before {back.order_id} was delivered"


def more_pieces_back_than_sold(state: Overlay) -> str:
    line = state.find(OrderLine)[0]
    state.update(line, returned=line.quantity + 1)
    return f"{line.id}: {line.quantity + 1} of {line.quantity} piece(s) came back"


def piece_that_came_back_uncounted(state: Overlay) -> str:
    line = state.get(OrderLine, line_refund(state).line_id or "")
    state.update(line, returned=0)
    return f"{line.id}: 0 piece(s) came back, refunds and returns say"


def delivered_before_shipped(state: Overlay) -> str:
    parcel = parcel_of(state, order_with(state, "delivered"))
    state.update(parcel, shipped=TODAY)
    return f"{parcel.id}: its days are out of order"


def delivered_tomorrow(state: Overlay) -> str:
    parcel = parcel_of(state, order_with(state, "delivered"))
    state.update(parcel, delivered=TODAY + timedelta(days=1))
    return f"{parcel.id}: its days are out of order"


def prepared_but_shipped(state: Overlay) -> str:
    parcel = parcel_of(state, order_with(state, "processing"))
    state.update(parcel, shipped=TODAY)
    return f"{parcel.id}: is preparing, but its day of shipping is {TODAY}"


def in_transit_but_delivered(state: Overlay) -> str:
    parcel = parcel_of(state, order_with(state, "shipped"))
    state.update(parcel, delivered=TODAY)
    return f"{parcel.id}: is {parcel.status}, but its day of delivery is {TODAY}"


def cancelled_but_sent(state: Overlay) -> str:
    order = order_with(state, "cancelled")
    parcel = parcel_of(state, order_with(state, "delivered"))
    state.update(parcel, order_id=order.id)
    return f"{order.id}: is cancelled, but has a parcel that is delivered"


def shipped_without_parcel(state: Overlay) -> str:
    order = order_with(state, "shipped")
    state.delete(parcel_of(state, order))
    return f"{order.id}: is shipped, but no parcel of it has left"


def delivered_without_delivery(state: Overlay) -> str:
    order = order_with(state, "delivered")
    state.update(parcel_of(state, order), status="lost", delivered=None)
    return f"{order.id}: is delivered, but no parcel of it is"


def replacement_of_a_parcel_that_came(state: Overlay) -> str:
    parcel = next(s for s in state.find(Shipment) if s.replaces is not None)
    lost = state.get(Shipment, parcel.replaces or "")
    state.update(lost, status="in_transit")
    return f"{parcel.id}: replaces {lost.id} of {lost.order_id}, which is in_transit"


def second_replacement(state: Overlay) -> str:
    parcel = next(s for s in state.find(Shipment) if s.replaces is not None)
    again = state.insert(replace(parcel, id=state.next_id(Shipment)))
    return f"{again.id}: replaces {parcel.replaces}, which has been replaced already"


def ordered_before_joining(state: Overlay) -> str:
    order = state.find(Order)[0]
    customer = state.get(Customer, order.customer_id)
    state.update(customer, joined=order.placed.date() + timedelta(days=1))
    return f"{order.id}: was placed on {order.placed.date()}, its customer joined on"


def charged_before_the_order(state: Overlay) -> str:
    payment = state.find(Payment)[0]
    state.update(payment, charged=payment.charged - timedelta(days=1))
    return f"{payment.id}: happened on"


def claim_before_delivery(state: Overlay) -> str:
    claim = state.find(WarrantyClaim)[0]
    state.update(claim, opened=claim.opened - timedelta(days=3_000))
    return f"{claim.id}: was opened on"


def two_open_claims(state: Overlay) -> str:
    claim = state.find(WarrantyClaim)[0]
    state.update(claim, status="open")
    again = state.insert(replace(claim, id=state.next_id(WarrantyClaim), status="open"))
    return f"{again.id}: {claim.line_id} has an open claim already"


def declined_without_grounds(state: Overlay) -> str:
    ticket = state.find(Ticket, status="declined")[0]
    state.update(ticket, evidence_id=None)
    return f"{ticket.id}: is declined, with grounds {ticket.policy_id}, None"


def evidence_that_is_no_record(state: Overlay) -> str:
    ticket = state.find(Ticket, status="declined")[0]
    state.update(ticket, evidence_id="ORD-0")
    return f"{ticket.id}: its evidence ORD-0 is no record"


# Rules that hold in a fresh world


def wrong_lifetime(state: Overlay) -> str:
    customer = next(c for c in state.find(Customer) if c.tier == "platinum")
    state.update(customer, lifetime_cents=customer.lifetime_cents + 1)
    return f"{customer.id}: spent {customer.lifetime_cents + 1} cents, orders make {customer.lifetime_cents}"


def spent_credit(state: Overlay) -> str:
    customer = next(c for c in state.find(Customer) if c.credit_cents > 0)
    state.update(customer, credit_cents=0)
    return f"{customer.id}: holds 0 cents of credit, given {customer.credit_cents}"


def credited_twice(state: Overlay) -> str:
    credit = state.find(Credit)[0]
    state.insert(replace(credit, id=state.next_id(Credit)))
    return f"{credit.order_id}: was credited 2 times for {credit.reason}"


def returned_for_no_reason(state: Overlay) -> str:
    line = next(x for x in state.find(OrderLine) if x.returned == 0)
    state.update(line, returned=1)
    return f"{line.id}: returned is 1, refunds and returns make 0"


def wrong_fee(state: Overlay) -> str:
    back = state.find(Return)[0]
    state.update(back, fee_cents=back.fee_cents + 1)
    return f"{back.id}: the fee is {back.fee_cents + 1} cents, RET-2 makes it {back.fee_cents}"


def return_out_of_window(state: Overlay) -> str:
    back = state.find(Return)[0]
    state.update(back, created=back.created + timedelta(days=400))
    return f"{back.id}: was authorised after the return window"


def final_sale_taken_back(state: Overlay) -> str:
    back = state.find(Return, reason="changed_mind")[0]
    product = state.get(Product, state.get(OrderLine, back.line_id).product_id)
    state.update(product, final_sale=True)
    return f"{back.id}: takes back {product.id}, which is final sale"


def approver_beyond_their_limit(state: Overlay) -> str:
    refund = next(r for r in state.find(Refund) if r.approver_id is not None)
    approver = state.get(Employee, refund.approver_id or "")
    state.update(approver, approval_limit_cents=0)
    return f"{refund.id}: {refund.amount_cents} cents were not for {approver.id} to approve"


def claim_out_of_warranty(state: Overlay) -> str:
    claim = state.find(WarrantyClaim)[0]
    product = state.get(Product, state.get(OrderLine, claim.line_id).product_id)
    state.update(product, warranty_months=0)
    return f"{claim.id}: {claim.opened.date()} is no day on which {claim.line_id} was a matter of warranty"


def claim_for_a_fall(state: Overlay) -> str:
    claim = state.find(WarrantyClaim)[0]
    state.update(claim, fault="physical_damage")
    return f"{claim.id}: physical damage is not covered"


def two_parcels(state: Overlay) -> str:
    order = order_with(state, "processing")
    state.insert(replace(parcel_of(state, order), id=state.next_id(Shipment)))
    return f"{order.id}: is processing with 2 parcels, 1 belong to it"


def build_order_without_a_part(state: Overlay) -> str:
    order = next(o for o in state.find(Order) if o.build_id is not None)
    state.delete(state.find(OrderLine, order_id=order.id)[0])
    return f"{order.id}: its lines are not the parts of {order.build_id}"


def build_of_somebody_else(state: Overlay) -> str:
    build = state.find(Build, status="ordered")[0]
    order = state.find(Order, build_id=build.id)[0]
    other = next(c for c in state.find(Customer) if c.id != build.customer_id)
    state.update(build, customer_id=other.id)
    return f"{order.id}: is for {build.id}, a build of another customer"


def ordered_build_without_order(state: Overlay) -> str:
    build = state.find(Build, status="draft")[-1]
    state.update(build, status="ordered")
    return f"{build.id}: is ordered and has 0 order(s)"


def ticket_before_joining(state: Overlay) -> str:
    ticket = state.find(Ticket)[0]
    state.update(ticket, opened=ticket.opened - timedelta(days=3_000))
    return f"{ticket.id}: was opened on"


def note_before_its_ticket(state: Overlay) -> str:
    note = next(m for m in state.find(InternalMessage) if m.ticket_id is not None)
    state.update(note, sent=note.sent - timedelta(days=3_000))
    return f"{note.id}: was sent on"


def note_to_oneself(state: Overlay) -> str:
    note = state.find(InternalMessage)[0]
    state.update(note, recipient_id=note.sender_id)
    return f"{note.id}: {note.sender_id} wrote to themselves"


def line_under_another_name(state: Overlay) -> str:
    line = state.find(OrderLine)[0]
    state.update(line, product_name="something else")
    return f"{line.id}: names 'something else', but {line.product_id} is {line.product_name!r}"


def offer_of_tomorrow(state: Overlay) -> str:
    offer = state.find(CompetitorOffer)[0]
    state.update(offer, seen=TODAY + timedelta(days=1))
    return f"{offer.id}: {offer.price_cents} cents, seen on {TODAY + timedelta(days=1)}"


BREAKS: dict[str, tuple[Break, ...]] = {
    "references_are_whole": (dangling_reference,),
    "emails_are_unique": (shared_email,),
    "tiers_follow_spending": (unearned_tier,),
    "credit_is_given": (credit_from_nowhere, credit_of_nothing, credit_for_a_strangers_order),
    "stock_is_real": (negative_stock, free_product),
    "builds_hold_fitting_slots": (part_in_the_wrong_slot, ordered_build_that_fails),
    "orders_add_up": (wrong_subtotal, wrong_total),
    "lines_name_their_products": (line_under_another_name,),
    "discounts_follow_promotions": (promotion_that_did_not_hold, discount_without_promotion),
    "payments_match_orders": (order_without_payment, wrong_charge, captured_too_early),
    "refunds_conserve_money": (refund_of_nothing, unrecorded_refund, more_back_than_paid),
    "refunds_name_one_order": (
        refund_to_a_strangers_payment,
        refund_of_a_strangers_line,
        refund_of_too_many_pieces,
        refund_above_the_price,
    ),
    "large_refunds_are_approved": (
        pending_on_nobody,
        large_refund_paid_alone,
        large_refund_approved_by_an_agent,
    ),
    "returns_name_one_order": (
        return_of_a_strangers_line,
        return_of_too_many_pieces,
        return_at_another_price,
        return_before_delivery,
    ),
    "pieces_come_back_once": (more_pieces_back_than_sold, piece_that_came_back_uncounted),
    "shipments_are_ordered_in_time": (
        delivered_before_shipped,
        delivered_tomorrow,
        prepared_but_shipped,
        in_transit_but_delivered,
    ),
    "shipments_match_orders": (cancelled_but_sent, shipped_without_parcel, delivered_without_delivery),
    "replacements_name_the_lost": (replacement_of_a_parcel_that_came, second_replacement),
    "nothing_precedes_its_cause": (ordered_before_joining, charged_before_the_order),
    "claims_follow_delivery": (claim_before_delivery, two_open_claims),
    "tickets_show_their_grounds": (declined_without_grounds, evidence_that_is_no_record),
    "lifetimes_are_sums": (wrong_lifetime,),
    "credit_is_unspent": (spent_credit, credited_twice),
    "returned_is_exact": (returned_for_no_reason,),
    "fees_follow_policy": (wrong_fee, return_out_of_window, final_sale_taken_back),
    "approvers_may_approve": (approver_beyond_their_limit,),
    "claims_are_in_warranty": (claim_out_of_warranty, claim_for_a_fall),
    "orders_have_their_parcels": (two_parcels,),
    "build_orders_hold_their_parts": (
        build_order_without_a_part,
        build_of_somebody_else,
        ordered_build_without_order,
    ),
    "the_desk_is_dated": (ticket_before_joining, note_before_its_ticket, note_to_oneself, offer_of_tomorrow),
}
"""By rule, one break for each sentence that the rule can say."""

ALWAYS_NAMES = [rule.__name__ for rule in ALWAYS]
FRESH_NAMES = [rule.__name__ for rule in FRESH]


def breaks_of(rules: list[str]) -> list[Break]:
    return [broken for rule in rules for broken in BREAKS[rule]]


def test_every_rule_has_a_break_of_its_own() -> None:
    assert [*ALWAYS_NAMES, *FRESH_NAMES] == list(BREAKS)


@pytest.mark.measured
@pytest.mark.parametrize("broken", breaks_of(ALWAYS_NAMES))
def test_a_rule_that_always_holds_names_the_broken_row(broken: Break, state: Overlay) -> None:
    words = broken(state)
    assert any(words in sentence for sentence in violations(state, TODAY))


@pytest.mark.parametrize("broken", breaks_of(FRESH_NAMES))
def test_a_rule_of_a_fresh_world_names_the_broken_row(broken: Break, state: Overlay) -> None:
    words = broken(state)
    assert any(words in sentence for sentence in fresh_violations(state, TODAY))


def test_a_broken_reference_is_reported_alone(state: Overlay) -> None:
    words = dangling_reference(state)
    assert violations(state, TODAY) == [words]
    assert fresh_violations(state, TODAY) == [words]


def test_what_an_agent_may_do_badly_breaks_no_rule_that_always_holds(state: Overlay) -> None:
    line = next(x for x in state.find(OrderLine) if x.returned == 0)
    state.update(line, returned=1)
    claim_for_a_fall(state)
    spent_credit(state)
    assert violations(state, TODAY) == []
    assert fresh_violations(state, TODAY) != []


def test_a_paid_refund_and_its_piece_keep_every_rule(state: Overlay) -> None:
    line = next(
        x
        for x in state.find(OrderLine)
        if x.returned == 0 and state.get(Order, x.order_id).status == "delivered" and x.unit_cents < 20_000
    )
    payment = state.find(Payment, order_id=line.order_id)[0]
    template = line_refund(state)
    state.insert(
        replace(
            template,
            id=state.next_id(Refund),
            order_id=line.order_id,
            line_id=line.id,
            payment_id=payment.id,
            quantity=1,
            amount_cents=100,
            approver_id=None,
            created=world_start(SEED),
        )
    )
    state.update(line, returned=1)
    state.update(payment, refunded_cents=payment.refunded_cents + 100)
    assert violations(state, TODAY) == []


def test_the_rules_read_the_sql_projection_alike(state: Overlay) -> None:
    words = negative_stock(state)
    assert violations(SqlProjection(state), TODAY) == violations(state, TODAY) == [words]


def test_the_policy_decides_what_breaks(state: Overlay) -> None:
    stricter = replace(POLICY, agent_limit_cents=1)
    assert violations(state, TODAY) == []
    assert any("without an approver" in v for v in violations(state, TODAY, stricter))
