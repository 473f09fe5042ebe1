"""Send it elsewhere: one write, while the order has not left."""

from palaestra.envs.storefront.desk import Desk, closing
from palaestra.envs.storefront.schema import Order
from palaestra.envs.task import Task, call, family
from palaestra.rubrics import changed, saw

STREETS = ("Lindenweg 4", "Rue Verte 18", "Harbour Lane 7", "Via Nuova 31", "Kerkstraat 55", "Calle Mayor 12")
CITIES = ("Graz", "Lyon", "Cork", "Bologna", "Leiden", "Sevilla")


@family("storefront/change-address", level=1, traits=("write",))
def change_address(desk: Desk) -> Task:
    order = desk.pick(Order, lambda o: o.status == "processing" and desk.plain(o), what="order that has not left")
    customer = desk.customer(order)
    street, city = desk.stream.choice(STREETS), desk.stream.choice(CITIES)
    where = {"ship_street": street, "ship_city": city}
    ticket = desk.ticket(customer, "Other delivery address")
    body = f"I will be at work when it comes. Please send {order.id} to my office, {street} in {city}."
    return Task(
        prompt=desk.mail(ticket, body),
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
