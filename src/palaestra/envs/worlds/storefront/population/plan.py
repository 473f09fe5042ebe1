"""What an order is to be before it has a number: the records that the planning of a world passes around.

Orders are planned customer by customer and numbered by date afterwards, so that an id tells nothing but age.
"""

from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Literal, TypeAlias, get_args

from palaestra.envs.worlds.storefront.policy import StorePolicy
from palaestra.envs.worlds.storefront.schema import Category, Product, Promotion, Tier

TIERS: tuple[Tier, ...] = get_args(Tier)
OrderStatus: TypeAlias = Literal["processing", "shipped", "delivered", "cancelled"]
ParcelStatus: TypeAlias = Literal["preparing", "in_transit", "delivered", "lost"]
Aftermath: TypeAlias = Literal["none", "refunded", "sent_back", "called_off", "returning", "lost_refunded", "rebooked"]
"""What came after the sale: nothing; a refund without sending back; a received, a cancelled or a running
return; the refund of a lost order; the refund of a duplicate charge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """A shipment to be."""

    status: ParcelStatus
    shipped: date | None
    due: date
    last_scan: date | None
    delivered: date | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """When and how an order goes; a second parcel replaces a lost first one."""

    placed: datetime
    status: OrderStatus
    parcels: tuple[Parcel, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """An order line to be."""

    product: Product
    quantity: int
    unit_cents: int
    opened: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Sale:
    """An order to be."""

    customer_id: str
    tier: Tier
    course: Course
    items: tuple[Item, ...]
    promotion: Promotion | None
    discount_cents: int
    shipping_cents: int
    charges: int
    """How often the order was charged: twice by mistake, once otherwise."""
    aftermath: Aftermath
    build_id: str | None

    @property
    def subtotal_cents(self) -> int:
        """The goods at list price."""
        return sum(i.unit_cents * i.quantity for i in self.items)

    @property
    def total_cents(self) -> int:
        """What one charge amounts to."""
        return self.subtotal_cents - self.discount_cents + self.shipping_cents


@dataclass(slots=True, kw_only=True)
class Account:
    """A customer to be: a tier to end in, and the spending that leads there."""

    customer_id: str
    tier: Tier
    held: bool
    floor: int
    """The spending from which the tier holds."""
    room: int
    """What may still be spent before the next tier."""
    certain: int = 0
    """What counts for the tier whatever is refunded later."""
    sales: list[Sale] = field(default_factory=list[Sale])

    def book(self, sale: Sale, *, counts: bool) -> None:
        """Take a sale over; `counts` tells whether it lies within the months that earn a tier."""
        self.sales.append(sale)
        if not counts or sale.course.status in {"processing", "cancelled"}:
            return
        spent = sale.total_cents * sale.charges
        self.room -= spent
        if sale.aftermath == "none":
            self.certain += spent


def account(customer_id: str, tier: Tier, policy: StorePolicy, *, held: bool) -> Account:
    """An account without sales. The highest tier has room for five times its threshold."""
    floor = policy.tier_from_cents[tier]
    above = [cents for cents in policy.tier_from_cents.values() if cents > floor]
    ceiling = min(above) if above else 5 * floor
    return Account(customer_id=customer_id, tier=tier, held=held, floor=floor, room=ceiling - 1)


def goods_of(items: tuple[Item, ...]) -> list[tuple[Category, int]]:
    """What `promotion_cents` reads of items."""
    return [(i.product.category, i.unit_cents * i.quantity) for i in items]
