"""One of several pieces is faulty, and the order had a discount: its share of what was paid comes back."""

from palaestra.envs.kit import amount, permit_change
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront import answers
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls
from palaestra.envs.worlds.storefront.lookups import about_goods
from palaestra.envs.worlds.storefront.refusal_conditions import coming_back_already, on_hold
from palaestra.envs.worlds.storefront.schema import OrderLine, Refund, Ticket
from palaestra.envs.worlds.storefront.twins import order_refusal_task
from palaestra.records import Json
from palaestra.rubrics import expect_read, expect_row


@family("storefront/partial-refund", level=2, traits=("write", "arithmetic", "policy-exception"), twin=True)
def partial_refund(desk: Desk) -> Task:
    def fits(line: OrderLine) -> bool:
        discounted = line.quantity > 1 and desk.order(line).discount_cents > 0
        return discounted and desk.returnable(line) and desk.paid_cents(line, 1) <= desk.policy.agent_limit_cents

    line = desk.pick(OrderLine, fits, what="line of several pieces in a discounted order", decides=True)
    order, product, cents = desk.order(line), desk.product(line), desk.paid_cents(line, 1)
    customer = desk.customer(order)
    refund: dict[str, Json] = {"line_id": line.id, "quantity": 1, "amount_cents": cents, "reason": "faulty"}
    ticket = desk.ticket(customer, desk.word_subject("one-faulty", "It does not work"))
    bodies = (f"One of the {line.quantity} {product.name} from {order.id} is faulty. Please refund that one.",)
    body = desk.word_body("one-faulty", bodies, count=str(line.quantity), product=product.name, order=order.id)
    prompt = desk.mail(ticket, body)
    if desk.twin:
        return refusal(desk, ticket, prompt, line)
    desk.answer = lambda: answers.report_fault(desk, ticket, line, "faulty", fault="dead")
    return Task(
        prompt=prompt,
        rubric=[
            expect_read(line, id="saw-line"),
            desk.account(customer),
            desk.delivery(line),
            desk.read("RET-1"),
            desk.read("REF-3"),
            desk.own_limit(),
            expect_row(
                Refund,
                {**refund, "status": "paid"},
                id="refund",
                after=["saw-line", "saw-account", "knew-delivery", "read-RET-1", "read-REF-3", "read-REF-2"],
            ),
            *desk.expect_resolved(ticket, after=["refund"], states=cents),
        ],
        allow=[permit_change(line, "returned"), *desk.pays(order)],
        oracle=[
            *about_goods(order, line),
            call("read_handbook", section_id="REF-1"),
            call("read_handbook", section_id="REF-3"),
            call("compute_paid", line_id=line.id, quantity=1),
            call("read_handbook", section_id="REF-2"),
            call("issue_refund", **refund),
            *closing_calls(
                ticket, f"We have paid {amount(cents)} back for the faulty one; you need not send it to us."
            ),
        ],
        alternatives=[
            [
                *(call("read_handbook", section_id=section) for section in ("WHO-1", "REF-3", "RET-1")),
                call("get_order", order_id=order.id),
                call("get_shipments", order_id=order.id),
                call("get_customer", customer_id=customer.id),
                call("compute_paid", line_id=line.id, quantity=1),
                call("issue_refund", **refund),
                *closing_calls(ticket, f"The faulty one is refunded ({amount(cents)})."),
            ]
        ],
    )


def refusal(desk: Desk, ticket: Ticket, prompt: str, line: OrderLine) -> Task:
    order = desk.order(line)
    # No return of a clearance piece is authorised because of a change of mind (RET-3).
    coming = desk.stream.chance(50) and not desk.binds_final_sale(line)
    grounds = coming_back_already(desk, line) if coming else on_hold(desk, desk.customer(order))
    return order_refusal_task(desk, ticket, prompt, grounds, order, path=about_goods(order, line))
