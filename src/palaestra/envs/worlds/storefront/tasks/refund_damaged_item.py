"""It arrived broken, or does not work, inside the return window: what was paid for it comes back, in full."""

from typing import Literal

from palaestra.envs.kit import amount, permit_change
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront import answers, requests
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls
from palaestra.envs.worlds.storefront.lookups import about_refund
from palaestra.envs.worlds.storefront.refusal_conditions import on_hold, paid_back_already, written_from_elsewhere
from palaestra.envs.worlds.storefront.schema import Fault, OrderLine, Refund, RefundReason, Ticket
from palaestra.envs.worlds.storefront.twins import order_refusal_task
from palaestra.records import Json
from palaestra.rubrics import expect_read, expect_row


@family("storefront/refund-damaged-item", level=2, traits=("write", "arithmetic"), twin=True)
def refund_damaged_item(desk: Desk) -> Task:
    def fits(line: OrderLine) -> bool:
        return (
            line.quantity == 1 and desk.returnable(line) and desk.paid_cents(line, 1) <= desk.policy.agent_limit_cents
        )

    line = desk.pick(OrderLine, fits, what="single piece inside its return window", decides=True)
    order, product, cents = desk.order(line), desk.product(line), desk.paid_cents(line, 1)
    customer, works = desk.customer(order), desk.stream.chance(50)
    fault: Fault | None = None
    if works:
        request = requests.damage_report(desk, order, product)
    else:
        fault = requests.fault_of(desk.stream, product)
        request = requests.faulty(desk, order, product, fault)
    reason: RefundReason = "damaged" if works else "faulty"
    ticket = desk.ticket(customer, request.subject)
    prompt = desk.mail(ticket, request.body)
    if desk.twin:
        return refusal(desk, ticket, prompt, line, reason)
    kind: Literal["damaged", "faulty"] = "damaged" if works else "faulty"
    desk.answer = lambda: answers.report_fault(desk, ticket, line, kind, fault=fault)
    refund: dict[str, Json] = {"line_id": line.id, "quantity": 1, "amount_cents": cents, "reason": reason}
    facts = ["saw-line", "saw-account", "knew-delivery", "read-RET-1", "read-REF-1", "read-REF-2"]
    return Task(
        prompt=prompt,
        rubric=[
            expect_read(line, id="saw-line"),
            desk.account(customer),
            desk.delivery(line),
            desk.read("RET-1"),
            desk.read("REF-1"),
            desk.own_limit(),
            expect_row(Refund, {**refund, "status": "paid"}, id="refund", after=facts),
            *desk.expect_resolved(ticket, after=["refund"], states=cents),
        ],
        allow=[permit_change(line, "returned"), *desk.pays(order)],
        oracle=[
            *about_refund(order, line, 1),
            call("issue_refund", **refund),
            *closing_calls(ticket, f"We have paid {amount(cents)} back; you need not send anything."),
        ],
        alternatives=[
            [
                call("read_handbook", section_id="WHO-1"),
                call("read_handbook", section_id="REF-1"),
                call("read_handbook", section_id="RET-1"),
                call("get_order", order_id=order.id),
                call("get_shipments", order_id=order.id),
                call("get_customer", customer_id=customer.id),
                call("issue_refund", **refund),
                *closing_calls(ticket, f"Your money is on its way: {amount(cents)}."),
            ]
        ],
    )


def refusal(desk: Desk, ticket: Ticket, prompt: str, line: OrderLine, reason: RefundReason) -> Task:
    order, why = desk.order(line), desk.stream.below(3)
    if why == 0:
        grounds = paid_back_already(desk, line, reason)
    elif why == 1:
        grounds = written_from_elsewhere(desk, desk.customer(order))
    else:
        grounds = on_hold(desk, desk.customer(order))
    return order_refusal_task(desk, ticket, prompt, grounds, order, path=about_refund(order, line, 1))
