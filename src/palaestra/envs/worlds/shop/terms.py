"""The shop's terms: their numbers, the handbook that states them, and what they make of a basket."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import lru_cache

from palaestra.envs.kit import (
    HandbookVariants,
    Section,
    amount,
    count,
    enumerate_words,
    parse_sections,
    percent_half_up,
)
from palaestra.envs.worlds.shop.schema import BasketLine, Delivery, Variant
from palaestra.envs.worlds.storefront.schema import Category, Promotion
from palaestra.protocols import StateView


@dataclass(frozen=True, slots=True, kw_only=True)
class ShopTerms:
    """Every number that the shop's terms state."""

    minimum_cents: int = 2_500
    most_pieces: int = 5
    cancel_days: int = 3
    address_days: int = 2
    standard_days: int = 3
    no_express: tuple[Category, ...] = ("monitor", "case")
    voucher_floor_cents: int = 5_000
    return_days: int = 30
    free_from_cents: int = 10_000
    standard_cents: int = 490
    express_cents: int = 990


TERMS = HandbookVariants(
    stream="shop-terms",
    own=ShopTerms(),
    changes={
        "minimum_cents": (1_500, 4_000, 6_000),
        "most_pieces": (3, 4, 7, 8),
        "cancel_days": (1, 2, 5),
        "address_days": (1, 3, 4),
        "standard_days": (2, 4, 5),
        "no_express": (("monitor",), ("case", "psu"), ("monitor", "case", "gpu")),
        "voucher_floor_cents": (3_000, 8_000, 12_000),
        "return_days": (14, 21, 45),
    },
    sections={
        "minimum_cents": ("ORD-1",),
        "most_pieces": ("ORD-2",),
        "cancel_days": ("ORD-3",),
        "address_days": ("ADR-1",),
        "standard_days": ("DEL-1",),
        "no_express": ("DEL-2",),
        "voucher_floor_cents": ("VOU-1",),
        "return_days": ("RET-1",),
    },
    fewest=3,
    most=5,
)

_TEXT = """
## ORD-1 Smallest order
Goods of an order come to at least {minimum} before any voucher. A smaller order is not placed: the errand is declined
by this section; the record that shows it is the article.
## ORD-2 Pieces for each household
Of one article an order holds at most {pieces}. An errand for more is declined by this section, and nothing of it is
ordered; the record that shows it is the article.
## ORD-3 Cancelling an order
An order in processing can be cancelled until {cancel} after the day on which it was placed. A later request, or one for
an order that was sent, is declined by this section; the record that shows it is the order.
## STK-1 What is sold out
What is sold out, or not there in the number that is wanted, can not be ordered, and nothing else is sent in its place.
An errand for it is declined by this section; the record that shows it is an article that fits the wish in all else.
## BUD-1 Limits of the customer
A price that the customer names is a limit for the goods. Where what they want costs more, the errand is declined by
this section and nothing is ordered; the record that shows it is an article that fits the wish in all but its price.
## DEL-1 Delivery
An article is sent its number of lead days after the order. Standard delivery takes {standard} from then, and express
one day. Standard costs {fee}, and nothing from goods of {free} on; express costs {express}. An errand whose day can not
be kept is declined by this section; the record that shows it is the article.
## DEL-2 What express does not carry
Express does not carry articles of these kinds: {bulky}. An errand that asks for it is declined by this section; the
record that shows it is the article.
## VOU-1 Vouchers
A voucher holds from its first to its last day, for the kind of article that it names, and for goods of at least its own
minimum and at least {floor}. Whoever uses one that does not hold pays the difference later. An errand with such a
voucher is declined by this section, unless it says otherwise; the record that shows it is the voucher.
## RET-1 Returns
Goods may be sent back until {back} after the day on which they were delivered, for the price that was paid and no fee.
A later request is declined by this section; the record that shows it is the order.
## RET-2 Clearance
Clearance goods (final sale) are not taken back for a change of mind. Such a request is declined by this section; the
record that shows it is the product.
## ADR-1 Another address for an order
The address of an order in processing can be changed until {address} before the day on which it is due. A later request,
or one for an order that was sent, is declined by this section; the record that shows it is the order.
## ADR-2 Your address book
The address of an account is changed in its address book. Orders that were placed keep theirs.
## PRV-1 Accounts of others
An account shows its own orders alone. An errand about an order of somebody else is declined by this section; the record
that shows it is the customer's own account.
"""


def write_sections(terms: ShopTerms) -> list[Section]:
    """The handbook under these terms."""
    return parse_sections(
        _TEXT.format(
            minimum=amount(terms.minimum_cents),
            pieces=count(terms.most_pieces, "piece"),
            cancel=count(terms.cancel_days, "day"),
            standard=count(terms.standard_days, "day"),
            fee=amount(terms.standard_cents),
            free=amount(terms.free_from_cents),
            express=amount(terms.express_cents),
            bulky=enumerate_words(terms.no_express),
            floor=amount(terms.voucher_floor_cents),
            back=count(terms.return_days, "day"),
            address=count(terms.address_days, "day"),
        )
    )


def read_terms(state: StateView) -> ShopTerms:
    """The terms that the rows of the handbook state: `write_sections` read back."""
    return _read_terms(tuple((section.id, section.body) for section in state.find(Section)))


@lru_cache(maxsize=64)
def _read_terms(stated: tuple[tuple[str, str], ...]) -> ShopTerms:
    bodies = dict(stated)
    terms = TERMS.own
    for name, changes in TERMS.changes.items():
        [key] = TERMS.sections[name]
        offered = (replace(terms, **{name: value}) for value in (getattr(TERMS.own, name), *changes))
        terms = next(one for one in offered if _write_bodies(one)[key] == bodies[key])
    return terms


def _write_bodies(terms: ShopTerms) -> dict[str, str]:
    return {section.id: section.body for section in write_sections(terms)}


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderTotals:
    """What an order comes to, in cents."""

    subtotal_cents: int
    discount_cents: int
    shipping_cents: int

    @property
    def total_cents(self) -> int:
        """What is paid."""
        return self.subtotal_cents - self.discount_cents + self.shipping_cents


def order_totals(
    terms: ShopTerms, goods: Sequence[tuple[Category, int]], delivery: Delivery, promotion: Promotion | None
) -> OrderTotals:
    """What goods of (category, cents) come to; the voucher is taken at its word."""
    subtotal = sum(cents for _, cents in goods)
    discount = 0
    if promotion is not None:
        counted = sum(cents for category, cents in goods if promotion.category in (None, category))
        discount = percent_half_up(counted, promotion.percent)
    standard = 0 if subtotal >= terms.free_from_cents else terms.standard_cents
    shipping = terms.express_cents if delivery == "express" else standard
    return OrderTotals(subtotal_cents=subtotal, discount_cents=discount, shipping_cents=shipping)


def due_day(terms: ShopTerms, today: date, lead_days: int, delivery: Delivery) -> date:
    """The day on which an order of today arrives."""
    return today + timedelta(days=lead_days + (1 if delivery == "express" else terms.standard_days))


def goods_of_lines(lines: Sequence[tuple[Variant, BasketLine]]) -> list[tuple[Category, int]]:
    """What `order_totals` reads of lines."""
    return [(variant.category, line.unit_cents * line.quantity) for variant, line in lines]
