"""Something else was in the box: what was paid for those pieces comes back, and nothing has to be sent."""

from palaestra.envs.kit import amount, permit_change
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront import answers, requests
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls
from palaestra.envs.worlds.storefront.lookups import about_refund
from palaestra.envs.worlds.storefront.refusal_conditions import arrived_too_long_ago, on_hold
from palaestra.envs.worlds.storefront.schema import OrderLine, Refund, Ticket
from palaestra.envs.worlds.storefront.twins import order_refusal_task
from palaestra.records import Json
from palaestra.rubrics import expect_read, expect_row


@family("storefront/wrong-item", level=2, traits=("write", "arithmetic", "policy-exception"), twin=True)
def wrong_item(desk: Desk) -> Task:
    def fits(line: OrderLine) -> bool:
        return desk.returnable(line) and desk.paid_cents(line, line.quantity) <= desk.policy.agent_limit_cents

    line = desk.pick(OrderLine, fits, what="line inside its return window", decides=True)
    order, product, pieces = desk.order(line), desk.product(line), desk.stream.between(1, line.quantity)
    customer, cents = desk.customer(order), desk.paid_cents(line, pieces)
    request = requests.another_in_the_box(desk, order, product, wrong=pieces, of=line.quantity)
    ticket = desk.ticket(customer, request.subject)
    prompt = desk.mail(ticket, request.body)
    if desk.twin:
        return refusal(desk, ticket, prompt, line, pieces)
    desk.answer = lambda: answers.report_fault(desk, ticket, line, "wrong_item", pieces=pieces)
    refund: dict[str, Json] = {
        "line_id": line.id,
        "quantity": pieces,
        "amount_cents": cents,
        "reason": "wrong_item",
    }
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
            *about_refund(order, line, pieces),
            call("issue_refund", **refund),
            *closing_calls(ticket, f"We are sorry. We have paid {amount(cents)} back; you need not send anything."),
        ],
        alternatives=[
            [
                call("read_handbook", section_id="WHO-1"),
                call("read_handbook", section_id="REF-1"),
                call("read_handbook", section_id="RET-1"),
                call("get_ticket", ticket_id=ticket.id),
                call("get_customer", customer_id=customer.id),
                call("get_order", order_id=order.id),
                call("get_shipments", order_id=order.id),
                call("issue_refund", **refund),
                call("resolve_ticket", ticket_id=ticket.id),
                call("reply", message=f"It was our mistake, and {amount(cents)} are on their way."),
                call("finish"),
            ]
        ],
    )


def refusal(desk: Desk, ticket: Ticket, prompt: str, line: OrderLine, pieces: int) -> Task:
    order = desk.order(line)
    late = desk.stream.chance(50)
    if late:
        desk.answer = lambda: answers.report_fault(desk, ticket, line, "wrong_item", pieces=pieces)
    grounds = arrived_too_long_ago(desk, line) if late else on_hold(desk, desk.customer(order))
    return order_refusal_task(desk, ticket, prompt, grounds, order, path=about_refund(order, line, pieces))
