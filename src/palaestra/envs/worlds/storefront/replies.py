"""Sentences that several families' solutions write to customers."""

from palaestra.envs.kit import count
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.schema import OrderLine


def window_closed(desk: Desk, line: OrderLine) -> str:
    """That the return window of a delivered line has closed, how long it was, and from when it was counted (RET-1)."""
    order = desk.order(line)
    days = count(desk.policy.return_days[desk.customer(order).tier], "day")
    since = f"ordered on {order.placed.date()}" if desk.policy.window_from == "order" else _arrived(desk, line)
    return f"The {desk.product(line).name} was {since}, and your return window of {days} has closed."


def _arrived(desk: Desk, line: OrderLine) -> str:
    return f"delivered on {desk.delivered(desk.order(line))}"
