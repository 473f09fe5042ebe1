"""The rows of a Shop world: the Storefront's products and vouchers, and an account with a history of orders.

The rows hold what one login may see: the history of one account, drawn here. A shop does not show other people's.
"""

from datetime import date, datetime, timedelta
from itertools import chain, product
from typing import Any, cast, get_args

from palaestra.envs.kit import draw_people, draw_start
from palaestra.envs.state import Base
from palaestra.envs.worlds.shop.schema import (
    SCHEMA,
    BasketLine,
    Checkout,
    Colour,
    Delivery,
    Errand,
    PaymentMethod,
    ShopOrder,
    Variant,
)
from palaestra.envs.worlds.shop.terms import ShopTerms, due_day, order_totals, write_sections
from palaestra.envs.worlds.storefront.population import catalog
from palaestra.envs.worlds.storefront.population.promotions import promotions
from palaestra.envs.worlds.storefront.schema import Customer, Product
from palaestra.records import Row
from palaestra.seeding import Stream

CUSTOMER_ID = "CUS-1001"
"""The customer who is logged in."""
HELD_OUT_SEEDS = range(3_000, 4_000)
_EDITIONS = {
    "keyboard": ("German layout", "US layout", "French layout"),
    "memory": ("single", "twin pack"),
    "storage": ("single", "twin pack"),
    "mouse": ("right-handed", "left-handed"),
    "monitor": ("fixed stand", "swivel stand"),
}
_NOTES = ("Remind me of the sale", "A cable for the office", "Look for a desk lamp", "Ink for the printer")
_BOXES = ("boxed", "tray")
_PROCESSING, _SHIPPED, _DELIVERED = 14, 8, 24


def world_start(seed: int) -> datetime:
    """The moment at which the world of this seed begins."""
    return draw_start("shop", seed)


def populate(seed: int, terms: ShopTerms) -> Base:
    """Every row of the world of this seed; a pure function."""
    stream, start = Stream.root("shop", seed), world_start(seed)
    products = catalog.products(stream.split("products"))
    variants = _variants(stream.split("variants"), products)
    [person] = draw_people(stream.split("people"), 1, held_out=seed in HELD_OUT_SEEDS)
    customer = Customer(
        id=CUSTOMER_ID,
        name=person.name,
        email=f"{person.mailbox}@inbox.example",
        phone="+49 30 5550100",
        street=person.street,
        city=person.city,
        joined=start.date() - timedelta(days=900),
        tier="silver",
        lifetime_cents=0,
        credit_cents=0,
        fraud_hold=False,
    )
    checkout = Checkout(
        id="CHK-1",
        customer_id=customer.id,
        ship_street=customer.street,
        ship_city=customer.city,
        delivery=None,
        payment=None,
        promotion_code=None,
    )
    errands = _errands(stream.split("errands"), start)
    history = _History(stream.split("orders"), start, terms, customer, variants)
    rows: list[Row] = [
        customer,
        checkout,
        *errands,
        *products,
        *variants,
        *promotions(stream.split("promotions"), start.date()),
    ]
    return Base(SCHEMA, chain(rows, history.rows(), write_sections(terms)))


def _errands(stream: Stream, start: datetime) -> list[Errand]:
    """Errands of the past, and some that are open still."""
    errands: list[Errand] = []
    for number, status in enumerate(("resolved", "resolved", "resolved", "open", "open", "open"), 1):
        opened = start - timedelta(days=9 - number, minutes=stream.between(1, 400))
        columns = {"subject": stream.choice(_NOTES), "opened": opened, "status": status}
        errands.append(
            Errand(
                id=f"ERR-{number}",
                customer_id=CUSTOMER_ID,
                team="assistant",
                priority="low",
                policy_id=None,
                evidence_id=None,
                **cast("Any", columns),
            )
        )
    return errands


def _variants(stream: Stream, products: list[Product]) -> list[Variant]:
    made: list[Variant] = []
    for one in products:
        own = stream.split(one.id)
        options = list(product(get_args(Colour), _EDITIONS.get(one.category, _BOXES)))
        for colour, edition in sorted(own.sample(options, own.between(2, 4))):
            price = one.price_cents + 10 * own.between(0, 90)
            if edition == "twin pack":
                price += one.price_cents * 9 // 10
            made.append(
                Variant(
                    id=f"VAR-{1001 + len(made)}",
                    product_id=one.id,
                    name=one.name,
                    brand=one.brand,
                    category=one.category,
                    colour=cast("Colour", colour),
                    edition=edition,
                    price_cents=price,
                    stock=0 if own.chance(10) else own.between(9, 60),
                    lead_days=own.between(0, 3),
                    rating=own.between(21, 49),
                )
            )
    return made


class _History:
    """The orders of an account."""

    def __init__(
        self, stream: Stream, start: datetime, terms: ShopTerms, customer: Customer, variants: list[Variant]
    ) -> None:
        self._stream, self._start, self._terms = stream, start, terms
        self._customer, self._variants = customer, variants

    def rows(self) -> list[Row]:
        """The orders and their lines, the oldest first."""
        statuses = ["delivered"] * _DELIVERED + ["shipped"] * _SHIPPED + ["processing"] * _PROCESSING
        plans = [(self._draw_placed(status), number, status) for number, status in enumerate(statuses)]
        rows: list[Row] = []
        lines = 0
        for place, (placed, _, status) in enumerate(sorted(plans)):
            made = self._order(f"ORD-{1001 + place}", 10001 + lines, placed, status)
            lines += len(made) - 1
            rows += made
        return rows

    def _draw_placed(self, status: str) -> datetime:
        back = {"processing": (0, 1), "shipped": (3, 5), "delivered": (9, self._terms.return_days + 40)}[status]
        return self._start - timedelta(days=self._stream.between(*back), minutes=self._stream.between(30, 500))

    def _order(self, key: str, first_line: int, placed: datetime, status: Any) -> list[Row]:
        goods = self._stream.sample([v for v in self._variants if v.price_cents < 60_000], self._stream.between(1, 3))
        delivery: Delivery = "standard"
        payment = self._stream.choice(get_args(PaymentMethod))
        counts = [self._stream.between(1, 3) for _ in goods]
        sums = order_totals(
            self._terms, [(v.category, v.price_cents * n) for v, n in zip(goods, counts, strict=True)], delivery, None
        )
        lines = [
            BasketLine(
                id=f"LIN-{first_line + place}",
                customer_id=self._customer.id,
                order_id=key,
                variant_id=variant.id,
                product_name=variant.name,
                quantity=number,
                unit_cents=variant.price_cents,
                returned=0,
            )
            for place, (variant, number) in enumerate(zip(goods, counts, strict=True))
        ]
        due, arrived = self._arrival(placed.date(), status, max(v.lead_days for v in goods))
        order = ShopOrder(
            id=key,
            customer_id=self._customer.id,
            placed=placed,
            status=status,
            delivery=delivery,
            payment=payment,
            promotion_code=None,
            subtotal_cents=sums.subtotal_cents,
            discount_cents=0,
            shipping_cents=sums.shipping_cents,
            total_cents=sums.total_cents,
            ship_street=self._customer.street,
            ship_city=self._customer.city,
            due=due,
            delivered=arrived,
        )
        return [order, *lines]

    def _arrival(self, placed: date, status: str, lead: int) -> tuple[date, date | None]:
        due = due_day(self._terms, placed, lead, "standard")
        today = self._start.date()
        if status == "delivered":
            arrived = min(due, today - timedelta(days=1))
            return due, arrived
        return max(due, today + timedelta(days=self._terms.address_days + 3)), None
