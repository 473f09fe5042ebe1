"""What other shops ask: honest matches, and offers that look like one."""

from collections.abc import Sequence
from datetime import date, timedelta

from palaestra.envs.worlds.storefront.policy import StorePolicy
from palaestra.envs.worlds.storefront.schema import CompetitorOffer, Product
from palaestra.seeding import Stream

OTHER_SHOPS = ("Pixelhof", "Nordbyte", "Zentron Outlet", "RigRiot")
_WATCHED = 40
_MATCHED = 24
_CHEAP_CENTS = 12_000
_CHEAP_MATCHED = 10
# A match on several pieces stays within what an agent may credit.
_DEAREST_CENTS = 37_000


def offers(
    stream: Stream, today: date, policy: StorePolicy, products: Sequence[Product]
) -> tuple[list[CompetitorOffer], list[Product]]:
    """All offers, and the products that a listed shop has in stock for less than we ask."""
    cheap = [p for p in products if p.price_cents < _CHEAP_CENTS]
    dear = [p for p in products if _CHEAP_CENTS <= p.price_cents <= _DEAREST_CENTS]
    matched = stream.sample(cheap, _CHEAP_MATCHED) + stream.sample(dear, _MATCHED - _CHEAP_MATCHED)
    known = {p.id for p in matched}
    others = stream.sample([p for p in products if p.id not in known], _WATCHED - _MATCHED)
    found: list[CompetitorOffer] = []
    for product in [*matched, *others]:
        for shop, percent, in_stock in _prices(stream, policy, matched=product.id in known):
            found.append(
                CompetitorOffer(
                    id=f"OFF-{1001 + len(found)}",
                    product_id=product.id,
                    shop=shop,
                    price_cents=product.price_cents * percent // 1000 * 10,
                    in_stock=in_stock,
                    seen=today - timedelta(days=stream.below(3)),
                )
            )
    return found, matched


def _prices(stream: Stream, policy: StorePolicy, *, matched: bool) -> list[tuple[str, int, bool]]:
    # (shop, percent of our price, in stock). A trap undercuts every honest offer: a shop that is not
    # listed, or a listed one that has nothing left.
    listed = stream.permutation(policy.price_match_shops)
    other = stream.choice(OTHER_SHOPS)
    trap = stream.choice(((other, True), (listed[-1], False)))
    offers = [(trap[0], stream.between(62, 74), trap[1])]
    if matched:
        offers.append((listed[0], stream.between(76, 96), True))
    if len(listed) > 2:
        offers.append((listed[1], stream.between(97, 108), True))
    return stream.permutation(offers)
