"""What a customer can do in the shop: find articles, fill a basket, check out, and look after orders.

Tools refuse what can not be: articles that are not there, orders that were sent. Terms are for the customer to keep.
"""

from typing import Annotated

from pydantic import Field

from palaestra.envs.kit import Cursor, get_tool, handbook_tools, list_tool, page, reading_tools, search_tool
from palaestra.envs.kit.cases import CaseType, decline_tool, reopen_tool, resolve_tool
from palaestra.envs.worlds.shop.schema import (
    BasketLine,
    Checkout,
    Colour,
    Delivery,
    Errand,
    PaymentMethod,
    ShopOrder,
    Variant,
    VariantId,
)
from palaestra.envs.worlds.shop.terms import OrderTotals, due_day, goods_of_lines, order_totals
from palaestra.envs.worlds.storefront.schema import (
    Category,
    Customer,
    CustomerId,
    LineId,
    OrderId,
    Product,
    Promotion,
    PromotionCode,
    Return,
)
from palaestra.errors import ToolRefusal
from palaestra.protocols import StateView
from palaestra.tools import CONTROL, Reads, Toolbox, ToolContext, tool

CASES = CaseType(
    kind=Errand,
    requester=Customer,
    team="assistant",
    example="ERR-12",
    evidence=(Customer, Product, Variant, Promotion, ShopOrder),
)
Pieces = Annotated[int, Field(ge=1, le=99)]
Text = Annotated[str, Field(min_length=1, max_length=80)]


@tool(
    reads=Reads(
        table="variants",
        by={
            "category": "category",
            "colour": "colour",
            "edition": "edition",
            "brand": "brand",
            "min_price_cents": "price_cents >=",
            "max_price_cents": "price_cents <=",
            "min_rating": "rating >=",
        },
        flags={"in_stock": ("stock >", 0)},
        search="query",
        cursor="cursor",
    )
)
def search_variants(
    context: ToolContext,
    query: str = "",
    category: Category | None = None,
    colour: Colour | None = None,
    edition: str | None = None,
    brand: str | None = None,
    min_price_cents: int | None = None,
    max_price_cents: int | None = None,
    min_rating: int | None = None,
    in_stock: bool = False,  # noqa: FBT001, FBT002
    cursor: Cursor = None,
) -> object:
    """Find articles: a product in one colour and edition. At most ten are listed at a time, without their stock.

    Args:
        query: Words that must all occur in name, brand, category, colour or edition; leave it out to list by filters.
        category: Only this category.
        colour: Only this colour.
        edition: Only this edition, such as "US layout".
        brand: Only this brand.
        min_price_cents: Only what costs at least this much.
        max_price_cents: Only what costs at most this much.
        min_rating: Only what is rated at least so, in tenths of a star.
        in_stock: Only what can be ordered now.
        cursor: The next_cursor of the answer to continue.
    """
    found = context.state.search(Variant, query) if query else context.state.find(Variant)
    found = [
        v
        for v in found
        if category in (None, v.category)
        and colour in (None, v.colour)
        and edition in (None, v.edition)
        and brand in (None, v.brand)
        and (min_price_cents is None or v.price_cents >= min_price_cents)
        and (max_price_cents is None or v.price_cents <= max_price_cents)
        and (min_rating is None or v.rating >= min_rating)
        and (v.stock > 0 or not in_stock)
    ]
    return page(
        context,
        found,
        cursor,
        lambda v: {
            "name": v.name,
            "brand": v.brand,
            "category": v.category,
            "colour": v.colour,
            "edition": v.edition,
            "price_cents": v.price_cents,
            "rating": v.rating,
        },
    )


@tool(reads=Reads(table="orders", by={"order_id": "id"}, follow=("order_lines.order_id",)))
def get_order(context: ToolContext, order_id: OrderId) -> object:
    """Show one of your orders and its lines.

    Args:
        order_id: The order's id, such as ORD-1012.
    """
    order = context.state.get(ShopOrder, order_id)
    lines = context.state.find(BasketLine, order_id=order_id)
    context.show(order, *lines)
    return {"order": order, "lines": lines}


@tool()
def get_basket(context: ToolContext) -> object:
    """Show the basket: its lines, the choices for the checkout, and what an order of it would come to."""
    checkout, lines = _checkout(context), _basket(context)
    context.show(checkout, *(line for _, line in lines))
    sums = _totals(context, checkout, lines) if lines and checkout.delivery else None
    return {"lines": [line for _, line in lines], "checkout": checkout, "totals": _describe(sums)}


@tool(writes=True)
def add_to_basket(context: ToolContext, variant_id: VariantId, quantity: Pieces) -> object:
    """Put pieces of an article into the basket.

    Args:
        variant_id: The article's id, such as VAR-1042.
        quantity: How many pieces.
    """
    variant = context.state.get(Variant, variant_id)
    line = next((line for _, line in _basket(context) if line.variant_id == variant_id), None)
    wanted = quantity + (line.quantity if line else 0)
    _check_stock(variant, wanted)
    if line is not None:
        changed = context.state.update(line, quantity=wanted)
    else:
        changed = context.state.insert(
            BasketLine(
                id=context.state.next_id(BasketLine),
                customer_id=context.actor,
                order_id=None,
                variant_id=variant.id,
                product_name=variant.name,
                quantity=quantity,
                unit_cents=variant.price_cents,
                returned=0,
            )
        )
    context.show(changed)
    return changed


@tool(writes=True)
def change_quantity(context: ToolContext, line_id: LineId, quantity: Pieces) -> object:
    """Change how many pieces a line of the basket has.

    Args:
        line_id: The line's id.
        quantity: How many pieces it has then.
    """
    line = _in_basket(context, line_id)
    _check_stock(context.state.get(Variant, line.variant_id), quantity)
    changed = context.state.update(line, quantity=quantity)
    context.show(changed)
    return changed


@tool(writes=True)
def remove_from_basket(context: ToolContext, line_id: LineId) -> object:
    """Take a line out of the basket.

    Args:
        line_id: The line's id.
    """
    context.state.delete(_in_basket(context, line_id))
    return {"removed": line_id}


@tool(writes=True)
def choose_delivery(context: ToolContext, delivery: Delivery) -> object:
    """Choose how the next order is delivered.

    Args:
        delivery: Standard or express.
    """
    return _choose(context, delivery=delivery)


@tool(writes=True)
def choose_payment(context: ToolContext, payment: PaymentMethod) -> object:
    """Choose how the next order is paid.

    Args:
        payment: The method.
    """
    return _choose(context, payment=payment)


@tool(writes=True)
def deliver_to(context: ToolContext, street: Text, city: Text) -> object:
    """Choose where the next order is sent; your own address stays as it is.

    Args:
        street: Street and number.
        city: Postcode and town.
    """
    return _choose(context, ship_street=street, ship_city=city)


@tool(writes=True)
def apply_voucher(context: ToolContext, code: PromotionCode) -> object:
    """Use a voucher for the next order. Whether it holds is checked after the order.

    Args:
        code: The voucher's code.
    """
    context.state.get(Promotion, code)
    return _choose(context, promotion_code=code)


@tool(writes=True)
def place_order(context: ToolContext) -> object:
    """Order what is in the basket, by the choices of the checkout, which stay as they are for a next order.

    It is refused while the basket is empty, and before delivery and payment were chosen.
    """
    checkout, lines = _checkout(context), _basket(context)
    if not lines or checkout.delivery is None or checkout.payment is None:
        raise ToolRefusal("incomplete", "put something into the basket and choose delivery and payment first")
    for variant, line in lines:
        _check_stock(variant, line.quantity)
    sums = _totals(context, checkout, lines)
    key = context.state.next_id(ShopOrder)
    order = context.state.insert(
        ShopOrder(
            id=key,
            customer_id=context.actor,
            placed=context.clock.now,
            status="processing",
            delivery=checkout.delivery,
            payment=checkout.payment,
            promotion_code=checkout.promotion_code,
            subtotal_cents=sums.subtotal_cents,
            discount_cents=sums.discount_cents,
            shipping_cents=sums.shipping_cents,
            total_cents=sums.total_cents,
            ship_street=checkout.ship_street,
            ship_city=checkout.ship_city,
            due=due_day(context.rules, context.clock.today, max(v.lead_days for v, _ in lines), checkout.delivery),
            delivered=None,
        )
    )
    ordered = [context.state.update(line, order_id=key) for _, line in lines]
    for variant, line in lines:
        context.state.update(variant, stock=variant.stock - line.quantity)
    context.show(order, *ordered, checkout)
    return {"order": order, "lines": ordered, "checkout": checkout}


@tool(writes=True)
def cancel_order(context: ToolContext, order_id: OrderId) -> object:
    """Cancel an order that is in processing.

    Args:
        order_id: The order's id.
    """
    order = _in_processing(context, order_id)
    for line in context.state.find(BasketLine, order_id=order_id):
        variant = context.state.get(Variant, line.variant_id)
        context.state.update(variant, stock=variant.stock + line.quantity)
    cancelled = context.state.update(order, status="cancelled")
    context.show(cancelled)
    return cancelled


@tool(writes=True)
def redirect_order(context: ToolContext, order_id: OrderId, street: Text, city: Text) -> object:
    """Send an order that is in processing to another address.

    Args:
        order_id: The order's id.
        street: Street and number.
        city: Postcode and town.
    """
    order = _in_processing(context, order_id)
    changed = context.state.update(order, ship_street=street, ship_city=city)
    context.show(changed)
    return changed


@tool(writes=True)
def start_return(context: ToolContext, line_id: LineId, quantity: Pieces) -> object:
    """Announce that pieces of a delivered order come back, for a change of mind.

    Args:
        line_id: The line's id, such as LIN-10012.
        quantity: How many pieces.
    """
    line = context.state.get(BasketLine, line_id)
    order = None if line.order_id is None else context.state.get(ShopOrder, line.order_id)
    if order is None or order.status != "delivered":
        raise ToolRefusal("not_delivered", f"{line_id} has not been delivered")
    if quantity > line.quantity - line.returned:
        raise ToolRefusal("too_many", f"{line_id} has {line.quantity - line.returned} left")
    context.state.update(line, returned=line.returned + quantity)
    opened = context.state.insert(
        Return(
            id=context.state.next_id(Return),
            order_id=order.id,
            line_id=line.id,
            quantity=quantity,
            reason="changed_mind",
            fee_cents=0,
            refund_due_cents=quantity * line.unit_cents,
            status="authorised",
            created=context.clock.now,
        )
    )
    context.show(opened)
    return opened


@tool(writes=True)
def change_address(context: ToolContext, customer_id: CustomerId, street: Text, city: Text) -> object:
    """Change your own address in the address book; orders that were placed keep theirs.

    Args:
        customer_id: Your id.
        street: Street and number.
        city: Postcode and town.
    """
    if customer_id != context.actor:
        raise ToolRefusal("forbidden", f"you are {context.actor}; another account is not yours to change")
    changed = context.state.update(context.state.get(Customer, customer_id), street=street, city=city)
    context.state.update(_checkout(context), ship_street=street, ship_city=city)
    context.show(changed)
    return changed


def _checkout(context: ToolContext) -> Checkout:
    return context.state.find(Checkout, customer_id=context.actor)[0]


def _basket(context: ToolContext) -> list[tuple[Variant, BasketLine]]:
    lines = context.state.find(BasketLine, customer_id=context.actor, order_id=None)
    return [(context.state.get(Variant, line.variant_id), line) for line in lines]


def _in_basket(context: ToolContext, line_id: str) -> BasketLine:
    line = context.state.get(BasketLine, line_id)
    if line.order_id is not None:
        raise ToolRefusal("ordered", f"{line_id} belongs to {line.order_id} and is not in the basket")
    return line


def _in_processing(context: ToolContext, order_id: str) -> ShopOrder:
    order = context.state.get(ShopOrder, order_id)
    if order.status != "processing":
        raise ToolRefusal("wrong_status", f"{order_id} is {order.status}, not processing")
    return order


def _check_stock(variant: Variant, quantity: int) -> None:
    if variant.stock < quantity:
        raise ToolRefusal("out_of_stock", f"of {variant.id} there are {variant.stock}")


def _choose(context: ToolContext, **values: str | None) -> Checkout:
    changed = context.state.update(_checkout(context), **values)
    context.show(changed)
    return changed


def _promotion(state: StateView, code: str | None) -> Promotion | None:
    return None if code is None else state.get(Promotion, code)


def _totals(context: ToolContext, checkout: Checkout, lines: list[tuple[Variant, BasketLine]]) -> OrderTotals:
    promotion = _promotion(context.state, checkout.promotion_code)
    return order_totals(context.rules, goods_of_lines(lines), checkout.delivery or "standard", promotion)


def _describe(sums: OrderTotals | None) -> dict[str, int] | None:
    if sums is None:
        return None
    return {
        "subtotal_cents": sums.subtotal_cents,
        "discount_cents": sums.discount_cents,
        "shipping_cents": sums.shipping_cents,
        "total_cents": sums.total_cents,
    }


TOOLBOX = Toolbox(
    [
        search_variants,
        get_tool(Variant, "Show an article: price, stock, lead days, rating.", example="VAR-1042"),
        get_tool(Product, "Show a product: technical data, warranty, whether it is clearance.", example="GPU-1012"),
        get_tool(
            Promotion,
            "Show a voucher: its discount, when it holds, and what it applies to.",
            name="get_voucher",
            argument="code",
            argument_text="The voucher's code.",
        ),
        get_tool(Customer, "Show your account: name and address.", example="CUS-1001"),
        search_tool(
            ShopOrder,
            "List your orders. At most ten are listed at a time.",
            name="search_orders",
            owner=Customer,
            filters=(("status", "Only orders of this status."),),
            summary=("placed", "status", "total_cents"),
        ),
        get_order,
        list_tool(Return, ShopOrder, "List the returns of an order.", column="order_id"),
        get_basket,
        *handbook_tools(number="RET-1", words="voucher"),
        *reading_tools(CASES),
        add_to_basket,
        change_quantity,
        remove_from_basket,
        choose_delivery,
        choose_payment,
        deliver_to,
        apply_voucher,
        place_order,
        cancel_order,
        redirect_order,
        start_return,
        change_address,
        resolve_tool(CASES),
        decline_tool(CASES),
        reopen_tool(CASES),
        *CONTROL,
    ],
    prose_tool="reply",
)
