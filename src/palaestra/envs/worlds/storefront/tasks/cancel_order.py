"""Cancel an order that has not left."""

from palaestra.envs.kit import Work, grant_task, permit_change
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront import requests
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.refusal_conditions import left_already, on_hold
from palaestra.envs.worlds.storefront.schema import Order, Ticket
from palaestra.envs.worlds.storefront.twins import order_refusal_task
from palaestra.rubrics import Allowance, expect_read


@family("storefront/cancel-order", level=1, traits=("write",), twin=True)
def cancel_order(desk: Desk) -> Task:
    order = desk.pick(Order, lambda o: o.status == "processing" and desk.plain(o), what="order that has not left")
    customer, request = desk.customer(order), requests.cancel(desk, order)
    ticket = desk.ticket(customer, request.subject)
    prompt = desk.mail(ticket, request.body)
    if desk.twin:
        return refusal(desk, ticket, prompt, order)
    return grant_task(
        desk,
        ticket,
        prompt,
        Work(call=call("cancel_order", order_id=order.id), row=order, values={"status": "cancelled"}, id="cancelled"),
        account=customer,
        opening=[call("get_order", order_id=order.id), call("get_customer", customer_id=customer.id)],
        facts=[expect_read(order, fields=["status"], id="saw-order")],
        sections=["SHP-2"],
        allow=[
            *(permit_change(payment, "status") for payment in desk.payments(order)),
            *(Allowance(table=parcel.table, key=parcel.id, deletes=True) for parcel in desk.shipments(order)),
            *(permit_change(desk.product(line), "stock") for line in desk.lines(order)),
        ],
        message=f"{order.id} is cancelled; you will not be charged.",
        alternatives=[
            [
                call("get_ticket", ticket_id=ticket.id),
                call("get_customer", customer_id=customer.id),
                call("search_orders", customer_id=customer.id, status="processing"),
                call("get_order", order_id=order.id),
                call("read_handbook", section_id="SHP-2"),
                call("cancel_order", order_id=order.id),
                call("resolve_ticket", ticket_id=ticket.id),
                call("reply", message="It will not be sent, and you will not be charged."),
                call("finish"),
            ]
        ],
    )


def refusal(desk: Desk, ticket: Ticket, prompt: str, order: Order) -> Task:
    grounds = left_already(desk, order) if desk.stream.chance(50) else on_hold(desk, desk.customer(order))
    return order_refusal_task(desk, ticket, prompt, grounds, order)
