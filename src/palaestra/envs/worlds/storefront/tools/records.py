"""Tools that read orders and what belongs to them, products and builds."""

from typing import Annotated, Literal

from palaestra.envs.worlds.storefront.schema import (
    Build,
    BuildId,
    Category,
    CompetitorOffer,
    Customer,
    CustomerId,
    LineId,
    Order,
    OrderId,
    OrderLine,
    Payment,
    Product,
    ProductId,
    Promotion,
    PromotionCode,
    Refund,
    Return,
    Shipment,
    WarrantyClaim,
)
from palaestra.envs.worlds.storefront.tools.listing import page
from palaestra.envs.worlds.storefront.tools.people import Cursor
from palaestra.records import ANY_TABLE, References
from palaestra.tools import Reads, ToolContext, tool


@tool()
def search_orders(
    context: ToolContext,
    customer_id: CustomerId,
    status: Literal["processing", "shipped", "delivered", "cancelled"] | None = None,
    cursor: Cursor = None,
) -> object:
    """List a customer's orders. At most ten are listed at a time.

    Args:
        customer_id: The customer's id.
        status: Only orders of this status.
        cursor: The next_cursor of the answer to continue.
    """
    context.state.get(Customer, customer_id)
    found = context.state.find(Order, customer_id=customer_id)
    found = [o for o in found if status is None or o.status == status]
    return page(
        context,
        found,
        cursor,
        lambda o: {"placed": o.placed.isoformat(), "status": o.status, "total_cents": o.total_cents},
    )


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


@tool()
def get_payments(context: ToolContext, order_id: OrderId) -> object:
    """List the payments of an order.

    Args:
        order_id: The order's id.
    """
    context.state.get(Order, order_id)
    payments = context.state.find(Payment, order_id=order_id)
    context.show(*payments)
    return {"payments": payments}


@tool()
def get_shipments(context: ToolContext, order_id: OrderId) -> object:
    """List the parcels of an order: carrier, tracking, due day, last scan, delivery.

    Args:
        order_id: The order's id.
    """
    context.state.get(Order, order_id)
    shipments = context.state.find(Shipment, order_id=order_id)
    context.show(*shipments)
    context.mention(*(shipment.tracking for shipment in shipments))
    return {"shipments": shipments}


@tool(reads=Reads(table="shipments", by={"tracking": "tracking"}))
def track_parcel(context: ToolContext, tracking: Annotated[str, References(ANY_TABLE)]) -> object:
    """Find a parcel by its tracking number.

    Args:
        tracking: The carrier's tracking number.
    """
    shipments = context.state.find(Shipment, tracking=tracking.strip())
    context.show(*shipments)
    return {"shipments": shipments}


@tool()
def get_refunds(context: ToolContext, order_id: OrderId) -> object:
    """List the refunds of an order, paid ones and ones that wait for approval.

    Args:
        order_id: The order's id.
    """
    context.state.get(Order, order_id)
    refunds = context.state.find(Refund, order_id=order_id)
    context.show(*refunds)
    return {"refunds": refunds}


@tool()
def get_returns(context: ToolContext, order_id: OrderId) -> object:
    """List the returns that were authorised for an order.

    Args:
        order_id: The order's id.
    """
    context.state.get(Order, order_id)
    returns = context.state.find(Return, order_id=order_id)
    context.show(*returns)
    return {"returns": returns}


@tool()
def get_warranty_claims(context: ToolContext, line_id: LineId) -> object:
    """List the warranty claims on an order line.

    Args:
        line_id: The line's id, such as LIN-10042.
    """
    context.state.get(OrderLine, line_id)
    claims = context.state.find(WarrantyClaim, line_id=line_id)
    context.show(*claims)
    return {"claims": claims}


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


@tool()
def get_product(context: ToolContext, product_id: ProductId) -> object:
    """Show a product: price, stock, warranty, technical data.

    Args:
        product_id: The product's id, such as GPU-1012.
    """
    product = context.state.get(Product, product_id)
    context.show(product)
    return product


@tool(reads=Reads(table="competitor_offers", by={"product_id": "product_id"}))
def search_offers(context: ToolContext, product_id: ProductId) -> object:
    """List what other shops ask for a product, as our price watch saw it.

    Args:
        product_id: The product's id.
    """
    context.state.get(Product, product_id)
    offers = context.state.find(CompetitorOffer, product_id=product_id)
    context.show(*offers)
    return {"offers": offers}


@tool()
def get_promotion(context: ToolContext, code: PromotionCode) -> object:
    """Show a promotion: its discount, when it holds, and what it applies to.

    Args:
        code: The promotion's code.
    """
    promotion = context.state.get(Promotion, code)
    context.show(promotion)
    return promotion


@tool()
def search_builds(context: ToolContext, customer_id: CustomerId, cursor: Cursor = None) -> object:
    """List a customer's custom PCs.

    Args:
        customer_id: The customer's id.
        cursor: The next_cursor of the answer to continue.
    """
    context.state.get(Customer, customer_id)
    found = context.state.find(Build, customer_id=customer_id)
    return page(context, found, cursor, lambda b: {"name": b.name, "status": b.status})


@tool()
def get_build(context: ToolContext, build_id: BuildId) -> object:
    """Show a custom PC and its parts.

    Args:
        build_id: The build's id, such as BLD-1007.
    """
    build = context.state.get(Build, build_id)
    context.show(build)
    return build


TOOLS = (
    search_orders,
    get_order,
    get_payments,
    get_shipments,
    track_parcel,
    get_refunds,
    get_returns,
    get_warranty_claims,
    search_products,
    get_product,
    search_offers,
    get_promotion,
    search_builds,
    get_build,
)
