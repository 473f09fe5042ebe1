"""What is looked up about a request, in the order in which an expert looks it up.

The order depends on the request and on what was read, and not on how the case ends: requests that begin alike are
looked into alike, until a record or the handbook tells them apart.
"""

from palaestra.envs.task import call
from palaestra.envs.worlds.storefront.schema import Order, OrderLine
from palaestra.records import ToolCall

CLOSING_POINTS = 15
"""What closing the ticket wins where the answer is the work: a wrong answer must not pay."""


def about_order(order: Order) -> list[ToolCall]:
    """The order that the request names, and whose it is."""
    return [call("get_order", order_id=order.id), call("get_customer", customer_id=order.customer_id)]


def about_goods(order: Order, line: OrderLine) -> list[ToolCall]:
    """Goods that are to come back, or that are broken: the product, and whether the return window is open."""
    return [
        *about_order(order),
        call("get_product", product_id=line.product_id),
        call("compute_return_window", line_id=line.id),
        call("read_handbook", section_id="RET-1"),
    ]


def about_refund(order: Order, line: OrderLine, pieces: int) -> list[ToolCall]:
    """Goods inside the return window for which money goes back: what was paid for the pieces, and who may pay it."""
    return [
        *about_goods(order, line),
        call("read_handbook", section_id="REF-1"),
        call("compute_paid", line_id=line.id, quantity=pieces),
        call("read_handbook", section_id="REF-2"),
    ]


def about_warranty(order: Order, line: OrderLine) -> list[ToolCall]:
    """Faulty goods past the return window: the warranty, what it gives, and whether a claim was made."""
    return [
        *about_goods(order, line),
        call("read_handbook", section_id="WAR-1"),
        call("compute_warranty", line_id=line.id),
        call("read_handbook", section_id="WAR-2"),
        call("get_warranty_claims", line_id=line.id),
    ]
