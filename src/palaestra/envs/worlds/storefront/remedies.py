"""How a lost parcel is made up for (SHP-1), and what the warranty gives for a fault (WAR-2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from palaestra.envs.kit import amount, permit_change
from palaestra.envs.task import call
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.schema import Fault, Order, Product, Refund, Shipment
from palaestra.records import Json, ToolCall
from palaestra.rubrics import Allowance, Criterion, expect_row


def warranty_remedy(desk: Desk, product: Product, fault: Fault) -> Literal["replace", "repair"]:
    """What the warranty gives for a fault of a product (WAR-2)."""
    return "replace" if product.stock > 0 and fault in desk.policy.replaced_faults else "repair"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """What makes up for a lost parcel."""

    criterion: Criterion
    """Expects it; its id is "remedy"."""
    call: ToolCall
    """Does it."""
    allow: Sequence[Allowance]
    """What it changes beside."""
    message: str
    sections: Sequence[str] = ()
    """What of the handbook decides it, beside SHP-1: what an agent may pay alone, where money is paid."""
    states: int | None = None
    """The amount that the customer must be told, in cents; `None` where nothing is paid."""


def in_stock(desk: Desk, order: Order) -> bool:
    """Whether every product of an order could be sent again."""
    return all(desk.product(line).stock >= line.quantity for line in desk.lines(order))


def remedy(desk: Desk, order: Order, parcel: Shipment, *, after: Sequence[str]) -> Remedy:
    """What makes up for the lost `parcel` of an order that is paid with one payment."""
    if desk.policy.lost_remedy == "replacement" and in_stock(desk, order):
        return Remedy(
            criterion=expect_row(Shipment, {"order_id": order.id, "replaces": parcel.id}, id="remedy", after=after),
            call=call("send_replacement", shipment_id=parcel.id),
            allow=[permit_change(desk.product(line), "stock") for line in desk.lines(order)],
            message=f"The parcel of {order.id} is lost. We send it again.",
        )
    [payment] = desk.payments(order)
    paid_back: dict[str, Json] = {"payment_id": payment.id, "amount_cents": order.total_cents, "reason": "lost"}
    return Remedy(
        criterion=expect_row(Refund, {**paid_back, "status": "paid"}, id="remedy", after=[*after, "read-REF-2"]),
        call=call("refund_payment", **paid_back),
        allow=desk.pays(order),
        message=f"The parcel of {order.id} is lost. We have paid you back {amount(order.total_cents)}.",
        sections=("REF-2",),
        states=order.total_cents,
    )
