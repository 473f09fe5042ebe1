"""Tools that compute: what was paid, how long ago, whether parts fit. They state facts; policy is in the handbook."""

from datetime import timedelta
from typing import Annotated

from pydantic import Field

from palaestra.envs.worlds.storefront.policy import (
    StorePolicy,
    build_draw,
    build_problems,
    paid_cents,
    promotion_cents,
    warranty_end,
)
from palaestra.envs.worlds.storefront.schema import (
    Category,
    LineId,
    Order,
    OrderId,
    OrderLine,
    Product,
    ProductId,
    Promotion,
    PromotionCode,
)
from palaestra.envs.worlds.storefront.tools.facts import day_of, delivery_day, last_delivery, line_and_order
from palaestra.errors import ToolRefusal
from palaestra.tools import ToolContext, tool

Quantity = Annotated[int, Field(ge=1, le=99)]


@tool()
def compute_paid(context: ToolContext, line_id: LineId, quantity: Quantity) -> object:
    """Work out what pieces of an order line really cost: list price less their share of the order's discount.

    Args:
        line_id: The line's id.
        quantity: How many pieces.
    """
    line, order = line_and_order(context, line_id)
    if quantity > line.quantity:
        raise ToolRefusal("bad_quantity", f"{line_id} has {line.quantity} piece(s), not {quantity}")
    context.show_columns([line], ["unit_cents"])
    list_cents, paid = line.unit_cents * quantity, paid_cents(order, line, quantity)
    return {"list_cents": list_cents, "discount_share_cents": list_cents - paid, "paid_cents": paid}


@tool()
def compute_return_window(context: ToolContext, line_id: LineId) -> object:
    """Work out how long ago a line was ordered and delivered, and the last day of the standard return window.

    The standard window knows no tiers and no exceptions; those are in the handbook.

    Args:
        line_id: The line's id.
    """
    policy: StorePolicy = context.rules
    _, order = line_and_order(context, line_id)
    parcel = last_delivery(context.state, order)
    context.mention(parcel.id)
    context.show_columns([parcel], ["delivered"])
    delivered = day_of(parcel)
    begins = order.placed.date() if policy.window_from == "order" else delivered
    return {
        "shipment_id": parcel.id,
        "ordered": order.placed.date(),
        "delivered": delivered,
        "days_since_delivery": (context.clock.today - delivered).days,
        "standard_last_day": begins + timedelta(days=policy.return_days["bronze"]),
    }


@tool()
def compute_warranty(context: ToolContext, line_id: LineId) -> object:
    """Work out until when a line is under warranty.

    Args:
        line_id: The line's id.
    """
    line, order = line_and_order(context, line_id)
    product = context.state.get(Product, line.product_id)
    context.show_columns([product], ["warranty_months"])
    ends = warranty_end(delivery_day(context.state, order), product.warranty_months)
    return {
        "warranty_months": product.warranty_months,
        "warranty_ends": ends,
        "days_left": (ends - context.clock.today).days,
    }


@tool()
def check_compatibility(
    context: ToolContext, product_ids: Annotated[list[ProductId], Field(min_length=2, max_length=8)]
) -> object:
    """Check whether parts work together in one PC. At most one part of a category counts.

    Args:
        product_ids: The parts.
    """
    parts = [context.state.get(Product, p) for p in product_ids]
    problems = build_problems(context.rules, parts)
    return {"compatible": not problems, "problems": problems, "draw_watts": build_draw(parts)}


@tool()
def quote_promotion(context: ToolContext, order_id: OrderId, code: PromotionCode) -> object:
    """Work out what a promotion would have taken off an order on the day it was placed; 0 where it did not apply.

    Args:
        order_id: The order's id.
        code: The promotion's code.
    """
    order = context.state.get(Order, order_id)
    promotion = context.state.get(Promotion, code)
    lines = context.state.find(OrderLine, order_id=order_id)
    products = [context.state.get(Product, line.product_id) for line in lines]
    goods: list[tuple[Category, int]] = [
        (product.category, line.unit_cents * line.quantity) for product, line in zip(products, lines, strict=True)
    ]
    return {"discount_cents": promotion_cents(promotion, goods, order.placed.date())}


TOOLS = (compute_paid, compute_return_window, compute_warranty, check_compatibility, quote_promotion)
