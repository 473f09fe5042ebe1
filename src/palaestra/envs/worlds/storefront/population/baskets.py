"""What lies in an order: a lead product that serves its purpose, and what was bought along with it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from palaestra.envs.worlds.storefront.population.catalog import PricedProducts
from palaestra.envs.worlds.storefront.population.plan import Item
from palaestra.envs.worlds.storefront.schema import Product
from palaestra.seeding import Stream

Aisle: TypeAlias = Literal["any", "regular", "in_stock", "final_sale", "sold_out", "matched"]
Shelves: TypeAlias = Mapping[Aisle, PricedProducts]

_LEAD_PIECES = ((1, 68), (2, 20), (3, 8), (4, 4))
_MORE_LINES = ((0, 26), (1, 38), (2, 24), (3, 12))
_MORE_PIECES = ((1, 80), (2, 16), (3, 4))
_CHEAPEST_LEAD = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a basket should hold."""

    lead: Aisle = "any"
    rest: Aisle = "any"
    pieces: int = 1
    """The least quantity of the lead."""
    opened: int = 20
    """How many lines in a hundred the customer opened."""
    at_list: bool = False
    """Whether the goods were bought at today's prices; otherwise some were cheaper then."""


def shelves(products: list[Product], matched: list[Product]) -> dict[Aisle, PricedProducts]:
    """The aisles of a world's shop."""
    return {
        "any": PricedProducts(products),
        "regular": PricedProducts(p for p in products if not p.final_sale),
        "in_stock": PricedProducts(p for p in products if p.stock > 0),
        "final_sale": PricedProducts(p for p in products if p.final_sale),
        "sold_out": PricedProducts(p for p in products if p.stock == 0),
        "matched": PricedProducts(matched),
    }


def basket(stream: Stream, wish: Wish, shop: Shelves, low: int, high: int) -> tuple[Item, ...]:
    """Items worth at most `high`, the first of them worth at least `low`."""
    product, quantity = _lead(stream, wish, shop[wish.lead], max(low, _CHEAPEST_LEAD), high)
    items = [_item(stream, wish, product, quantity, at_list=wish.at_list or low > 0)]
    left = high - product.price_cents * quantity
    for _ in range(stream.weighted_choice(_MORE_LINES)):
        wanted = stream.weighted_choice(_MORE_PIECES)
        more = shop[wish.rest].draw(stream, 0, left // (2 * wanted))
        if more is not None and all(more != i.product for i in items):
            items.append(_item(stream, wish, more, wanted, at_list=wish.at_list))
            left -= more.price_cents * wanted
    return tuple(items)


def _lead(stream: Stream, wish: Wish, shelf: PricedProducts, low: int, high: int) -> tuple[Product, int]:
    for quantity in (stream.weighted_choice(_LEAD_PIECES), 1, 2, 3, 4):
        if quantity >= wish.pieces:
            product = shelf.draw(stream, -(-low // quantity), high // quantity)
            if product is not None:
                return product, quantity
    raise AssertionError(f"the shop has nothing in {wish.lead!r} worth {low} to {high} cents")


def _item(stream: Stream, wish: Wish, product: Product, quantity: int, *, at_list: bool) -> Item:
    price = product.price_cents
    if not at_list and stream.chance(40):
        price = price * stream.between(88, 99) // 100
    return Item(product=product, quantity=quantity, unit_cents=price, opened=stream.chance(wish.opened))
