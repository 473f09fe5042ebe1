"""Sentences that several families' solutions write to customers."""

from palaestra.envs.kit import count, enumerate_words
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.schema import Order, OrderLine

KEEP = "You need not send anything back."
"""Damaged, faulty and wrong goods are paid without being sent back (REF-1)."""


def window_closed(desk: Desk, line: OrderLine) -> str:
    """That the return window of a delivered line has closed, how long it was, and from when it was counted (RET-1)."""
    order = desk.order(line)
    days = count(desk.policy.return_days[desk.customer(order).tier], "day")
    since = f"ordered on {order.placed.date()}" if desk.policy.window_from == "order" else _describe_arrival(desk, line)
    return f"The {desk.product(line).name} was {since}, and your return window of {days} has closed."


def send_back_later(desk: Desk, order: Order) -> str:
    """What a customer may do whose order has left: take it in and send the goods back (SHP-2), where RET-3 allows."""
    lines = desk.lines(order)
    bound = [line for line in lines if desk.binds_final_sale(line)]
    if len(bound) == len(lines):
        return "It was a final sale, so we cannot take the goods back either."
    but = f", but for the {enumerate_words([desk.product(line).name for line in bound])} (final sale)" if bound else ""
    return f"You may accept {order.id} and send the goods back within your return window{but}."


def _describe_arrival(desk: Desk, line: OrderLine) -> str:
    return f"delivered on {desk.delivery_day(desk.order(line))}"
