"""A refund left out the order's discount twice: what is missing is worked out and paid."""

from palaestra.envs.kit import amount, calculation
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront import requests
from palaestra.envs.worlds.storefront.aftersales import add_refund
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls
from palaestra.envs.worlds.storefront.lookups import about_order
from palaestra.envs.worlds.storefront.refusal_conditions import refund_was_right, rest_paid_already
from palaestra.envs.worlds.storefront.schema import Order, OrderLine, Refund, Ticket
from palaestra.envs.worlds.storefront.twins import order_refusal_task
from palaestra.records import Json, ToolCall
from palaestra.rubrics import expect_any, expect_call, expect_read, expect_row

LEAST_CENTS = 100
"""What is missing at least."""


def share(desk: Desk, line: OrderLine) -> int:
    """What one piece of a line cost less than its list price."""
    return line.unit_cents - desk.paid_cents(line, 1)


@family("storefront/short-refund", level=3, traits=("write", "arithmetic", "multi-hop", "policy-exception"), twin=True)
def short_refund(desk: Desk) -> Task:
    def fits(line: OrderLine) -> bool:
        payable = desk.paid_cents(line, 1) <= desk.policy.agent_limit_cents and desk.returnable(line)
        return payable and line.quantity == 1 and LEAST_CENTS <= share(desk, line) < desk.paid_cents(line, 1)

    line = desk.pick(OrderLine, fits, what="returnable piece of a discounted order")
    order, product, [payment] = desk.order(line), desk.product(line), desk.payments(desk.order(line))
    due, missing = desk.paid_cents(line, 1), share(desk, line)
    refund = add_refund(desk, payment, due - missing, "damaged", line=line, pieces=1)
    desk.state.update(line, returned=1)
    customer, request = desk.customer(order), requests.too_little(desk, order, product)
    ticket = desk.ticket(customer, request.subject)
    prompt = desk.mail(ticket, request.body)
    path = [
        *about_order(order),
        call("get_refunds", order_id=order.id),
        call("read_handbook", section_id="REF-3"),
        call("compute_paid", line_id=line.id, quantity=1),
    ]
    if desk.twin:
        return refusal(desk, ticket, prompt, refund, due, path)
    less, _ = calculation("difference", due, refund.amount_cents)
    rest: dict[str, Json] = {"payment_id": payment.id, "amount_cents": missing, "reason": "billing_error"}
    price = expect_any(expect_read(line), expect_call("compute_paid", arguments={"line_id": line.id}), id="knew-price")
    facts = ["knew-price", "saw-refund", "saw-account", "read-REF-3", "read-REF-2"]
    return Task(
        prompt=prompt,
        rubric=[
            price,
            expect_read(refund, id="saw-refund"),
            desk.account(customer),
            desk.read("REF-3"),
            desk.own_limit(),
            expect_row(Refund, {**rest, "status": "paid"}, id="rest", after=facts),
            *desk.expect_resolved(ticket, after=["rest"], states=missing),
        ],
        allow=desk.pays(order),
        oracle=[
            *path,
            less,
            call("read_handbook", section_id="REF-2"),
            call("refund_payment", **rest),
            *closing_calls(ticket, f"The refund was too small by {amount(missing)}, which are on their way to you."),
        ],
        alternatives=[
            [
                call("read_handbook", section_id="REF-2"),
                call("read_handbook", section_id="REF-3"),
                call("get_refunds", order_id=order.id),
                call("get_order", order_id=order.id),
                call("get_ticket", ticket_id=ticket.id),
                call("get_customer", customer_id=customer.id),
                call("get_payments", order_id=order.id),
                call("refund_payment", **rest),
                call("resolve_ticket", ticket_id=ticket.id),
                call("reply", message=f"You are right, and the rest of {amount(missing)} is on its way."),
                call("finish"),
            ]
        ],
    )


def refusal(desk: Desk, ticket: Ticket, prompt: str, refund: Refund, due: int, path: list[ToolCall]) -> Task:
    right = desk.stream.chance(50)
    grounds = refund_was_right(desk, refund, due) if right else rest_paid_already(desk, refund, due)
    return order_refusal_task(desk, ticket, prompt, grounds, desk.state.get(Order, refund.order_id), path=path)
