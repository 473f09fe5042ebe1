"""An order: what was ordered and for how much, and in tabs its lines, payments, parcels, refunds, returns, credits."""

from palaestra.envs.surfaces.pages.routes import PageRequest, find_row
from palaestra.envs.surfaces.pages.tree import PageElement
from palaestra.envs.worlds.storefront.site.layout import RowTab, draw_actions, draw_group, draw_tabs

ORDER_TABS = (
    RowTab(
        table="order_lines",
        column="order_id",
        label="Lines",
        forms={"issue_refund": "line_id", "authorise_return": "line_id", "open_warranty_claim": "line_id"},
    ),
    RowTab(table="payments", column="order_id", label="Payments", forms={"refund_payment": "payment_id"}),
    RowTab(
        table="shipments",
        column="order_id",
        label="Shipments",
        forms={"declare_lost": "shipment_id", "send_replacement": "shipment_id"},
    ),
    RowTab(table="refunds", column="order_id", label="Refunds"),
    RowTab(table="returns", column="order_id", label="Returns", forms={"cancel_return": "return_id"}),
    RowTab(table="credits", column="order_id", label="Credits"),
)
"""The tabs of an order."""


def draw_order(request: PageRequest) -> tuple[str, list[PageElement]]:
    """The page of an order.

    Raises:
        ToolRefusal: there is no such order or tab.
    """
    order = find_row(request, "orders")
    facts = {
        "id": "Order",
        "status": "Status",
        "customer_id": "Customer",
        "placed": "Placed",
        "build_id": "Build",
        "promotion_code": "Promotion code",
    }
    amounts = {
        "subtotal_cents": "Goods",
        "discount_cents": "Discount",
        "shipping_cents": "Shipping",
        "total_cents": "Total",
    }
    return f"Order {order.id}", [
        *draw_group(request, order, f"Order {order.id}", facts),
        *draw_group(request, order, "Amounts", amounts),
        *draw_group(request, order, "Ship to", {"ship_street": "Street", "ship_city": "City"}),
        *draw_tabs(request, order, ORDER_TABS),
        *draw_actions(request),
    ]
