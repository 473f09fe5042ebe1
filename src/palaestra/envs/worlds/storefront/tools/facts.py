"""Facts about orders that several tools and tasks need, read from any view of the rows."""

from datetime import date

from palaestra.envs.worlds.storefront.schema import Order, OrderLine, Payment, Shipment
from palaestra.errors import ToolRefusal
from palaestra.protocols import StateView
from palaestra.tools import ToolContext


def line_and_order(context: ToolContext, line_id: str) -> tuple[OrderLine, Order]:
    """A line and the order that it belongs to."""
    line = context.state.get(OrderLine, line_id)
    return line, context.state.get(Order, line.order_id)


def last_delivery(view: StateView, order: Order) -> Shipment:
    """The parcel of an order that arrived last.

    Raises:
        ToolRefusal: it has not arrived.
    """
    arrived = [s for s in view.find(Shipment, order_id=order.id) if s.delivered is not None]
    if order.status != "delivered" or not arrived:
        raise ToolRefusal("not_delivered", f"{order.id} is {order.status}; nothing of it has been delivered")
    return max(arrived, key=day_of)


def delivery_day(view: StateView, order: Order) -> date:
    """The day on which the order's last parcel arrived; refused where it has not."""
    return day_of(last_delivery(view, order))


def day_of(arrived: Shipment) -> date:
    """The day on which a parcel that has arrived did so."""
    assert arrived.delivered is not None, f"{arrived.id} has not arrived"
    return arrived.delivered


def refundable_payment(view: StateView, order: Order) -> Payment:
    """The captured payment of an order from which money can go back: the first with anything left.

    Raises:
        ToolRefusal: there is none.
    """
    for payment in view.find(Payment, order_id=order.id):
        if payment.status == "captured" and payment.refunded_cents < payment.amount_cents:
            return payment
    raise ToolRefusal("nothing_to_refund", f"{order.id} has no captured payment with money left to give back")
