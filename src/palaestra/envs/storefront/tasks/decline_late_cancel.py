"""Cancel an order that has left already: declined, on the right grounds."""

from palaestra.envs.storefront import requests
from palaestra.envs.storefront.desk import Desk, declining
from palaestra.envs.storefront.schema import Order
from palaestra.envs.task import Task, call, family
from palaestra.rubrics import saw


@family("storefront/decline-late-cancel", level=2, traits=("refusal",))
def decline_late_cancel(desk: Desk) -> Task:
    def fits(order: Order) -> bool:
        parcels = desk.shipments(order)
        return order.status == "shipped" and desk.plain(order) and [p.status for p in parcels] == ["in_transit"]

    order = desk.pick(Order, fits, what="order that has left")
    customer, request = desk.customer(order), requests.cancel(desk.stream, order)
    ticket = desk.ticket(customer, request.subject)
    return Task(
        prompt=desk.mail(ticket, request.body),
        rubric=[
            saw(order, id="saw-order"),
            desk.account(customer),
            *desk.declined(ticket, "SHP-2", order, after=["saw-order", "saw-account"]),
        ],
        oracle=[
            call("get_order", order_id=order.id),
            call("get_customer", customer_id=customer.id),
            call("read_handbook", section_id="SHP-2"),
            *declining(ticket, "SHP-2", order, "It is on its way already. You may return it once it has arrived."),
        ],
    )
