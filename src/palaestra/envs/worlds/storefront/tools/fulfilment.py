"""Tools that change what is sent and what comes back: orders, parcels, returns, warranty claims, builds."""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from palaestra.envs.worlds.storefront.policy import paid_cents
from palaestra.envs.worlds.storefront.schema import (
    Build,
    BuildId,
    Fault,
    LineId,
    Order,
    OrderId,
    OrderLine,
    Payment,
    Product,
    ProductId,
    Return,
    ReturnId,
    ReturnReason,
    Shipment,
    ShipmentId,
    WarrantyClaim,
)
from palaestra.envs.worlds.storefront.tools.compute import Quantity
from palaestra.envs.worlds.storefront.tools.facts import delivery_day, line_and_order
from palaestra.errors import ToolRefusal
from palaestra.records import Money, References
from palaestra.tools import ToolContext, tool

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=2, max_length=80)]
ClaimId = Annotated[str, References("warranty_claims")]

REPLACEMENT_DAYS = 4
"""How long a replacement parcel takes."""


@tool(writes=True, latency=5)
def cancel_order(context: ToolContext, order_id: OrderId) -> object:
    """Cancel an order that has not been sent: its payment is voided and its goods go back on the shelf.

    Args:
        order_id: The order's id.
    """
    order = _unsent(context, order_id, "cancelled")
    for payment in context.state.find(Payment, order_id=order_id, status="authorised"):
        context.state.update(payment, status="voided")
    for shipment in context.state.find(Shipment, order_id=order_id):
        context.state.delete(shipment)
    for line in context.state.find(OrderLine, order_id=order_id):
        product = context.state.get(Product, line.product_id)
        context.state.update(product, stock=product.stock + line.quantity)
    cancelled = context.state.update(order, status="cancelled")
    context.show(cancelled)
    return cancelled


@tool(writes=True, latency=5)
def update_shipping_address(context: ToolContext, order_id: OrderId, street: Text, city: Text) -> object:
    """Change where an order is sent, as long as it has not been sent.

    Args:
        order_id: The order's id.
        street: Street and number.
        city: City.
    """
    order = _unsent(context, order_id, "sent elsewhere")
    changed = context.state.update(order, ship_street=street, ship_city=city)
    context.show(changed)
    return changed


@tool(writes=True, latency=5)
def declare_lost(context: ToolContext, shipment_id: ShipmentId) -> object:
    """Declare a parcel lost.

    Args:
        shipment_id: The shipment's id, such as SHP-10042.
    """
    shipment = context.state.get(Shipment, shipment_id)
    if shipment.status != "in_transit":
        raise ToolRefusal("not_in_transit", f"{shipment_id} is {shipment.status}; only a parcel on its way can be lost")
    lost = context.state.update(shipment, status="lost")
    context.show(lost)
    return lost


@tool(writes=True, latency=5)
def send_replacement(context: ToolContext, shipment_id: ShipmentId) -> object:
    """Send the goods of a lost parcel again.

    Args:
        shipment_id: The lost shipment's id.
    """
    lost = context.state.get(Shipment, shipment_id)
    if lost.status != "lost":
        raise ToolRefusal("not_lost", f"{shipment_id} is {lost.status}; declare it lost first")
    if context.state.find(Shipment, replaces=shipment_id):
        raise ToolRefusal("already_replaced", f"a replacement for {shipment_id} is on its way already")
    for line in context.state.find(OrderLine, order_id=lost.order_id):
        product = context.state.get(Product, line.product_id)
        if product.stock < line.quantity:
            raise ToolRefusal(
                "out_of_stock", f"{product.id} has {product.stock} in stock, the order needs {line.quantity}"
            )
        context.state.update(product, stock=product.stock - line.quantity)
    new_id = context.state.next_id(Shipment)
    replacement = Shipment(
        id=new_id,
        order_id=lost.order_id,
        carrier=lost.carrier,
        tracking=f"{lost.carrier[:2].upper()}{new_id.removeprefix('SHP-')}R",
        status="preparing",
        shipped=None,
        due=context.clock.today + timedelta(days=REPLACEMENT_DAYS),
        last_scan=None,
        delivered=None,
        replaces=shipment_id,
    )
    context.state.insert(replacement)
    context.show(replacement)
    return replacement


@tool(writes=True, latency=5)
def authorise_return(
    context: ToolContext,
    line_id: LineId,
    quantity: Quantity,
    reason: ReturnReason,
    fee_cents: Annotated[int, Money(), Field(ge=0, le=10_000_000)],
) -> object:
    """Let a customer send pieces of a line back. What they paid, less the fee, is due to them when it arrives.

    Args:
        line_id: The line's id.
        quantity: How many pieces come back.
        reason: Why.
        fee_cents: The restocking fee, in cents; 0 for none.
    """
    line, order = line_and_order(context, line_id)
    delivery_day(context.state, order)
    left = line.quantity - line.returned
    if quantity > left:
        raise ToolRefusal("bad_quantity", f"{line_id} has {left} piece(s) left to return, not {quantity}")
    # Rounding must not let pieces sent back one by one cost more than the line.
    paid = paid_cents(order, line, line.returned + quantity) - paid_cents(order, line, line.returned)
    if fee_cents > paid:
        raise ToolRefusal("bad_fee", f"the fee is more than the {paid} cents that the pieces cost")
    context.state.update(line, returned=line.returned + quantity)
    authorised = Return(
        id=context.state.next_id(Return),
        order_id=order.id,
        line_id=line_id,
        quantity=quantity,
        reason=reason,
        fee_cents=fee_cents,
        refund_due_cents=paid - fee_cents,
        status="authorised",
        created=context.clock.now,
    )
    context.state.insert(authorised)
    context.show(authorised)
    return authorised


@tool(writes=True, latency=5)
def cancel_return(context: ToolContext, return_id: ReturnId) -> object:
    """Take back the authorisation of a return that has not arrived.

    Args:
        return_id: The return's id, such as RMA-1042.
    """
    authorised = context.state.get(Return, return_id)
    if authorised.status != "authorised":
        raise ToolRefusal("not_authorised", f"{return_id} is {authorised.status}")
    line = context.state.get(OrderLine, authorised.line_id)
    context.state.update(line, returned=line.returned - authorised.quantity)
    cancelled = context.state.update(authorised, status="cancelled")
    context.show(cancelled)
    return cancelled


@tool(writes=True, latency=5)
def open_warranty_claim(
    context: ToolContext, line_id: LineId, fault: Fault, remedy: Literal["replace", "repair"]
) -> object:
    """Open a warranty claim on a delivered order line.

    Args:
        line_id: The line's id.
        fault: What is wrong.
        remedy: What we will do.
    """
    _, order = line_and_order(context, line_id)
    delivery_day(context.state, order)
    if context.state.find(WarrantyClaim, line_id=line_id, status="open"):
        raise ToolRefusal("already_open", f"{line_id} has an open warranty claim")
    claim = WarrantyClaim(
        id=context.state.next_id(WarrantyClaim),
        line_id=line_id,
        fault=fault,
        remedy=remedy,
        status="open",
        opened=context.clock.now,
    )
    context.state.insert(claim)
    context.show(claim)
    return claim


@tool(writes=True, latency=5)
def withdraw_warranty_claim(context: ToolContext, claim_id: ClaimId) -> object:
    """Withdraw an open warranty claim.

    Args:
        claim_id: The claim's id, such as CLM-1042.
    """
    claim = context.state.get(WarrantyClaim, claim_id)
    if claim.status != "open":
        raise ToolRefusal("not_open", f"{claim_id} is {claim.status}")
    withdrawn = context.state.update(claim, status="withdrawn")
    context.show(withdrawn)
    return withdrawn


@tool(writes=True, latency=5)
def replace_build_part(context: ToolContext, build_id: BuildId, product_id: ProductId) -> object:
    """Put another part into a custom PC that is still a draft, in place of the one of the same category.

    Args:
        build_id: The build's id.
        product_id: The new part.
    """
    build = context.state.get(Build, build_id)
    product = context.state.get(Product, product_id)
    if build.status != "draft":
        raise ToolRefusal("already_ordered", f"{build_id} has been ordered and can no longer be changed")
    column = f"{product.category}_id"
    if column not in Build.__dataclass_fields__:
        raise ToolRefusal("no_such_slot", f"a build has no place for a {product.category}")
    changed = context.state.update(build, **{column: product_id})
    context.show(changed)
    return changed


def _unsent(context: ToolContext, order_id: str, done: str) -> Order:
    order = context.state.get(Order, order_id)
    if order.status != "processing":
        raise ToolRefusal("already_sent", f"{order_id} is {order.status} and can no longer be {done}")
    return order


TOOLS = (
    cancel_order,
    update_shipping_address,
    declare_lost,
    send_replacement,
    authorise_return,
    cancel_return,
    open_warranty_claim,
    withdraw_warranty_claim,
    replace_build_part,
)
