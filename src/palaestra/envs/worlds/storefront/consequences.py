"""What follows from a change to the past, so that a world's records still agree."""

from datetime import timedelta

from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.policy import earns_tier, tier_for
from palaestra.envs.worlds.storefront.schema import Credit, Customer, Order, Promotion, Refund, Return


def move_back(desk: Desk, order_id: str, *, days: int) -> None:
    """Let an order, and all that happened to it since, have happened `days` earlier."""
    by = timedelta(days=days)
    order = desk.state.get(Order, order_id)
    placed = desk.state.update(order, placed=order.placed - by).placed
    for payment in desk.payments(order):
        desk.state.update(payment, charged=payment.charged - by)
    for parcel in desk.shipments(order):
        known = {name: getattr(parcel, name) for name in ("shipped", "due", "last_scan", "delivered")}
        desk.state.update(parcel, **{name: day - by for name, day in known.items() if day is not None})
    kinds: tuple[type[Refund | Return | Credit], ...] = (Refund, Return, Credit)
    for kind in kinds:
        for row in desk.state.find(kind, order_id=order.id):
            desk.state.update(row, created=row.created - by)
    customer = desk.customer(order)
    desk.state.update(customer, joined=min(customer.joined, placed.date()))
    if order.promotion_code is not None:
        promotion = desk.state.get(Promotion, order.promotion_code)
        desk.state.update(promotion, starts=min(promotion.starts, placed.date()))


def settle_account(desk: Desk, customer_id: str) -> None:
    """Let what a customer spent, and so the tier, follow from their payments."""
    orders = [
        order
        for order in desk.state.find(Order, customer_id=customer_id)
        if earns_tier(desk.policy, order.placed.date(), desk.today)
    ]
    captured = [p for order in orders for p in desk.payments(order) if p.status == "captured"]
    spent = sum(p.amount_cents - p.refunded_cents for p in captured)
    customer = desk.state.get(Customer, customer_id)
    desk.state.update(customer, lifetime_cents=spent, tier=tier_for(desk.policy, spent))
