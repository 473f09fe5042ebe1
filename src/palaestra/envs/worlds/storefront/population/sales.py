"""Orders with their lines, charges and parcels. An order's number does not tell its age."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import count
from typing import Literal, TypeAlias

from palaestra.envs.kit import Person
from palaestra.envs.worlds.storefront.population.plan import OrderStatus, Parcel, Sale
from palaestra.envs.worlds.storefront.schema import Order, OrderLine, Payment, Refund, Return, Shipment
from palaestra.seeding import Stream

PaymentStatus: TypeAlias = Literal["authorised", "captured", "voided"]

CARRIERS = ("Paketo", "Blitzfracht", "Nordpost", "Relay Express")
_METHODS: tuple[tuple[Literal["card", "paypal", "bank_transfer"], int], ...] = (
    ("card", 55),
    ("paypal", 33),
    ("bank_transfer", 12),
)
_PAYMENT_STATUS: Mapping[OrderStatus, PaymentStatus] = {
    "processing": "authorised",
    "shipped": "captured",
    "delivered": "captured",
    "cancelled": "voided",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletedSale:
    """A planned sale and the rows that it became."""

    sale: Sale
    order: Order
    lines: tuple[OrderLine, ...]
    payments: tuple[Payment, ...]
    shipments: tuple[Shipment, ...]

    @property
    def delivered(self) -> date:
        """The day of delivery.

        Raises:
            ValueError: the order has not been delivered.
        """
        return max(s.delivered for s in self.shipments if s.delivered is not None)


def sell(stream: Stream, sales: Sequence[Sale], people: Mapping[str, Person]) -> list[CompletedSale]:
    """The rows of every sale; `people` gives the address that a customer's parcels went to."""
    line_numbers, payment_numbers, shipment_numbers = count(10_001), count(10_001), count(10_001)
    order_numbers = stream.split("order numbers").permutation(range(1_001, 1_001 + len(sales)))
    found: list[CompletedSale] = []
    for number, sale in zip(order_numbers, sales, strict=True):
        order = _order(f"ORD-{number}", sale, people[sale.customer_id])
        found.append(
            CompletedSale(
                sale=sale,
                order=order,
                lines=tuple(_lines(order, sale, line_numbers)),
                payments=tuple(_payments(stream, order, sale, payment_numbers)),
                shipments=tuple(_shipments(stream, order, sale.course.parcels, shipment_numbers)),
            )
        )
    return found


def apply_returns(sold: CompletedSale, refunds: Sequence[Refund], returns: Sequence[Return]) -> CompletedSale:
    """The same sale after `refunds` and `returns`: pieces counted as returned, money as refunded."""
    pieces = dict.fromkeys((line.id for line in sold.lines), 0)
    for refund in refunds:
        # The money of a returned piece follows the return that counted the piece already.
        if refund.line_id is not None and refund.reason != "changed_mind":
            pieces[refund.line_id] += refund.quantity
    for back in returns:
        if back.status != "cancelled":
            pieces[back.line_id] += back.quantity
    return replace(
        sold,
        lines=tuple(replace(line, returned=pieces[line.id]) for line in sold.lines),
        payments=tuple(
            replace(p, refunded_cents=sum(r.amount_cents for r in refunds if r.payment_id == p.id))
            for p in sold.payments
        ),
    )


def _order(key: str, sale: Sale, person: Person) -> Order:
    return Order(
        id=key,
        customer_id=sale.customer_id,
        placed=sale.course.placed,
        status=sale.course.status,
        build_id=sale.build_id,
        promotion_code=sale.promotion.id if sale.promotion else None,
        subtotal_cents=sale.subtotal_cents,
        discount_cents=sale.discount_cents,
        shipping_cents=sale.shipping_cents,
        total_cents=sale.total_cents,
        ship_street=person.street,
        ship_city=person.city,
    )


def _lines(order: Order, sale: Sale, numbers: Iterable[int]) -> Iterable[OrderLine]:
    arrived = order.status == "delivered"
    for item, number in zip(sale.items, numbers, strict=False):
        yield OrderLine(
            id=f"LIN-{number}",
            order_id=order.id,
            product_id=item.product.id,
            product_name=item.product.name,
            quantity=item.quantity,
            unit_cents=item.unit_cents,
            returned=0,
            opened=item.opened and arrived,
        )


def _payments(stream: Stream, order: Order, sale: Sale, numbers: Iterable[int]) -> Iterable[Payment]:
    method = stream.weighted_choice(_METHODS)
    charged = order.placed + timedelta(seconds=stream.between(5, 90))
    for _, number in zip(range(sale.charges), numbers, strict=False):
        yield Payment(
            id=f"PAY-{number}",
            order_id=order.id,
            method=method,
            status=_PAYMENT_STATUS[order.status],
            amount_cents=order.total_cents,
            refunded_cents=0,
            charged=charged,
        )
        charged += timedelta(seconds=stream.between(70, 600))


def _shipments(stream: Stream, order: Order, parcels: Sequence[Parcel], numbers: Iterable[int]) -> Iterable[Shipment]:
    replaces: str | None = None
    for parcel, number in zip(parcels, numbers, strict=False):
        carrier = stream.choice(CARRIERS)
        yield Shipment(
            id=f"SHP-{number}",
            order_id=order.id,
            carrier=carrier,
            tracking=f"{carrier[:2].upper()}{stream.between(10**9, 10**10 - 1)}",
            status=parcel.status,
            shipped=parcel.shipped,
            due=parcel.due,
            last_scan=parcel.last_scan,
            delivered=parcel.delivered,
            replaces=replaces,
        )
        replaces = f"SHP-{number}"
