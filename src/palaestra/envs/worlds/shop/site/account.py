"""The customer's account: orders and their lines, returns, the address book; and the errands of the assistant."""

from palaestra.envs.surfaces.pages.addresses import write_address
from palaestra.envs.surfaces.pages.forms import form_fields
from palaestra.envs.surfaces.pages.generated import DO, SEARCH, SEND
from palaestra.envs.surfaces.pages.pieces import link_element, words
from palaestra.envs.surfaces.pages.routes import PageRequest, find_row
from palaestra.envs.surfaces.pages.tree import PageElement, Submit
from palaestra.envs.worlds.shop.schema import SCHEMA, BasketLine, Errand, ShopOrder
from palaestra.envs.worlds.shop.site.layout import draw_facts, draw_line, draw_links, draw_table
from palaestra.envs.worlds.shop.site.lists import Facet, ShopList
from palaestra.envs.worlds.shop.tools import cancel_order, change_address, redirect_order, start_return
from palaestra.envs.worlds.storefront.schema import Customer

ORDERS = ShopList(
    table="orders",
    name="Your orders",
    columns={"placed": "Placed", "status": "Status", "total_cents": "Total"},
    facets=(
        Facet(name="status", condition="status", label="Status", options=SCHEMA["orders"].columns["status"].choices),
    ),
)
LINES = ShopList(
    table="order_lines",
    name="Lines of orders",
    title="product_name",
    columns={
        "order_id": "Order",
        "variant_id": "Article",
        "quantity": "Pieces",
        "unit_cents": "Each",
        "returned": "Sent back",
        "customer_id": "Customer",
    },
)
RETURNS = ShopList(
    table="returns",
    name="Returns",
    columns={
        "order_id": "Order",
        "line_id": "Line",
        "quantity": "Pieces",
        "refund_due_cents": "Comes back",
        "fee_cents": "Fee",
        "reason": "Reason",
        "status": "Status",
        "created": "Announced",
    },
)
ERRANDS = ShopList(
    table="errands",
    name="Errands",
    title="subject",
    columns={"opened": "Opened", "status": "Status"},
    facets=(
        Facet(name="search", condition=SEARCH, label="Search"),
        Facet(name="status", condition="status", label="Status", options=SCHEMA["errands"].columns["status"].choices),
    ),
)
TERMS_LIST = ShopList(
    table="handbook",
    name="Terms of the shop",
    title="title",
    columns={},
    facets=(Facet(name="search", condition=SEARCH, label="Search"),),
    most=20,
)
REOPEN = "reopen_errand"
"""The action on an errand that was closed; all others are on open ones."""
_LINE = {"variant_id": "Article", "quantity": "Pieces", "unit_cents": "Each", "returned": "Sent back"}


def draw_account(request: PageRequest) -> tuple[str, list[PageElement]]:
    """The account: who the customer is, the address book, and ways to what they ordered.

    Raises:
        ToolRefusal: there is no such customer.
    """
    customer = find_row(request, "customers")
    assert isinstance(customer, Customer), "it is of the customers"
    person = {"id": "Customer", "name": "Name", "email": "E-mail", "phone": "Phone", "joined": "Customer since"}
    club = {
        "tier": "Tier",
        "lifetime_cents": "Paid in 24 months",
        "credit_cents": "Store credit",
        "fraud_hold": "On hold",
    }
    send = Submit(action=change_address.name, fields=form_fields(change_address), kept=(("customer_id", customer.id),))
    form = (
        PageElement(role="textbox", id="field.street", name="Street and number", required=True),
        PageElement(role="textbox", id="field.city", name="Postcode and town", required=True),
        PageElement(role="button", id=SEND, name="Change address", activation=send),
    )
    return "Your account", [
        *draw_facts(request, customer, "Your account", person),
        draw_links(
            "See",
            link_element("account.orders", "Orders", write_address("orders")),
            link_element("account.basket", "Basket", write_address("basket")),
            link_element("account.errands", "Errands", write_address("errands")),
        ),
        *draw_facts(request, customer, "Address book", {"street": "Street", "city": "Town"}),
        PageElement(role="form", name="Address book", children=form),
        draw_links("Terms", link_element("terms.ADR-2", "Your address book", write_address("handbook", "ADR-2"))),
        *draw_facts(request, customer, "Membership", club),
    ]


def draw_order(request: PageRequest) -> tuple[str, list[PageElement]]:
    """An order: where it is, its lines, what it came to, and what can be done about it as it stands.

    Raises:
        ToolRefusal: there is no such order.
    """
    order = find_row(request, "orders")
    assert isinstance(order, ShopOrder), "it is of the orders"
    facts = {"id": "Order", "placed": "Placed", "payment": "Payment", "customer_id": "Customer"}
    tracking = {
        "status": "Status",
        "delivery": "Delivery",
        "due": "Due",
        "delivered": "Delivered on",
        "ship_street": "Street",
        "ship_city": "Town",
    }
    amounts = {
        "subtotal_cents": "Goods",
        "discount_cents": "Discount",
        "promotion_code": "Voucher",
        "shipping_cents": "Delivery",
        "total_cents": "Total",
    }
    lines = request.state.find(BasketLine, order_id=order.id)
    return f"Order {order.id}", [
        *draw_facts(request, order, f"Order {order.id}", facts),
        *draw_facts(request, order, "Tracking", tracking),
        PageElement(role="heading", name="Articles"),
        draw_table("Articles", [_draw_line(request, order, line) for line in lines], empty="It has none."),
        *draw_facts(request, order, "Amounts", amounts),
        _draw_ways(order),
    ]


def _draw_line(request: PageRequest, order: ShopOrder, line: BasketLine) -> PageElement:
    links = [link_element(f"{line.id}.again", "Buy again", write_address("variants", line.variant_id))]
    if order.status == "delivered":
        url = write_address(DO, start_return.name, query={"line_id": line.id})
        links.append(link_element(f"{line.id}.return", "Send back", url))
    return draw_line(request.schema["order_lines"], line, _LINE, title="product_name", more=links)


def _draw_ways(order: ShopOrder) -> PageElement:
    """What can be done about an order in its status."""
    links = [link_element("order.returns", "Returns", write_address("returns", query={"order_id": order.id}))]
    if order.status == "processing":
        links += [
            link_element(
                f"do.{tool.name}", words(tool.name), write_address(DO, tool.name, query={"order_id": order.id})
            )
            for tool in (cancel_order, redirect_order)
        ]
    sections = {"ORD-3": "Terms of cancelling", "ADR-1": "Terms of another address", "RET-1": "Terms of returns"}
    links += [link_element(f"terms.{key}", name, write_address("handbook", key)) for key, name in sections.items()]
    return draw_links("This order", *links)


def draw_errand(request: PageRequest) -> tuple[str, list[PageElement]]:
    """An errand: what it is about, how it stands, and the forms that close it.

    Raises:
        ToolRefusal: there is no such errand.
    """
    errand = find_row(request, "errands")
    assert isinstance(errand, Errand), "it is of the errands"
    is_open = errand.status == "open"
    links = [link for link in request.actions if (link.id == f"do.{REOPEN}") != is_open]
    facts = {
        "id": "Errand",
        "subject": "Subject",
        "opened": "Opened",
        "status": "Status",
        "customer_id": "Customer",
        "team": "Whose it is",
        "priority": "Priority",
    }
    grounds = {"policy_id": "Section of the terms", "evidence_id": "Record"}
    return f"Errand {errand.id}", [
        *draw_facts(request, errand, f"Errand {errand.id}", facts),
        *draw_facts(request, errand, "Grounds", grounds),
        draw_links("This errand", *links),
    ]
