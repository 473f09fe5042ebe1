"""Send it elsewhere: one write, while the order has not left."""

from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront import requests
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls
from palaestra.envs.worlds.storefront.refusal_conditions import cancelled_already, left_already, written_from_elsewhere
from palaestra.envs.worlds.storefront.schema import Order, Ticket
from palaestra.envs.worlds.storefront.twins import order_refusal_task
from palaestra.rubrics import expect_change, expect_read


@family("storefront/change-address", level=1, traits=("write",), twin=True)
def change_address(desk: Desk) -> Task:
    order = desk.pick(Order, lambda o: o.status == "processing" and desk.plain(o), what="order that has not left")
    customer = desk.customer(order)
    request, (street, city) = requests.redirect(desk, order)
    where = {"ship_street": street, "ship_city": city}
    ticket = desk.ticket(customer, request.subject)
    prompt = desk.mail(ticket, request.body)
    if desk.twin:
        return refusal(desk, ticket, prompt, order)
    return Task(
        prompt=prompt,
        rubric=[
            expect_read(order, fields=["status"], id="saw-order"),
            desk.account(customer),
            desk.read("SHP-2"),
            expect_change(order, where, id="address", after=["saw-order", "saw-account", "read-SHP-2"]),
            *desk.expect_resolved(ticket, after=["address"]),
        ],
        oracle=[
            call("get_order", order_id=order.id),
            call("get_customer", customer_id=customer.id),
            call("read_handbook", section_id="SHP-2"),
            call("update_shipping_address", order_id=order.id, street=street, city=city),
            *closing_calls(ticket, f"We will send {order.id} to {street}, {city}."),
        ],
        alternatives=[
            [
                call("get_ticket", ticket_id=ticket.id),
                call("get_customer", customer_id=customer.id),
                call("read_handbook", section_id="SHP-2"),
                call("get_order", order_id=order.id),
                call("update_shipping_address", order_id=order.id, street=street, city=city),
                call("resolve_ticket", ticket_id=ticket.id),
                call("reply", message="It will go to the other address."),
                call("finish"),
            ]
        ],
    )


def refusal(desk: Desk, ticket: Ticket, prompt: str, order: Order) -> Task:
    reason = desk.stream.below(3)
    if reason == 0:
        grounds = left_already(desk, order)
    elif reason == 1:
        grounds = cancelled_already(desk, order)
    else:
        grounds = written_from_elsewhere(desk, desk.customer(order))
    return order_refusal_task(desk, ticket, prompt, grounds, order)
