"""Cancel an order that has not left."""

from palaestra.envs.storefront import requests
from palaestra.envs.storefront.desk import Desk, closing, touches
from palaestra.envs.storefront.schema import Order
from palaestra.envs.task import Task, call, family
from palaestra.rubrics import Allowance, changed, saw


@family("storefront/cancel-order", level=1, traits=("write",))
def cancel_order(desk: Desk) -> Task:
    order = desk.pick(Order, lambda o: o.status == "processing" and desk.plain(o), what="order that has not left")
    customer, request = desk.customer(order), requests.cancel(desk.stream, order)
    ticket = desk.ticket(customer, request.subject)
    return Task(
        prompt=desk.mail(ticket, request.body),
        rubric=[
            saw(order, id="saw-order"),
            desk.account(customer),
            changed(order, {"status": "cancelled"}, id="cancelled", after=["saw-order", "saw-account"]),
            *desk.resolved(ticket, after=["cancelled"]),
        ],
        allow=[
            *(touches(payment, "status") for payment in desk.payments(order)),
            *(Allowance(table=parcel.table, key=parcel.id, deletes=True) for parcel in desk.shipments(order)),
            *(touches(desk.product(line), "stock") for line in desk.lines(order)),
        ],
        oracle=[
            call("get_order", order_id=order.id),
            call("get_customer", customer_id=customer.id),
            call("cancel_order", order_id=order.id),
            *closing(ticket, f"{order.id} is cancelled; you will not be charged."),
        ],
    )
