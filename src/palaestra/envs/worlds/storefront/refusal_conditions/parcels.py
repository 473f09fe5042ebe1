"""Refusal conditions in a parcel: it left, it is not lost, it was not late."""

from datetime import timedelta

from palaestra.envs.kit import RefusalCondition, count
from palaestra.envs.task import call
from palaestra.envs.worlds.storefront.consequences import settle_account
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.replies import send_back_later
from palaestra.envs.worlds.storefront.schema import Order, Shipment
from palaestra.rubrics import expect_read


def left_already(desk: Desk, order: Order) -> RefusalCondition:
    """The parcel left the warehouse this morning, its payment was captured, and it is due tomorrow at the earliest."""
    left = desk.state.update(order, status="shipped")
    for parcel in desk.shipments(order):
        due = max(parcel.due, desk.today + timedelta(days=1))
        desk.state.update(parcel, status="in_transit", shipped=desk.today, last_scan=desk.today, due=due)
    for payment in desk.payments(order):
        desk.state.update(payment, status="captured")
    settle_account(desk, order.customer_id)
    return _too_late(
        left, f"It has left the warehouse, so that nothing can be changed any more. {send_back_later(desk, left)}"
    )


def cancelled_already(desk: Desk, order: Order) -> RefusalCondition:
    """The order was cancelled: its payment is voided, and its goods are back on the shelf."""
    cancelled = desk.state.update(order, status="cancelled")
    for parcel in desk.shipments(order):
        desk.state.delete(parcel)
    for payment in desk.payments(order):
        desk.state.update(payment, status="voided")
    for line in desk.lines(order):
        product = desk.product(line)
        desk.state.update(product, stock=product.stock + line.quantity)
    return _too_late(cancelled, f"{order.id} was cancelled, so there is nothing left to send.")


def _too_late(order: Order, message: str) -> RefusalCondition:
    return RefusalCondition(
        section="SHP-2", evidence=order, facts=(expect_read(order, fields=["status"], id="saw-order"),), message=message
    )


def scanned_lately(desk: Desk, parcel: Shipment) -> RefusalCondition:
    """The carrier scanned the overdue parcel yesterday: it is late, and not lost."""
    return _not_lost(desk.state.update(parcel, last_scan=desk.today - timedelta(days=1)))


def not_yet_lost(desk: Desk, parcel: Shipment) -> RefusalCondition:
    """The parcel was due on the last day on which it does not count as lost."""
    due = desk.today - timedelta(days=desk.planting_policy.lost_after_days)
    return _not_lost(desk.state.update(parcel, due=due))


def _not_lost(parcel: Shipment) -> RefusalCondition:
    return RefusalCondition(
        section="SHP-1",
        evidence=parcel,
        facts=(expect_read(parcel, fields=["status", "due", "last_scan"], id="saw-parcel"),),
        lookups=(call("get_shipments", order_id=parcel.order_id),),
        otherwise=(
            call("get_shipments", order_id=parcel.order_id),
            call("track_parcel", tracking=parcel.tracking),
        ),
        message=f"The parcel of {parcel.order_id} was due on {parcel.due}. It is late, but does not count as lost, so "
        "we can neither send it again nor refund it now. Please give it a few more days.",
    )


def sent_again_already(desk: Desk, parcel: Shipment) -> RefusalCondition:
    """A colleague has sent the goods of the lost parcel again, and they are under way."""
    again = desk.state.next_id(Shipment)
    replacement = desk.state.insert(
        Shipment(
            id=again,
            order_id=parcel.order_id,
            carrier=parcel.carrier,
            tracking=f"{parcel.tracking[:2]}{again.removeprefix(Shipment.prefix)}R",
            status="in_transit",
            shipped=desk.today - timedelta(days=1),
            due=desk.today + timedelta(days=3),
            last_scan=desk.today - timedelta(days=1),
            delivered=None,
            replaces=parcel.id,
        )
    )
    return RefusalCondition(
        section="SHP-1",
        evidence=replacement,
        facts=(expect_read(replacement, fields=["status", "replaces"], id="saw-parcel"),),
        lookups=(call("get_shipments", order_id=parcel.order_id),),
        message=f"A replacement is under way and due on {replacement.due}.",
    )


def within_grace(desk: Desk, parcel: Shipment) -> RefusalCondition:
    """The parcel was due so late that it came on the last day of grace."""
    assert parcel.delivered is not None, f"{parcel.id} has not arrived"
    due = parcel.delivered - timedelta(days=desk.planting_policy.delay_grace_days)
    punctual = desk.state.update(parcel, due=due)
    return RefusalCondition(
        section="LOY-2",
        evidence=punctual,
        facts=(expect_read(punctual, fields=["due", "delivered"], id="saw-parcel"),),
        lookups=(call("get_shipments", order_id=parcel.order_id),),
        message=f"The parcel of {punctual.order_id} was due on {punctual.due} and came on {punctual.delivered}. That "
        f"is within the {count(desk.planting_policy.delay_grace_days, 'day')} of grace, for which there is no credit.",
    )
