"""The rows of a Storefront world, from a seed.

A world is planned backwards from the day on which it begins, so that its records hold what task families look
for. Each situation below stands in every world at least this often, apart from whatever chance adds. Only
customers without a fraud hold count (but for the last line), and only orders that nothing has happened to
since: no refund, no return, no credit, no second charge (but for the line of duplicates).

| situation | at least |
|---|---|
| delivered, inside the return window, for each tier | 12 |
| delivered longer ago than the shortest window, inside that of a gold or platinum customer | 12 |
| delivered, past its window by at most sixty days | 12 |
| past its window, a line still in warranty and without a claim | 12 |
| opened line inside the window, platinum; the same, other tiers | 12 |
| final-sale line inside the window | 12 |
| order in processing, payment authorised, parcel in preparation | 12 |
| line of two or more pieces in a discounted order inside the window | 12 |
| line paid with more than the agent's limit, at most the supervisor's, inside the window | 12 |
| line paid with more than the supervisor's limit, inside the window | 6 |
| two equal captured payments minutes apart, neither refunded | 8 |
| parcel lost by the rule, every product in stock; the same, some product sold out | 8 |
| parcel overdue in transit, but not lost | 6 |
| parcel that arrived so late that credit is due, and was not given | 12 |
| price match due, with a cheaper offer beside it that does not count | 12 |
| forgotten promotion code that may still be claimed | 8 |
| draft build with one flaw that one part in stock mends | 8 |
| customer under a fraud hold with an order inside its window | 8 |

Worlds that begin in January see the holiday extension (RET-4) at work; there, a delivery of November or
December may still be returned by every tier.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from itertools import chain

from palaestra.envs.kit import draw_people, draw_start
from palaestra.envs.state import Base
from palaestra.envs.worlds.storefront.handbook import sections
from palaestra.envs.worlds.storefront.policy import POLICY, StorePolicy, earns_tier
from palaestra.envs.worlds.storefront.population import builds, catalog, people
from palaestra.envs.worlds.storefront.population.aftersales import Ledger, store_credits, warranty_claims
from palaestra.envs.worlds.storefront.population.baskets import shelves
from palaestra.envs.worlds.storefront.population.cases import Caseload, messages, tickets
from palaestra.envs.worlds.storefront.population.offers import offers
from palaestra.envs.worlds.storefront.population.people import CustomerFigures
from palaestra.envs.worlds.storefront.population.plan import Account
from palaestra.envs.worlds.storefront.population.planning import PlanningInputs, plan_sales
from palaestra.envs.worlds.storefront.population.promotions import promotions
from palaestra.envs.worlds.storefront.population.sales import CompletedSale, sell
from palaestra.envs.worlds.storefront.schema import SCHEMA, Credit
from palaestra.records import Row
from palaestra.seeding import Stream

__all__ = ["populate", "world_start"]

HELD_OUT_SEEDS = range(3_000, 4_000)
"""World seeds of "heldout", where people have names that occur in no other split."""
_ORDERED_BUILDS = 14
_DRAFTS = 26


def world_start(seed: int) -> datetime:
    """The moment at which the world of this seed begins: nine in the morning of some day of 2026."""
    return draw_start("storefront", seed)


def populate(seed: int, policy: StorePolicy = POLICY) -> Base:
    """Every row of the world of this seed.

    Args:
        seed: Names the world; equal seeds and policies give equal rows, in any process.
        policy: The company's rules. Records of the past keep them, and the handbook states them.
    """
    stream = Stream.root("storefront", seed)
    now = world_start(seed)
    today = now.date()
    accounts = people.accounts(stream.split("accounts"), policy)
    crowd = draw_people(stream.split("persons"), len(accounts) + people.EMPLOYEES, held_out=seed in HELD_OUT_SEEDS)
    employees = people.employees(stream.split("employees"), policy, crowd[len(accounts) :])
    products = catalog.products(stream.split("products"))
    watched, matched = offers(stream.split("offers"), today, policy, products)
    codes = promotions(stream.split("promotions"), today)
    workshop = builds.Workshop(stream.split("builds"), policy, products)
    ordered = builds.ordered_builds(workshop, _builders(accounts))
    market = PlanningInputs(today=today, policy=policy, shop=shelves(products, matched), promotions=codes)
    sales = plan_sales(stream.split("sales"), market, accounts, ordered)
    addresses = {a.customer_id: person for a, person in zip(accounts, crowd, strict=False)}
    ledger = Ledger(today=today, policy=policy, employees=employees)
    sold = [
        ledger.settle(stream.split("settle", one.order.id), one) for one in sell(stream.split("sell"), sales, addresses)
    ]
    given = store_credits(stream.split("credits"), sold, today, policy)
    figures = _figures(sold, given, today, policy)
    held = frozenset(a.customer_id for a in accounts if a.held)
    cases = tickets(stream.split("tickets"), Caseload(today=today, policy=policy, sold=sold, held_ids=held))
    return Base(
        SCHEMA,
        chain(
            people.customers(stream.split("customers"), policy, accounts, crowd[: len(accounts)], figures),
            employees,
            products,
            (build for build, _ in ordered),
            builds.drafts(workshop, [a.customer_id for a in _drafters(stream.split("drafts"), accounts)]),
            chain.from_iterable(_rows_of(one) for one in sold),
            ledger.refunds,
            ledger.returns,
            cases,
            warranty_claims(stream.split("claims"), sold, today, policy),
            codes,
            sections(policy),
            watched,
            given,
            messages(stream.split("messages"), now, employees, cases),
        ),
    )


def _builders(accounts: Sequence[Account]) -> list[str]:
    # Whole PCs are bought by those who spend the most: nobody else's tier would survive one.
    return [a.customer_id for a in accounts if a.tier == "platinum" and not a.held][:_ORDERED_BUILDS]


def _drafters(stream: Stream, accounts: Sequence[Account]) -> list[Account]:
    return stream.sample([a for a in accounts if not a.held], _DRAFTS)


def _rows_of(one: CompletedSale) -> Iterable[Row]:
    return one.order, *one.lines, *one.payments, *one.shipments


def _figures(
    sold: Sequence[CompletedSale], given: Sequence[Credit], today: date, policy: StorePolicy
) -> Mapping[str, CustomerFigures]:
    first: dict[str, date] = {}
    spent: Counter[str] = Counter()
    credit: Counter[str] = Counter()
    for one in sold:
        customer, placed = one.order.customer_id, one.order.placed.date()
        first.setdefault(customer, placed)
        if earns_tier(policy, placed, today):
            spent[customer] += sum(p.amount_cents - p.refunded_cents for p in one.payments if p.status == "captured")
    for row in given:
        credit[row.customer_id] += row.amount_cents
    return {
        customer: CustomerFigures(first_order=day, lifetime_cents=spent[customer], credit_cents=credit[customer])
        for customer, day in first.items()
    }
