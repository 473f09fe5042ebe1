"""Tools that read orders and what belongs to them, products and builds."""

from typing import Annotated

from palaestra.envs.kit import Cursor, get_tool, list_tool, page, search_tool
from palaestra.envs.worlds.storefront.schema import (
    Build,
    Category,
    CompetitorOffer,
    Customer,
    Order,
    OrderId,
    OrderLine,
    Payment,
    Product,
    Promotion,
    Refund,
    Return,
    Shipment,
    WarrantyClaim,
)
from palaestra.records import ANY_TABLE, References
from palaestra.tools import Reads, ToolContext, tool


@tool(reads=Reads(table="orders", by={"order_id": "id"}, follow=("order_lines.order_id",)))
def get_order(context: ToolContext, order_id: OrderId) -> object:
    """Show an order and its lines.

    Args:
        order_id: The order's id, such as ORD-1042.
    """
    order = context.state.get(Order, order_id)
    lines = context.state.find(OrderLine, order_id=order_id)
    context.show(order, *lines)
    return {"order": order, "lines": lines}


@tool(reads=Reads(table="shipments", by={"tracking": "tracking"}))
def track_parcel(context: ToolContext, tracking: Annotated[str, References(ANY_TABLE)]) -> object:
    """Find a parcel by its tracking number.

    Args:
        tracking: The carrier's tracking number.
    """
    shipments = context.state.find(Shipment, tracking=tracking.strip())
    context.show(*shipments)
    return {"shipments": shipments}


@tool(
    reads=Reads(
        table="products",
        by={"category": "category", "max_price_cents": "price_cents <="},
        flags={"in_stock": ("stock >", 0)},
        search="query",
        cursor="cursor",
    )
)
def search_products(
    context: ToolContext,
    query: str = "",
    category: Category | None = None,
    in_stock: bool = False,
    max_price_cents: int | None = None,
    cursor: Cursor = None,
) -> object:
    """Find products by words of their name, brand or category. At most ten are listed at a time.

    Args:
        query: Words that must all occur; leave it out to list by category.
        category: Only this category.
        in_stock: Only what can be sent now.
        max_price_cents: Only what costs at most this much.
        cursor: The next_cursor of the answer to continue.
    """
    found = context.state.search(Product, query) if query else context.state.find(Product)
    found = [
        p
        for p in found
        if (category is None or p.category == category)
        and (p.stock > 0 or not in_stock)
        and (max_price_cents is None or p.price_cents <= max_price_cents)
    ]
    return page(
        context,
        found,
        cursor,
        lambda p: {"name": p.name, "category": p.category, "price_cents": p.price_cents, "stock": p.stock},
    )


TOOLS = (
    search_tool(
        Order,
        "List a customer's orders. At most ten are listed at a time.",
        owner=Customer,
        filters=(("status", "Only orders of this status."),),
        summary=("placed", "status", "total_cents"),
    ),
    get_order,
    list_tool(Payment, Order, "List the payments of an order."),
    list_tool(Shipment, Order, "List the parcels of an order: carrier, tracking, due day, last scan, delivery."),
    track_parcel,
    list_tool(Refund, Order, "List the refunds of an order, paid ones and ones that wait for approval."),
    list_tool(Return, Order, "List the returns that were authorised for an order."),
    list_tool(
        WarrantyClaim,
        OrderLine,
        "List the warranty claims on an order line.",
        column="line_id",
        key="claims",
        argument_text="The line's id, such as LIN-10042.",
    ),
    search_products,
    get_tool(Product, "Show a product: price, stock, warranty, technical data.", example="GPU-1012"),
    list_tool(
        CompetitorOffer,
        Product,
        "List what other shops ask for a product, as our price watch saw it.",
        name="search_offers",
        key="offers",
    ),
    get_tool(
        Promotion,
        "Show a promotion: its discount, when it holds, and what it applies to.",
        argument="code",
        argument_text="The promotion's code.",
    ),
    search_tool(Build, "List a customer's custom PCs.", owner=Customer, summary=("name", "status")),
    get_tool(Build, "Show a custom PC and its parts.", example="BLD-1007"),
)
