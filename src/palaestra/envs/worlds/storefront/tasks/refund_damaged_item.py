"""It arrived broken, or does not work, inside the return window: what was paid for it comes back, in full."""

from palaestra.envs.kit import permit_change
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront import requests
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls
from palaestra.envs.worlds.storefront.refusal_conditions import on_hold, paid_back_already, written_from_elsewhere
from palaestra.envs.worlds.storefront.schema import OrderLine, Refund, RefundReason, Ticket
from palaestra.envs.worlds.storefront.twins import order_refusal_task
from palaestra.records import Json
from palaestra.rubrics import expect_read, expect_row


@family("storefront/refund-damaged-item", level=2, traits=("write", "arithmetic"), twin=True)
def refund_damaged_item(desk: Desk) -> Task:
    def fits(line: OrderLine) -> bool:
        return line.quantity == 1 and desk.returnable(line) and desk.paid(line, 1) <= desk.policy.agent_limit_cents

    line = desk.pick(OrderLine, fits, what="single piece inside its return window")
    order, product, amount = desk.order(line), desk.product(line), desk.paid(line, 1)
    customer, works = desk.customer(order), desk.stream.chance(50)
    if works:
        request = requests.damaged(desk.stream, order, product)
    else:
        request = requests.faulty(desk.stream, order, product, requests.fault_of(desk.stream, product))
    reason: RefundReason = "damaged" if works else "faulty"
    ticket = desk.ticket(customer, request.subject)
    prompt = desk.mail(ticket, request.body)
    if desk.twin:
        return refusal(desk, ticket, prompt, line, reason)
    refund: dict[str, Json] = {"line_id": line.id, "quantity": 1, "amount_cents": amount, "reason": reason}
    facts = ["saw-line", "saw-account", "knew-delivery", "read-RET-1", "read-REF-1"]
    return Task(
        prompt=prompt,
        rubric=[
            expect_read(line, id="saw-line"),
            desk.account(customer),
            desk.delivery(line),
            desk.read("RET-1"),
            desk.read("REF-1"),
            expect_row(Refund, {**refund, "status": "paid"}, id="refund", after=facts),
            *desk.resolved(ticket, after=["refund"]),
        ],
        allow=[permit_change(line, "returned"), *desk.pays(order)],
        oracle=[
            call("get_order", order_id=order.id),
            call("get_customer", customer_id=customer.id),
            call("get_product", product_id=product.id),
            call("compute_return_window", line_id=line.id),
            call("read_handbook", section_id="RET-1"),
            call("read_handbook", section_id="REF-1"),
            call("compute_paid", line_id=line.id, quantity=1),
            call("issue_refund", **refund),
            *closing_calls(ticket, f"We have paid {amount} cents back."),
        ],
        alternatives=[
            [
                call("read_handbook", section_id="REF-1"),
                call("read_handbook", section_id="RET-1"),
                call("get_order", order_id=order.id),
                call("get_shipments", order_id=order.id),
                call("get_customer", customer_id=customer.id),
                call("issue_refund", **refund),
                *closing_calls(ticket, "Your money is on its way."),
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
    return order_refusal_task(desk, ticket, prompt, grounds, order)
