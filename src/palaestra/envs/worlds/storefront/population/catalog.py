"""Products of one world, and shelves to draw them from by price."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from palaestra.envs.worlds.storefront.population.wares import WARES, Ware
from palaestra.envs.worlds.storefront.schema import Category, Product
from palaestra.seeding import Stream

PREFIXES: dict[Category, str] = {
    "cpu": "CPU",
    "motherboard": "MBD",
    "memory": "MEM",
    "gpu": "GPU",
    "storage": "STO",
    "psu": "PSU",
    "case": "CAS",
    "cooler": "CLR",
    "monitor": "MON",
    "keyboard": "KBD",
    "mouse": "MSE",
}
"""What the ids of a category's products start with."""

_FINAL_SALE = 13
_SOLD_OUT = 20
_CHEAP_EUROS = 100
# Customers of every tier must be able to afford clearance and sold-out goods, so part of both is cheap.
_CHEAP_SHARE = 7


class PricedProducts:
    """Products in order of price."""

    __slots__ = ("_prices", "_products")

    def __init__(self, products: Iterable[Product]) -> None:
        self._products = sorted(products, key=lambda p: (p.price_cents, p.id))
        self._prices = [p.price_cents for p in self._products]

    def draw(self, stream: Stream, low: int, high: int) -> Product | None:
        """A product that costs from `low` to `high` cents, `None` where there is none."""
        first, end = bisect_left(self._prices, low), bisect_right(self._prices, high)
        return self._products[first + stream.below(end - first)] if first < end else None


def products(stream: Stream) -> list[Product]:
    """Every product of a world; numbers, prices, stock and clearance are drawn."""
    clearance = _mark(stream.split("clearance"), _FINAL_SALE)
    sold_out = _mark(stream.split("sold out"), _SOLD_OUT)
    numbers = dict.fromkeys(PREFIXES, 1000)
    found: list[Product] = []
    for ware in stream.permutation(WARES):
        numbers[ware.category] += 1
        stock = 0 if ware.model in sold_out else stream.between(5, 60)
        found.append(_product(ware, numbers[ware.category], _price(stream, ware), stock, ware.model in clearance))
    return found


def _mark(stream: Stream, count: int) -> frozenset[str]:
    cheap = [w.model for w in WARES if w.euros < _CHEAP_EUROS]
    dear = [w.model for w in WARES if w.euros >= _CHEAP_EUROS]
    return frozenset(stream.sample(cheap, _CHEAP_SHARE) + stream.sample(dear, count - _CHEAP_SHARE))


def _price(stream: Stream, ware: Ware) -> int:
    return ware.euros * stream.between(95, 106) // 100 * 100 + stream.choice((0, 50, 90))


def _product(ware: Ware, number: int, price: int, stock: int, final_sale: bool) -> Product:  # noqa: FBT001
    return Product(
        id=f"{PREFIXES[ware.category]}-{number}",
        name=f"{ware.brand} {ware.model}",
        brand=ware.brand,
        category=ware.category,
        price_cents=price,
        stock=stock,
        warranty_months=ware.warranty_months,
        final_sale=final_sale,
        socket=ware.socket,
        memory_type=ware.memory_type,
        form_factor=ware.form_factor,
        watts=ware.watts,
        length_mm=ware.length_mm,
    )
