"""Past the standard window but inside the one of the customer's tier: it may still come back."""

from palaestra.envs.kit import amount, permit_change
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront import answers, requests
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls
from palaestra.envs.worlds.storefront.lookups import about_goods
from palaestra.envs.worlds.storefront.refusal_conditions import arrived_too_long_ago, final_sale
from palaestra.envs.worlds.storefront.schema import OrderLine, Return, Ticket
from palaestra.envs.worlds.storefront.twins import order_refusal_task
from palaestra.records import Json
from palaestra.rubrics import expect_read, expect_row


@family("storefront/return-extended-window", level=2, traits=("write", "policy-exception"), twin=True)
def return_extended_window(desk: Desk) -> Task:
    def fits(line: OrderLine) -> bool:
        if line.opened or line.quantity > 1 or desk.binds_final_sale(line) or not desk.is_untouched(line):
            return False
        order = desk.order(line)
        days = desk.days_since_delivery(order) or 0
        return desk.policy.return_days["bronze"] < days and desk.last_return_day(order) >= desk.today

    line = desk.pick(OrderLine, fits, what="line inside an extended return window only", decides=True)
    order, product = desk.order(line), desk.product(line)
    customer, request = desk.customer(order), requests.send_back(desk, order, product)
    back: dict[str, Json] = {"line_id": line.id, "quantity": 1, "reason": "changed_mind", "fee_cents": 0}
    ticket = desk.ticket(customer, request.subject)
    facts = ["saw-line", "saw-account", "saw-product", "knew-delivery", "read-RET-1", "read-RET-2"]
    prompt = desk.mail(ticket, request.body)
    if desk.twin:
        return refusal(desk, ticket, prompt, line)
    desk.answer = lambda: answers.send_back(desk, ticket, line)
    return Task(
        prompt=prompt,
        rubric=[
            expect_read(line, id="saw-line"),
            desk.account(customer),
            expect_read(product, fields=["final_sale"], id="saw-product"),
            desk.delivery(line),
            desk.read("RET-1"),
            desk.read("RET-2"),
            expect_row(Return, {**back, "status": "authorised"}, id="return", after=facts),
            *desk.expect_resolved(ticket, after=["return"]),
        ],
        allow=[permit_change(line, "returned")],
        oracle=[
            *about_goods(order, line),
            call("read_handbook", section_id="RET-2"),
            call("authorise_return", **back),
            *closing_calls(
                ticket,
                "You are inside your return window. Please send it back; "
                f"{amount(desk.paid_cents(line, 1))} are yours once it is here.",
            ),
        ],
        alternatives=[
            [
                call("read_handbook", section_id="RET-2"),
                call("read_handbook", section_id="RET-1"),
                call("get_ticket", ticket_id=ticket.id),
                call("get_customer", customer_id=customer.id),
                call("get_order", order_id=order.id),
                call("get_shipments", order_id=order.id),
                call("get_product", product_id=product.id),
                call("authorise_return", **back),
                call("resolve_ticket", ticket_id=ticket.id),
                call("reply", message="You may return it; your money follows once it is here."),
                call("finish"),
            ]
        ],
    )


def refusal(desk: Desk, ticket: Ticket, prompt: str, line: OrderLine) -> Task:
    desk.answer = lambda: answers.send_back(desk, ticket, line)
    late = desk.stream.chance(50) or not desk.would_bind(line)
    grounds = arrived_too_long_ago(desk, line) if late else final_sale(desk, desk.product(line))
    order = desk.order(line)
    return order_refusal_task(desk, ticket, prompt, grounds, order, path=about_goods(order, line))
