"""Goods are on their way back: the case waits for them, and what has arrived by then is paid, once."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta

from palaestra.envs.kit import amount, enumerate_words
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront import requests
from palaestra.envs.worlds.storefront.aftersales import add_return
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls, decline_calls
from palaestra.envs.worlds.storefront.planting import arrival, cheap, sell
from palaestra.envs.worlds.storefront.schema import Customer, Order, Refund, Return, Ticket
from palaestra.envs.worlds.storefront.waiting import (
    Meanwhile,
    draw_days,
    expect_account,
    expect_look,
    for_each,
    forbid_longer,
    list_ids,
    meanwhile,
    pick_customer,
    wait,
)
from palaestra.records import Json, ToolCall
from palaestra.rubrics import Criterion, expect_read, expect_row, forbid_call

DEAREST = 9_000
ORDERS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class SentBack:
    """Orders whose goods are on their way back, as the customer names them."""

    customer: Customer
    orders: Sequence[Order]
    arriving: Sequence[Return]
    """The returns that arrive while the case waits."""
    missing: Return
    """The return that does not."""
    days: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """What the case finds after its wait."""

    received: Sequence[Return]
    paid: Sequence[Refund]
    """What a colleague has paid for them."""


@family(
    "storefront/await-returns",
    level=3,
    traits=("write", "multi-hop", "policy-exception", "long"),
    splits=("train", "dev", "heldout", "heldout-records"),
    twin=True,
)
def await_returns(desk: Desk) -> Task:
    back = send_back(desk)
    request = requests.returns_under_way(desk, list_ids(back.orders), back.days)
    ticket = desk.ticket(back.customer, request.subject)
    prompt = desk.mail(ticket, request.body)
    found = meanwhile(desk, back.days, "goods come back", lambda: arrive(desk, back))
    opening = [
        *for_each("get_order", back.orders),
        call("get_customer", customer_id=back.customer.id),
        *for_each("get_returns", back.orders),
        call("read_handbook", section_id="RET-5"),
        call("read_handbook", section_id="TCK-1"),
        wait(back.days),
        call("get_customer", customer_id=back.customer.id),
        *for_each("get_returns", back.orders),
        *for_each("get_refunds", [desk.state.get(Order, r.order_id) for r in back.arriving]),
    ]
    if desk.twin:
        return refusal(desk, ticket, prompt, back, found, opening)
    due = [payment_for(desk, r) for r in back.arriving]
    seen = [
        expect_look(r, ["status"], days=back.days, id=f"saw-arrival-{n}") for n, r in enumerate(found.made.received, 1)
    ]
    facts = ["saw-account", "read-RET-5", "read-REF-2", "read-TCK-1"]
    paid = [f"{amount(r.refund_due_cents)} for {r.order_id}" for r in back.arriving]
    told = (
        f"We have paid you {enumerate_words(paid)}. "
        f"What you sent back from {back.missing.order_id} has not arrived yet; it is paid once it has."
    )
    work = [*(call("refund_payment", **d) for d in due), *closing_calls(ticket, told)]
    looks = [call("get_payments", order_id=r.order_id) for r in back.arriving]
    limit = call("read_handbook", section_id="REF-2")
    return Task(
        prompt=prompt,
        rubric=[
            forbid_longer(back.days),
            expect_account(desk, back.customer, back.days),
            *(desk.read(section) for section in ("RET-5", "TCK-1")),
            desk.own_limit(),
            *seen,
            saw_missing(back),
            *(
                expect_row(Refund, d, id=f"refund-{n}", after=[*facts, f"saw-arrival-{n}"])
                for n, d in enumerate(due, 1)
            ),
            *desk.expect_resolved(
                ticket,
                after=["saw-missing", *(f"refund-{n}" for n in range(1, len(due) + 1))],
                states=tuple(r.refund_due_cents for r in back.arriving),
            ),
        ],
        allow=[allowed for r in back.arriving for allowed in desk.pays(desk.state.get(Order, r.order_id))],
        oracle=[*opening, *looks, limit, *work],
        alternatives=[
            [
                limit,
                call("read_handbook", section_id="TCK-1"),
                call("read_handbook", section_id="RET-5"),
                *for_each("get_order", back.orders),
                *looks,
                call("reply", message="We keep your ticket open until then."),
                wait(back.days - 1),
                wait(1),
                call("get_customer", customer_id=back.customer.id),
                *reversed(for_each("get_returns", back.orders)),
                *reversed(work[: len(due)]),
                *work[len(due) :],
            ]
        ],
        later=[found.event],
        max_turns=50,
    )


def saw_missing(back: SentBack) -> Criterion:
    """Expect a look at the return that has not arrived, once the others have."""
    return expect_look(back.missing, ["status"], days=back.days, id="saw-missing")


def send_back(desk: Desk) -> SentBack:
    """Add orders of one customer that arrived lately, and a return of each that is on its way."""
    customer = pick_customer(desk, ORDERS, DEAREST)
    days, late = draw_days(desk), desk.stream.below(ORDERS)
    goods = desk.stream.sample(cheap(desk, below=DEAREST), ORDERS)
    orders: list[Order] = []
    returns: list[Return] = []
    for n, product in enumerate(goods):
        order = sell(desk, customer, [(product, 1)], arrival(desk, desk.today - timedelta(days=4 + n)))
        [line] = desk.lines(order)
        returns.append(add_return(desk, desk.state.update(line, opened=desk.stream.chance(50)), "authorised"))
        orders.append(order)
    return SentBack(
        customer=desk.state.get(Customer, customer.id),
        orders=orders,
        arriving=[r for n, r in enumerate(returns) if n != late],
        missing=returns[late],
        days=days,
    )


def arrive(desk: Desk, back: SentBack) -> Arrival:
    """The warehouse receives all returns but one; for the twin, a colleague pays for them at once."""
    received = [desk.state.update(r, status="received") for r in back.arriving]
    return Arrival(received=received, paid=[pay(desk, r) for r in received] if desk.twin else ())


def pay(desk: Desk, back: Return) -> Refund:
    """Pay what is due for a return, as a colleague does it on the day before."""
    [payment] = desk.payments(desk.state.get(Order, back.order_id))
    desk.state.update(payment, refunded_cents=back.refund_due_cents)
    return desk.state.insert(
        Refund(
            id=desk.state.next_id(Refund),
            order_id=back.order_id,
            line_id=None,
            payment_id=payment.id,
            quantity=0,
            amount_cents=back.refund_due_cents,
            reason="changed_mind",
            status="paid",
            approver_id=None,
            created=datetime.combine(desk.today - timedelta(days=1), time(16, 45)),
        )
    )


def payment_for(desk: Desk, back: Return) -> dict[str, Json]:
    """What is paid for a return that has arrived."""
    [payment] = desk.payments(desk.state.get(Order, back.order_id))
    return {"payment_id": payment.id, "amount_cents": back.refund_due_cents, "reason": "changed_mind"}


def refusal(
    desk: Desk, ticket: Ticket, prompt: str, back: SentBack, found: Meanwhile[Arrival], opening: list[ToolCall]
) -> Task:
    """A colleague has paid for all that has arrived."""
    paid = found.made.paid
    seen = [expect_read(refund, id=f"saw-refund-{n}") for n, refund in enumerate(paid, 1)]
    facts = ["saw-account", "read-TCK-1", "saw-missing", *(c.id for c in seen)]
    sums = [f"{amount(refund.amount_cents)} for {refund.order_id}" for refund in paid]
    told = (
        f"What has arrived was paid on {paid[0].created.date()}: {enumerate_words(sums)}. What you sent back from "
        f"{back.missing.order_id} is not here yet, so nothing is paid for it."
    )
    return Task(
        prompt=prompt,
        rubric=[
            forbid_longer(back.days),
            forbid_call("refund_payment", "issue_refund", id="never-paid"),
            expect_account(desk, back.customer, back.days),
            desk.read("TCK-1"),
            *seen,
            saw_missing(back),
            *desk.expect_declined(ticket, "RET-5", *paid, back.missing, after=facts),
        ],
        oracle=[*opening, *decline_calls(ticket, "RET-5", paid[0], told)],
        alternatives=[
            [
                call("read_handbook", section_id="RET-5"),
                call("read_handbook", section_id="TCK-1"),
                *for_each("get_order", back.orders),
                wait(back.days),
                call("get_customer", customer_id=back.customer.id),
                *for_each("get_returns", back.orders),
                *for_each("get_refunds", back.orders),
                *decline_calls(ticket, "RET-5", back.missing, told),
            ]
        ],
        later=[found.event],
        max_turns=50,
    )
