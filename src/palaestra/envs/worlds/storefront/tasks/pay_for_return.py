"""Goods came back and nobody paid for them: what the return says is due goes to the order's payment."""

from palaestra.envs.kit import amount
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront import requests
from palaestra.envs.worlds.storefront.aftersales import add_return
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls
from palaestra.envs.worlds.storefront.lookups import about_order
from palaestra.envs.worlds.storefront.refusal_conditions import not_received, return_paid_already
from palaestra.envs.worlds.storefront.schema import Order, OrderLine, Refund, Return, Ticket
from palaestra.envs.worlds.storefront.twins import order_refusal_task
from palaestra.records import Json, ToolCall
from palaestra.rubrics import expect_read, expect_row


@family("storefront/pay-for-return", level=2, traits=("write", "multi-hop", "policy-exception"), twin=True)
def pay_for_return(desk: Desk) -> Task:
    def fits(line: OrderLine) -> bool:
        payable = desk.paid_cents(line, line.quantity) <= desk.policy.agent_limit_cents
        return payable and line.opened and desk.returnable(line) and not desk.product(line).final_sale

    line = desk.pick(OrderLine, fits, what="opened line inside its return window")
    order, product, [payment] = desk.order(line), desk.product(line), desk.payments(desk.order(line))
    customer, request = desk.customer(order), requests.money_for_return(desk, order, product)
    back = add_return(desk, line, "received")
    ticket = desk.ticket(customer, request.subject)
    prompt = desk.mail(ticket, request.body)
    if desk.twin:
        return refusal(desk, ticket, prompt, line, back)
    due: dict[str, Json] = {
        "payment_id": payment.id,
        "amount_cents": back.refund_due_cents,
        "reason": "changed_mind",
    }
    facts = ["saw-return", "saw-account", "saw-payment", "read-RET-5", "read-REF-2"]
    return Task(
        prompt=prompt,
        rubric=[
            expect_read(back, id="saw-return"),
            desk.account(customer),
            expect_read(payment, id="saw-payment"),
            desk.read("RET-5"),
            desk.own_limit(),
            expect_row(Refund, {**due, "status": "paid"}, id="refund", after=facts),
            *desk.expect_resolved(ticket, after=["refund"], states=back.refund_due_cents),
        ],
        allow=desk.pays(order),
        oracle=[
            *path_of(order),
            call("read_handbook", section_id="REF-2"),
            call("refund_payment", **due),
            *closing_calls(ticket, f"It has arrived, and {amount(back.refund_due_cents)} are on their way to you."),
        ],
        alternatives=[
            [
                call("read_handbook", section_id="REF-2"),
                call("read_handbook", section_id="RET-5"),
                call("get_returns", order_id=order.id),
                call("get_payments", order_id=order.id),
                call("get_ticket", ticket_id=ticket.id),
                call("get_customer", customer_id=customer.id),
                call("refund_payment", **due),
                call("resolve_ticket", ticket_id=ticket.id),
                call("reply", message=f"We have paid you the {amount(back.refund_due_cents)} that are due for it."),
                call("finish"),
            ]
        ],
    )


def path_of(order: Order) -> list[ToolCall]:
    """What is looked up, in order."""
    return [
        *about_order(order),
        call("get_returns", order_id=order.id),
        call("read_handbook", section_id="RET-5"),
        call("get_refunds", order_id=order.id),
        call("get_payments", order_id=order.id),
    ]


def refusal(desk: Desk, ticket: Ticket, prompt: str, line: OrderLine, back: Return) -> Task:
    grounds = return_paid_already(desk, back) if desk.stream.chance(50) else not_received(desk, back)
    order = desk.order(line)
    return order_refusal_task(desk, ticket, prompt, grounds, order, path=path_of(order))
