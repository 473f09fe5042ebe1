"""Send it elsewhere: one write, while the order has not left."""

from palaestra.envs.storefront import requests
from palaestra.envs.storefront.desk import Desk, closing
from palaestra.envs.storefront.schema import Order
from palaestra.envs.task import Task, call, family
from palaestra.rubrics import changed, saw


@family("storefront/change-address", level=1, traits=("write",))
def change_address(desk: Desk) -> Task:
    order = desk.pick(Order, lambda o: o.status == "processing" and desk.plain(o), what="order that has not left")
    customer = desk.customer(order)
    request, (street, city) = requests.redirect(desk.stream, order)
    where = {"ship_street": street, "ship_city": city}
    ticket = desk.ticket(customer, request.subject)
    return Task(
        prompt=desk.mail(ticket, request.body),
        rubric=[
            saw(order, id="saw-order"),
            desk.account(customer),
            changed(order, where, id="address", after=["saw-order", "saw-account"]),
            *desk.resolved(ticket, after=["address"]),
        ],
        oracle=[
            call("get_order", order_id=order.id),
            call("get_customer", customer_id=customer.id),
            call("update_shipping_address", order_id=order.id, street=street, city=city),
            *closing(ticket, f"We will send {order.id} to {street}, {city}."),
        ],
    )
