"""Most of an order costs less elsewhere: each line is held against the offers that count, and one sum is credited."""

from dataclasses import dataclass
from datetime import timedelta

from palaestra.envs.kit import amount, calculation, count, permit_change
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront import answers
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls, decline_calls
from palaestra.envs.worlds.storefront.matching import price_match_calls
from palaestra.envs.worlds.storefront.planting import DEAREST_SHIPPING_CENTS, arrival, cheap, plain_customer, sell
from palaestra.envs.worlds.storefront.population.offers import OTHER_SHOPS
from palaestra.envs.worlds.storefront.schema import CompetitorOffer, Credit, Customer, Order, Product, Ticket
from palaestra.records import Json, ToolCall
from palaestra.rubrics import Criterion, expect_read, expect_row, forbid_call

DEAREST = 9_000
PIECES = (1, 2, 1, 1)
ARRIVED_DAYS = 2
TOO_OLD_DAYS = 4
"""How long after the last day of a price match an order can be that comes too late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketOffers:
    """What other shops ask for the products of one order: for the first two there is an offer that counts."""

    offers: tuple[tuple[CompetitorOffer, ...], ...]

    @property
    def counting(self) -> tuple[CompetitorOffer, CompetitorOffer]:
        """The lowest offers that count, for the first product and for the second."""
        return self.offers[0][0], self.offers[1][0]


@family("storefront/price-match-order", level=3, traits=("write", "multi-hop", "arithmetic"), twin=True)
def price_match_order(desk: Desk) -> Task:
    room = 5 * DEAREST + DEAREST_SHIPPING_CENTS
    customer = desk.pick(Customer, plain_customer(desk, room=room), what="customer with room for an order")
    shop = [p for p in cheap(desk, below=DEAREST, above=2_000) if not desk.state.find(CompetitorOffer, product_id=p.id)]
    goods, old = desk.stream.sample(shop, len(PIECES)), desk.stream.chance(50)
    order = order_of(desk, customer, goods, old=old and desk.twin)
    body = desk.word_body(
        "cheaper-order",
        (
            f"Nearly all of what I bought in {order.id} costs less in other shops now. Do you match that?",
            f"I compared {order.id} with other shops, piece by piece. Please give me back what I paid too much.",
        ),
        order=order.id,
    )
    ticket = desk.ticket(customer, desk.word_subject("cheaper-order", "Cheaper elsewhere"))
    prompt = desk.mail(ticket, body)
    market = survey(desk, goods)
    opening = [
        call("get_order", order_id=order.id),
        call("get_customer", customer_id=customer.id),
    ]
    looks = [call("search_offers", product_id=product.id) for product in goods]
    read = call("read_handbook", section_id="PRM-1")
    desk.answer = lambda: answers.match_price(desk, ticket, order, desk.lines(order))
    if desk.twin:
        if not old:
            market = empty_shops(desk, market)
        about = [
            expect_read(order, fields=["placed", "promotion_code"], id="saw-order"),
            desk.account(desk.customer(order)),
            *([] if old else offers_seen(market)),
        ]
        return refusal(desk, ticket, prompt, order, about, [*opening, read, *([] if old else looks)], old=old)
    sums, cents = due(desk, goods, market)
    credit: dict[str, Json] = {
        "customer_id": customer.id,
        "order_id": order.id,
        "amount_cents": cents,
        "reason": "price_match",
    }
    work = [
        call("give_credit", **credit),
        *closing_calls(
            ticket,
            f"You have {amount(cents)} of store credit for the {goods[0].name} and the {goods[1].name}. For a piece we "
            f"match at most {desk.policy.price_match_cap_percent} % of what you paid. None of the shops on our list "
            "can deliver the other goods for less.",
        ),
    ]
    seen = offers_seen(market)
    facts = ["saw-order", "saw-account", "read-PRM-1", *(c.id for c in seen)]
    return Task(
        prompt=prompt,
        rubric=[
            forbid_call("issue_refund", "refund_payment", id="never-refund"),
            expect_read(order, fields=["placed", "promotion_code"], id="saw-order"),
            desk.account(desk.customer(order)),
            *seen,
            desk.read("PRM-1"),
            expect_row(Credit, credit, id="credit", after=facts),
            *desk.expect_resolved(ticket, after=["credit"], states=cents),
        ],
        allow=[permit_change(desk.customer(order), "credit_cents")],
        oracle=[*opening, read, *looks, *sums, *work],
        alternatives=[[read, *opening, *reversed(looks), *work]],
    )


def order_of(desk: Desk, customer: Customer, goods: list[Product], *, old: bool) -> Order:
    """Add the order: one of a week ago, or one that is too old for a price match."""
    ago = desk.planting_policy.price_match_days + TOO_OLD_DAYS if old else ARRIVED_DAYS
    return sell(desk, customer, list(zip(goods, PIECES, strict=True)), arrival(desk, desk.today - timedelta(days=ago)))


def survey(desk: Desk, goods: list[Product]) -> MarketOffers:
    """Add what other shops ask, the offers of each product in an order that tells nothing.

    The first product is far cheaper in a listed shop, so that the cap holds; the second a little, and far cheaper in
    a shop that is not listed. The third is cheaper only where it is sold out, the fourth only in a shop not listed.
    """
    listed, other = desk.planting_policy.price_match_shops, desk.stream.choice(OTHER_SHOPS)
    capped = [(listed[0], 60, True), (listed[-1], 97, True)]
    near = [(listed[-1], 93, True), (other, 66, True)]
    nowhere = [(listed[0], 71, False), (listed[-1], 104, True)]
    strange = [(other, 64, True)]
    rows = zip(goods, (capped, near, nowhere, strange), strict=True)
    return MarketOffers(
        offers=tuple(tuple(offer(desk, product, *asked) for asked in found) for product, found in rows),
    )


def offer(desk: Desk, product: Product, shop: str, percent: int, in_stock: bool) -> CompetitorOffer:  # noqa: FBT001
    """Add one offer."""
    return desk.state.insert(
        CompetitorOffer(
            id=f"OFF-{desk.state.next_id(CompetitorOffer)}",
            product_id=product.id,
            shop=shop,
            price_cents=product.price_cents * percent // 1000 * 10,
            in_stock=in_stock,
            seen=desk.today - timedelta(days=1),
        )
    )


def empty_shops(desk: Desk, market: MarketOffers) -> MarketOffers:
    """Let the shops whose offers count have nothing left."""
    first, second = (desk.state.update(o, in_stock=False) for o in market.counting)
    spare = desk.state.update(market.offers[0][1], in_stock=False)
    return MarketOffers(offers=((first, spare), (second, market.offers[1][1]), *market.offers[2:]))


def due(desk: Desk, goods: list[Product], market: MarketOffers) -> tuple[list[ToolCall], int]:
    """The calls that work out the credit for the pieces of the first two products, and what it is in cents."""
    pairs = zip(goods, PIECES, market.counting, strict=False)
    parts = [price_match_calls(desk.policy, p.price_cents, o.price_cents, count) for p, count, o in pairs]
    both, total = calculation("sum", *(cents for _, cents in parts))
    return [*(made for calls, _ in parts for made in calls), both], total


def offers_seen(market: MarketOffers) -> list[Criterion]:
    """Expect that the offers for each product were looked up."""
    return [expect_read(found[0], id=f"saw-offers-{n}") for n, found in enumerate(market.offers, 1)]


def refusal(
    desk: Desk, ticket: Ticket, prompt: str, order: Order, facts: list[Criterion], reading: list[ToolCall], *, old: bool
) -> Task:
    """No offer counts: the shops have nothing left, or the order is too old."""
    days = count(desk.planting_policy.price_match_days, "day")
    told = (
        f"{order.id} was placed on {order.placed.date()}. We match prices within {days} of the day of the order, and "
        "these have passed."
        if old
        else f"None of the shops on our list can deliver anything of {order.id} for less, so there is nothing to match."
    )
    close = decline_calls(ticket, "PRM-1", order, told)
    return Task(
        prompt=prompt,
        rubric=[
            forbid_call("give_credit", id="never-credit"),
            *facts,
            *desk.expect_declined(ticket, "PRM-1", order, after=[fact.id for fact in facts]),
        ],
        oracle=[*reading, *close],
        alternatives=[[reading[2], *reading[:2], *reading[3:], close[1], close[0], close[2]]],
    )
