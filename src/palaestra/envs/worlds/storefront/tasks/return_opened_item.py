"""Opened, and no longer wanted: a restocking fee is kept, except from platinum customers."""

from palaestra.envs.kit import permit_change
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront import answers, requests
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls
from palaestra.envs.worlds.storefront.lookups import about_goods
from palaestra.envs.worlds.storefront.policy import restocking_fee
from palaestra.envs.worlds.storefront.refusal_conditions import coming_back_already, final_sale
from palaestra.envs.worlds.storefront.restocking import explain_fee, restocking_calls
from palaestra.envs.worlds.storefront.schema import OrderLine, Return, Ticket
from palaestra.envs.worlds.storefront.twins import order_refusal_task
from palaestra.records import Json
from palaestra.rubrics import expect_read, expect_row


@family("storefront/return-opened-item", level=2, traits=("write", "arithmetic", "policy-exception"), twin=True)
def return_opened_item(desk: Desk) -> Task:
    exempt = desk.stream.chance(50)

    def fits(line: OrderLine) -> bool:
        opened = line.opened and line.quantity == 1 and not desk.binds_final_sale(line)
        free = desk.policy.fee_free_tiers
        wanted = (desk.customer(desk.order(line)).tier in free) == (exempt and bool(free))
        return opened and desk.returnable(line) and wanted

    line = desk.pick(OrderLine, fits, what="opened piece inside its return window", decides=True)
    order, product, paid = desk.order(line), desk.product(line), desk.paid_cents(line, 1)
    customer, request = desk.customer(order), requests.send_back(desk, order, product)
    fee = restocking_fee(desk.policy, customer.tier, paid, opened=True, change_of_mind=True)
    back: dict[str, Json] = {"line_id": line.id, "quantity": 1, "reason": "changed_mind", "fee_cents": fee}
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
            *desk.expect_resolved(ticket, after=["return"], states=fee or None),
        ],
        allow=[permit_change(line, "returned")],
        oracle=[
            *about_goods(order, line),
            *restocking_calls(desk, line),
            call("authorise_return", **back),
            *closing_calls(ticket, f"Please send it back. {explain_fee(paid, fee)}"),
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
                call("reply", message=f"You may return it. {explain_fee(paid, fee)}"),
                call("finish"),
            ]
        ],
    )


def refusal(desk: Desk, ticket: Ticket, prompt: str, line: OrderLine) -> Task:
    coming = desk.stream.chance(50) or not desk.would_bind(line)
    if not coming:
        desk.answer = lambda: answers.send_back(desk, ticket, line)
    grounds = coming_back_already(desk, line) if coming else final_sale(desk, desk.product(line))
    order = desk.order(line)
    return order_refusal_task(desk, ticket, prompt, grounds, order, path=about_goods(order, line))
