"""Cancel an order that has not left."""

from palaestra.envs.storefront.desk import Desk, closing, touches
from palaestra.envs.storefront.schema import Order
from palaestra.envs.task import Task, call, family
from palaestra.rubrics import Allowance, changed


@family("storefront/cancel-order", level=1, traits=("write",))
def cancel_order(desk: Desk) -> Task:
    order = desk.pick(Order, lambda o: o.status == "processing" and desk.plain(o), what="order that has not left")
    ticket = desk.ticket(desk.customer(order), "Please cancel my order")
    body = desk.stream.choice(
        (
            f"I found it elsewhere. Please cancel {order.id} before you send it.",
            f"Order {order.id} was a mistake of mine. I would like to cancel all of it.",
        )
    )
    return Task(
        prompt=desk.mail(ticket, body),
        rubric=[
            changed(order, {"status": "cancelled"}, id="cancelled"),
            *desk.resolved(ticket, after=["cancelled"]),
        ],
        allow=[
            *(touches(payment, "status") for payment in desk.payments(order)),
            *(Allowance(table=parcel.table, key=parcel.id, deletes=True) for parcel in desk.shipments(order)),
            *(touches(desk.product(line), "stock") for line in desk.lines(order)),
        ],
        oracle=[
            call("cancel_order", order_id=order.id),
            *closing(ticket, f"{order.id} is cancelled; you will not be charged."),
        ],
    )
