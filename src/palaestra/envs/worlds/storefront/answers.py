"""What is right for a request under any rules, as the calls of a solution: the answers of rule twins.

A family decides about the rows that it picks, which fit its rules. Under other rules the same rows may call for
something else: a return that comes too late is none where the window is longer. Here the handbook is followed from the
records alone, so that a family's own solution can be held to a second one.
"""

from collections.abc import Sequence
from typing import Literal

from palaestra.envs.kit import amount
from palaestra.envs.task import call
from palaestra.envs.worlds.storefront.authority import stand_ins
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls, decline_calls
from palaestra.envs.worlds.storefront.policy import percent_of, price_match_cents, restocking_fee
from palaestra.envs.worlds.storefront.remedies import remedy, warranty_remedy
from palaestra.envs.worlds.storefront.restocking import explain_fee
from palaestra.envs.worlds.storefront.schema import (
    Credit,
    CreditReason,
    Customer,
    Fault,
    Order,
    OrderLine,
    Refund,
    Return,
    Ticket,
    WarrantyClaim,
)
from palaestra.records import Json, Row, ToolCall


def opening(desk: Desk, order: Order) -> list[ToolCall]:
    """The look-ups with which most cases begin."""
    products = sorted({line.product_id for line in desk.lines(order)})
    return [
        call("get_order", order_id=order.id),
        call("get_customer", customer_id=order.customer_id),
        call("get_shipments", order_id=order.id),
        *(call("get_product", product_id=product) for product in products),
    ]


def read(*sections: str) -> list[ToolCall]:
    """Read sections of the handbook."""
    return [call("read_handbook", section_id=section) for section in sections]


def decline(ticket: Ticket, section: str, evidence: Row) -> list[ToolCall]:
    """Decline a request on the grounds of a section."""
    return [*read(section), *decline_calls(ticket, section, evidence, "We cannot do that.")]


def hand_to_fraud(desk: Desk, ticket: Ticket, customer: Customer) -> list[ToolCall]:
    """Hand a case over because of a hold (FRD-1)."""
    grounds = {"policy_id": "FRD-1", "evidence_id": customer.id}
    hand_over = call(
        "escalate_ticket", ticket_id=ticket.id, team="fraud", priority=desk.policy.hold_priority, **grounds
    )
    return [*read("FRD-1"), hand_over, call("reply", message="A colleague will be in touch."), call("finish")]


def send_back(desk: Desk, ticket: Ticket, line: OrderLine, *, clawed_back: int = 0) -> list[ToolCall]:
    """A change of mind about a line (RET-1 to RET-4).

    Args:
        desk: The desk.
        ticket: The case.
        line: What is to come back, all of it.
        clawed_back: What else is taken from what is due (PRM-3).
    """
    line = desk.state.get(OrderLine, line.id)
    order, product = desk.order(line), desk.product(line)
    customer, looks = desk.customer(order), opening(desk, order)
    if customer.fraud_hold:
        return [*looks, *hand_to_fraud(desk, ticket, customer)]
    if line.returned:
        back: list[Row] = [*desk.state.find(Return, line_id=line.id), *desk.state.find(Refund, line_id=line.id)]
        return [*looks, call("get_returns", order_id=order.id), *decline(ticket, "RET-1", back[-1])]
    if desk.binds_final_sale(line):
        return [*looks, *decline(ticket, "RET-3", product)]
    if desk.last_return_day(order) < desk.today:
        return [*looks, *decline(ticket, "RET-1", desk.window_record(order))]
    fee = restocking_fee(
        desk.policy, customer.tier, desk.paid_cents(line, line.quantity), opened=line.opened, change_of_mind=True
    )
    kept = fee + clawed_back
    back_call = call("authorise_return", line_id=line.id, quantity=line.quantity, reason="changed_mind", fee_cents=kept)
    told = f"You may send it back. {explain_fee(desk.paid_cents(line, line.quantity), kept)}"
    return [*looks, *read("RET-1", "RET-2"), back_call, *closing_calls(ticket, told)]


def report_fault(
    desk: Desk,
    ticket: Ticket,
    line: OrderLine,
    reason: Literal["damaged", "faulty", "wrong_item"],
    *,
    pieces: int = 1,
    fault: Fault | None = None,
) -> list[ToolCall]:
    """Goods that are damaged, faulty or something else (REF-1, REF-2, WAR-1, WAR-2).

    Args:
        desk: The desk.
        ticket: The case.
        line: The line.
        reason: What is wrong.
        pieces: With how many pieces.
        fault: What is the matter with faulty ones.
    """
    line = desk.state.get(OrderLine, line.id)
    order = desk.order(line)
    customer, looks = desk.customer(order), opening(desk, order)
    if customer.fraud_hold:
        return [*looks, *hand_to_fraud(desk, ticket, customer)]
    if desk.last_return_day(order) >= desk.today:
        return [*looks, *read("RET-1", "REF-1", "REF-2", "WHO-2"), *refund(desk, ticket, line, reason, pieces)]
    if reason == "wrong_item":
        return [*looks, *decline(ticket, "RET-1", desk.window_record(order))]
    if reason == "damaged":
        return [*looks, *decline(ticket, "WAR-2", line)]
    if desk.warranty_ends(line) < desk.today or fault is None:
        return [*looks, *decline(ticket, "WAR-1", line)]
    kind = warranty_remedy(desk, desk.product(line), fault)
    claim = call("open_warranty_claim", line_id=line.id, fault=fault, remedy=kind)
    return [*looks, *read("RET-1", "WAR-1", "WAR-2"), claim, *closing_calls(ticket, f"We will {kind} it.")]


def refund(desk: Desk, ticket: Ticket, line: OrderLine, reason: str, pieces: int) -> list[ToolCall]:
    """Pay pieces back, or ask whoever may (REF-2, WHO-2)."""
    cents = desk.paid_cents(line, pieces)
    paid: dict[str, Json] = {"line_id": line.id, "quantity": pieces, "amount_cents": cents, "reason": reason}
    if cents <= desk.policy.agent_limit_cents:
        return [call("issue_refund", **paid), *closing_calls(ticket, f"We have paid back {amount(cents)}.")]
    high = cents > desk.policy.supervisor_limit_cents
    team, rank = ("finance", "manager") if high else ("support", "supervisor")
    colleagues = call("search_employees", team=team, rank=rank)
    asked = stand_ins(desk, cents)
    if asked:
        ask = call("request_refund_approval", approver_id=asked[0].id, **paid)
        return [colleagues, ask, *closing_calls(ticket, "A colleague has to approve it.")]
    grounds = {"policy_id": "REF-2", "evidence_id": line.id}
    hand_over = call("escalate_ticket", ticket_id=ticket.id, team="finance", priority="normal", **grounds)
    return [colleagues, hand_over, call("reply", message="Our finance team decides."), call("finish")]


def find_parcel(desk: Desk, ticket: Ticket, order: Order) -> list[ToolCall]:
    """A parcel that has not come (SHP-1)."""
    order = desk.state.get(Order, order.id)
    looks, [parcel] = [*opening(desk, order), *read("SHP-1")], desk.shipments(order)
    if not desk.is_lost(order):
        return [*looks, *decline(ticket, "SHP-1", parcel)]
    due = remedy(desk, order, parcel, after=())
    return [
        *looks,
        call("get_payments", order_id=order.id),
        *read(*due.sections),
        call("declare_lost", shipment_id=parcel.id),
        due.call,
        *closing_calls(ticket, due.message),
    ]


def match_price(desk: Desk, ticket: Ticket, order: Order, lines: Sequence[OrderLine]) -> list[ToolCall]:
    """Lines of an order that cost less elsewhere (PRM-1)."""
    order = desk.state.get(Order, order.id)
    looks = [
        *opening(desk, order),
        *read("PRM-1"),
        *(call("search_offers", product_id=line.product_id) for line in lines),
    ]
    late = (desk.today - order.placed.date()).days > desk.policy.price_match_days
    barred = order.promotion_code is not None and not desk.policy.match_with_promotion
    due = sum(_difference(desk, line) for line in lines)
    if late or barred or due == 0:
        return [*looks, *decline(ticket, "PRM-1", order)]
    return [*looks, *give_credit(desk, ticket, order, due, "price_match")]


def _difference(desk: Desk, line: OrderLine) -> int:
    best = desk.best_offer(line)
    return 0 if best is None else line.quantity * price_match_cents(desk.policy, line.unit_cents, best.price_cents)


def claim_promotion(desk: Desk, ticket: Ticket, order: Order, code: str, cents: int) -> list[ToolCall]:
    """A forgotten code that would have saved so much (PRM-2)."""
    order = desk.state.get(Order, order.id)
    looks = [*opening(desk, order), *read("PRM-2"), call("quote_promotion", order_id=order.id, code=code)]
    if (desk.today - order.placed.date()).days > desk.policy.promotion_claim_days:
        return [*looks, *decline(ticket, "PRM-2", order)]
    return [*looks, *give_credit(desk, ticket, order, cents, "missed_promotion")]


def credit_slow_claim(desk: Desk, ticket: Ticket, line: OrderLine, claim: WarrantyClaim) -> list[ToolCall]:
    """Compensation for a claim that takes long (LOY-3)."""
    claim, order = desk.state.get(WarrantyClaim, claim.id), desk.order(line)
    looks = [*opening(desk, order), call("get_warranty_claims", line_id=line.id), *read("LOY-3")]
    if (desk.today - claim.opened.date()).days <= desk.policy.claim_days:
        return [*looks, *decline(ticket, "LOY-3", claim)]
    cents = percent_of(desk.paid_cents(line, 1), desk.policy.claim_credit_percent)
    return [*looks, *give_credit(desk, ticket, order, cents, "goodwill")]


def give_credit(desk: Desk, ticket: Ticket, order: Order, cents: int, reason: CreditReason) -> list[ToolCall]:
    """Give store credit for an order, or decline where it was given before."""
    sections: dict[CreditReason, str] = {
        "price_match": "PRM-1",
        "missed_promotion": "PRM-2",
        "delay": "LOY-2",
        "goodwill": "LOY-3",
    }
    given = [c for c in desk.state.find(Credit, order_id=order.id) if c.reason == reason]
    if given:
        look = call("get_credits", customer_id=order.customer_id)
        return [look, *decline(ticket, sections[reason], given[0])]
    granted: dict[str, Json] = {
        "customer_id": order.customer_id,
        "order_id": order.id,
        "amount_cents": cents,
        "reason": reason,
    }
    return [call("give_credit", **granted), *closing_calls(ticket, f"You have {amount(cents)} of store credit.")]
