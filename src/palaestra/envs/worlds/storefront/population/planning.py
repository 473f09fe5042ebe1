"""Dealing the scenes out to customers, so that the tiers come out right.

Bookings keep every account below its next tier; what is then missing to its own threshold is topped up with
past orders. So tiers follow from spending, although scenes were dealt by tier.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import cycle

from palaestra.envs.worlds.storefront.policy import StorePolicy, earns_tier
from palaestra.envs.worlds.storefront.population.baskets import Shelves, basket
from palaestra.envs.worlds.storefront.population.plan import TIERS, Account, Course, Item, Sale, goods_of
from palaestra.envs.worlds.storefront.population.promotions import applicable
from palaestra.envs.worlds.storefront.population.scenes import PAST, PLAIN, SCENES, Scene
from palaestra.envs.worlds.storefront.schema import Build, Product, Promotion
from palaestra.seeding import Stream

_SHIPPING = ((0, 25), (490, 30), (690, 25), (1290, 20))
_DEAREST_SHIPPING = 1290
_BUDGET_PERCENT = 30
_SMALLEST_BUDGET = 8_000
_TOP_UP = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanningInputs:
    """What planning draws from."""

    today: date
    policy: StorePolicy
    shop: Shelves
    promotions: Sequence[Promotion]


def plan_sales(
    stream: Stream,
    market: PlanningInputs,
    accounts: Sequence[Account],
    builds: Sequence[tuple[Build, Sequence[Product]]],
) -> list[Sale]:
    """All orders of a world, by date. Accounts end in their tiers.

    Args:
        stream: Decides everything that is drawn.
        market: What there is to buy, and by which rules.
        accounts: Every customer; their sales are booked here.
        builds: The ordered builds with their parts; each becomes an order of its customer.
    """
    by_id = {account.customer_id: account for account in accounts}
    for build, parts in builds:
        account = by_id[build.customer_id]
        _book(account, _build_sale(stream.split(build.id), market, account, build.id, parts), market)
    for name, scene in SCENES.items():
        _deal(stream.split("scene", name), market, scene, accounts)
    for account in accounts:
        _top_up(stream.split("top up", account.customer_id), market, account)
    return sorted(
        (sale for account in accounts for sale in account.sales),
        key=lambda sale: (sale.course.placed, sale.customer_id),
    )


def _deal(stream: Stream, market: PlanningInputs, scene: Scene, accounts: Sequence[Account]) -> None:
    low = _lowest(scene, market.policy)
    need = scene.charges * (max(low * 7 // 4, _SMALLEST_BUDGET) + _DEAREST_SHIPPING)
    for tier, count in zip(TIERS, scene.counts, strict=True):
        fitting = [a for a in accounts if a.tier == tier and a.held == scene.held]
        # Whoever has the fewest orders comes first, so that nobody is left without one.
        queue = cycle(sorted(stream.permutation(fitting), key=lambda a: len(a.sales)))
        for _ in range(count):
            account = _next_with_room(queue, need, len(fitting))
            high = _highest(scene, account, market.policy, low)
            _book(account, _stage(stream, market, scene, account, low=low, high=high), market)


def _next_with_room(queue: Iterator[Account], need: int, tries: int) -> Account:
    for _ in range(tries):
        account = next(queue)
        if account.room >= need:
            return account
    raise AssertionError(f"no account has room for {need} cents; lower the counts of the scenes")


def _lowest(scene: Scene, policy: StorePolicy) -> int:
    match scene.over:
        case "agent_limit":
            return policy.agent_limit_cents + 1
        case "supervisor_limit":
            return policy.supervisor_limit_cents + 1
        case "nothing":
            return 0


def _highest(scene: Scene, account: Account, policy: StorePolicy, low: int) -> int:
    budget = max(low * 7 // 4, _budget(account, policy) // scene.charges)
    if scene.over == "agent_limit":
        budget = min(budget, policy.supervisor_limit_cents)
    return min(budget, account.room // scene.charges - _DEAREST_SHIPPING)


def _budget(account: Account, policy: StorePolicy) -> int:
    above = [cents for cents in policy.tier_from_cents.values() if cents > account.floor]
    return max(_SMALLEST_BUDGET, min(above, default=2 * account.floor) * _BUDGET_PERCENT // 100)


def _stage(stream: Stream, market: PlanningInputs, scene: Scene, account: Account, *, low: int, high: int) -> Sale:
    course = scene.course(stream, market.today, market.policy, account.tier)
    items = basket(stream, scene.wish, market.shop, low, high)
    code = _code(stream, market, scene, items, course.placed.date())
    return _sale(stream, scene, account, course, items, code=code)


def _code(
    stream: Stream, market: PlanningInputs, scene: Scene, items: tuple[Item, ...], on: date
) -> tuple[Promotion, int] | None:
    if scene.code == "none" or (scene.code == "chance" and not stream.chance(40)):
        return None
    codes = applicable(market.promotions, goods_of(items), on)
    return stream.choice(codes) if codes else None


def _sale(
    stream: Stream,
    scene: Scene,
    account: Account,
    course: Course,
    items: tuple[Item, ...],
    *,
    code: tuple[Promotion, int] | None = None,
    build_id: str | None = None,
) -> Sale:
    return Sale(
        customer_id=account.customer_id,
        tier=account.tier,
        course=course,
        items=items,
        promotion=code[0] if code else None,
        discount_cents=code[1] if code else 0,
        shipping_cents=stream.weighted_choice(_SHIPPING),
        charges=scene.charges,
        aftermath=scene.aftermath,
        build_id=build_id,
    )


def _build_sale(
    stream: Stream, market: PlanningInputs, account: Account, build_id: str, parts: Sequence[Product]
) -> Sale:
    course = PAST.course(stream, market.today, market.policy, account.tier)
    items = tuple(Item(product=p, quantity=1, unit_cents=p.price_cents, opened=False) for p in parts)
    return _sale(stream, PAST, account, course, items, build_id=build_id)


def _top_up(stream: Stream, market: PlanningInputs, account: Account) -> None:
    while (missing := account.floor - account.certain) > 0:
        low = min(missing, _TOP_UP)
        high = max(low * 4 // 3, low + _SMALLEST_BUDGET)
        course = PAST.course(stream, market.today, market.policy, account.tier)
        items = basket(stream, PLAIN, market.shop, low, min(high, account.room - _DEAREST_SHIPPING))
        _book(account, _sale(stream, PAST, account, course, items), market)


def _book(account: Account, sale: Sale, market: PlanningInputs) -> None:
    account.book(sale, counts=earns_tier(market.policy, sale.course.placed.date(), market.today))
