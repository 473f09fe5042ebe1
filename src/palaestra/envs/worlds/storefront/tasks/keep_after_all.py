"""A return was authorised, and the customer would rather keep the goods: it is cancelled while nothing has arrived."""

from palaestra.envs.kit import permit_change
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront import requests
from palaestra.envs.worlds.storefront.aftersales import add_return
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls
from palaestra.envs.worlds.storefront.refusal_conditions import received_already, written_from_elsewhere
from palaestra.envs.worlds.storefront.schema import OrderLine, Return, Ticket
from palaestra.envs.worlds.storefront.twins import order_refusal_task
from palaestra.rubrics import expect_change, expect_read


@family("storefront/keep-after-all", level=2, traits=("write", "policy-exception"), twin=True)
def keep_after_all(desk: Desk) -> Task:
    def fits(line: OrderLine) -> bool:
        return desk.returnable(line) and not desk.product(line).final_sale

    def others(line: OrderLine) -> list[OrderLine]:
        return [x for x in desk.lines(desk.order(line)) if x.id != line.id and fits(x)]

    line = desk.pick(OrderLine, lambda x: fits(x) and bool(others(x)), what="order with two lines to be returned")
    order, product = desk.order(line), desk.product(line)
    customer, request = desk.customer(order), requests.keep_it(desk, order, product)
    planted = [line, desk.stream.choice(others(line))]
    # Which of the two returns is meant must not follow from their ids.
    returns = {x.id: add_return(desk, x, "authorised") for x in desk.stream.permutation(planted)}
    back = returns[line.id]
    ticket = desk.ticket(customer, request.subject)
    prompt = desk.mail(ticket, request.body)
    if desk.twin:
        return refusal(desk, ticket, prompt, line, back)
    facts = ["saw-return", "saw-line", "saw-account", "read-RET-5"]
    return Task(
        prompt=prompt,
        rubric=[
            expect_read(line, id="saw-line"),
            expect_read(back, id="saw-return"),
            desk.account(customer),
            desk.read("RET-5"),
            expect_change(back, {"status": "cancelled"}, id="cancelled", after=facts),
            *desk.expect_resolved(ticket, after=["cancelled"]),
        ],
        allow=[permit_change(line, "returned")],
        oracle=[
            call("get_order", order_id=order.id),
            call("get_customer", customer_id=customer.id),
            call("get_returns", order_id=order.id),
            call("read_handbook", section_id="RET-5"),
            call("cancel_return", return_id=back.id),
            *closing_calls(ticket, f"Your return {back.id} is cancelled; please keep it."),
        ],
        alternatives=[
            [
                call("read_handbook", section_id="RET-5"),
                call("get_returns", order_id=order.id),
                call("get_order", order_id=order.id),
                call("search_products", query=product.name),
                call("get_ticket", ticket_id=ticket.id),
                call("get_customer", customer_id=customer.id),
                call("cancel_return", return_id=back.id),
                call("resolve_ticket", ticket_id=ticket.id),
                call("reply", message="It is yours to keep."),
                call("finish"),
            ]
        ],
    )


def refusal(desk: Desk, ticket: Ticket, prompt: str, line: OrderLine, back: Return) -> Task:
    order = desk.order(line)
    received = desk.stream.chance(50)
    grounds = received_already(desk, back) if received else written_from_elsewhere(desk, desk.customer(order))
    return order_refusal_task(desk, ticket, prompt, grounds, order)
