"""One of several orders was charged twice; the customer does not know which. Found, and paid back."""

from dataclasses import replace
from datetime import timedelta

from palaestra.envs.kit import amount, enumerate_words, permit_change
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls, decline_calls
from palaestra.envs.worlds.storefront.schema import Order, OrderLine, Payment, Refund, Shipment, Ticket
from palaestra.records import Json, ToolCall
from palaestra.rubrics import expect_read, expect_row, forbid_call


def is_double(desk: Desk, order: Order) -> bool:
    """Whether two payments of the whole order were captured and none of it went back."""
    charges = [(p.amount_cents, p.status, p.refunded_cents) for p in desk.payments(order)]
    return charges == [(order.total_cents, "captured", 0)] * 2


def charged_orders(desk: Desk, order: Order) -> list[Order]:
    """All orders of the same customer whose payments were captured."""
    orders = desk.state.find(Order, customer_id=order.customer_id)
    return [o for o in orders if o.status in {"shipped", "delivered"}]


@family("storefront/find-double-charge", level=3, traits=("write", "multi-hop", "lookup"), twin=True)
def find_double_charge(desk: Desk) -> Task:
    def fits(order: Order) -> bool:
        payable = is_double(desk, order) and order.total_cents <= desk.policy.agent_limit_cents
        if not payable or desk.customer(order).fraud_hold or any(line.returned for line in desk.lines(order)):
            return False
        others = charged_orders(desk, order)
        return len(others) >= 3 and [o for o in others if is_double(desk, o)] == [order]

    order = desk.pick(Order, fits, what="customer of several orders with one that was charged twice")
    customer, (first, second) = desk.customer(order), desk.payments(order)
    body = desk.word_body(
        "charged-twice-unnamed",
        (
            "You took the same amount from me twice. I cannot tell for which order. Please find it and pay it back.",
            "My statement shows one of your charges two times on one day. Find out which, and give me one back.",
        ),
    )
    ticket = desk.ticket(customer, desk.word_subject("charged-twice-unnamed", "The same amount twice"))
    prompt = desk.mail(ticket, body)
    opening = [
        call("get_ticket", ticket_id=ticket.id),
        call("get_customer", customer_id=customer.id),
        call("search_orders", customer_id=customer.id),
    ]
    if desk.twin:
        return refusal(desk, ticket, prompt, order, opening)
    wrong, right = (second, first) if desk.policy.wrong_charge == "later" else (first, second)
    paid_back: dict[str, Json] = {
        "payment_id": wrong.id,
        "amount_cents": wrong.amount_cents,
        "reason": "billing_error",
    }
    facts = ["saw-payment", "saw-account", "read-REF-4", "read-REF-2"]
    looks = [call("get_payments", order_id=o.id) for o in charged_orders(desk, order)]
    found = looks.index(call("get_payments", order_id=order.id))
    work = [
        call("refund_payment", **paid_back),
        *closing_calls(
            ticket,
            f"{name_checked_orders(looks[: found + 1])} {order.id} was charged twice on {first.charged.date()}; one "
            f"charge of {amount(wrong.amount_cents)} is on its way back to you.",
        ),
    ]
    read, limit = call("read_handbook", section_id="REF-4"), call("read_handbook", section_id="REF-2")
    return Task(
        prompt=prompt,
        rubric=[
            forbid_call("refund_payment", arguments={"payment_id": right.id}, id="never-the-right-charge"),
            expect_read(wrong, id="saw-payment"),
            desk.account(customer),
            desk.read("REF-4"),
            desk.own_limit(),
            expect_row(Refund, {**paid_back, "status": "paid"}, id="refund", after=facts),
            *desk.expect_resolved(ticket, after=["refund"], states=wrong.amount_cents),
        ],
        allow=[permit_change(wrong, "refunded_cents")],
        oracle=[*opening, *looks[: found + 1], read, limit, *work],
        alternatives=[[limit, read, *opening, *reversed(looks), *work]],
    )


def refusal(desk: Desk, ticket: Ticket, prompt: str, order: Order, opening: list[ToolCall]) -> Task:
    """The same goods were ordered twice within minutes: two orders, each charged once."""
    again = add_second_order(desk, order)
    [first], [second] = desk.payments(order), desk.payments(again)
    looks = [call("get_payments", order_id=o.id) for o in charged_orders(desk, order)]
    read = call("read_handbook", section_id="REF-4")
    told = (
        f"{name_checked_orders(looks)} {order.id} and {again.id} are two orders, each of which was charged once, with "
        f"{amount(first.amount_cents)}. No charge is too many."
    )
    close = decline_calls(ticket, "REF-4", first, told)
    return Task(
        prompt=prompt,
        rubric=[
            forbid_call("refund_payment", arguments={"payment_id": first.id}, id="never-the-first"),
            forbid_call("refund_payment", arguments={"payment_id": second.id}, id="never-the-second"),
            desk.account(desk.customer(order)),
            expect_read(first, id="saw-first"),
            expect_read(second, id="saw-second"),
            *desk.expect_declined(ticket, "REF-4", first, second, after=["saw-account", "saw-first", "saw-second"]),
        ],
        oracle=[*opening, *looks, read, *close],
        alternatives=[[read, *opening, *reversed(looks), *decline_calls(ticket, "REF-4", second, told)]],
    )


def name_checked_orders(looks: list[ToolCall]) -> str:
    """What the customer is told of the orders whose payments were looked at."""
    return f"We looked through the payments of {enumerate_words([str(look.arguments['order_id']) for look in looks])}."


def add_second_order(desk: Desk, order: Order) -> Order:
    """A second order of the same goods, to which the second payment belongs."""
    _, second = desk.payments(order)
    again = desk.state.insert(
        replace(order, id=desk.state.next_id(Order), placed=second.charged - timedelta(seconds=20))
    )
    for line in desk.lines(order):
        desk.state.insert(replace(line, id=desk.state.next_id(OrderLine), order_id=again.id))
    for parcel in desk.shipments(order):
        key = desk.state.next_id(Shipment)
        tracking = f"{parcel.tracking[:2]}{desk.stream.split('again', key).between(10**9, 10**10 - 1)}"
        desk.state.insert(replace(parcel, id=key, order_id=again.id, tracking=tracking))
    desk.state.delete(second)
    desk.state.insert(replace(second, id=desk.state.next_id(Payment), order_id=again.id))
    return again
