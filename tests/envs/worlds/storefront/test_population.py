"""The population: deterministic, consistent, big enough, and full of what task families look for."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import cache
from statistics import correlation

import pytest

from palaestra.envs.state import Base, Overlay
from palaestra.envs.worlds.storefront.invariants import fresh_violations
from palaestra.envs.worlds.storefront.invariants.books import BUILD_SLOTS, Books, parts_of
from palaestra.envs.worlds.storefront.policy import (
    POLICY,
    build_problems,
    last_return_day,
    paid_cents,
    promotion_cents,
    warranty_end,
)
from palaestra.envs.worlds.storefront.population import populate, world_start
from palaestra.envs.worlds.storefront.schema import (
    SCHEMA,
    Build,
    Category,
    CompetitorOffer,
    Credit,
    Customer,
    Employee,
    Order,
    OrderLine,
    Payment,
    Product,
    Promotion,
    Refund,
    Return,
    Shipment,
    Ticket,
    Tier,
    WarrantyClaim,
)

SEEDS = (0, 1, 2, 3, 7, 1000, 1001, 2000, 3000)
SIZES = {
    "customers": (155, 165),
    "employees": (24, 24),
    "products": (150, 200),
    "builds": (38, 42),
    "orders": (350, 450),
    "order_lines": (800, 1050),
    "payments": (360, 465),
    "shipments": (340, 450),
    "refunds": (50, 70),
    "returns": (35, 45),
    "tickets": (70, 90),
    "warranty_claims": (38, 42),
    "promotions": (25, 25),
    "handbook": (27, 27),
    "competitor_offers": (90, 120),
    "credits": (28, 32),
    "internal_messages": (38, 42),
}


class World:
    """One populated world with the questions that situations ask."""

    def __init__(self, seed: int) -> None:
        self.state = Overlay(populate(seed))
        self.today = world_start(seed).date()
        self.orders = self.state.find(Order)
        self._touched = {r.order_id for r in self.state.find(Refund)}
        self._touched |= {r.order_id for r in self.state.find(Return)}
        self._touched |= {c.order_id for c in self.state.find(Credit)}
        self._claimed = {c.line_id for c in self.state.find(WarrantyClaim)}

    def customer(self, order: Order) -> Customer:
        return self.state.get(Customer, order.customer_id)

    def lines(self, order: Order) -> list[OrderLine]:
        return self.state.find(OrderLine, order_id=order.id)

    def payments(self, order: Order) -> list[Payment]:
        return self.state.find(Payment, order_id=order.id)

    def product(self, line: OrderLine) -> Product:
        return self.state.get(Product, line.product_id)

    def parcel(self, order: Order) -> Shipment | None:
        parcels = self.state.find(Shipment, order_id=order.id)
        return parcels[0] if len(parcels) == 1 else None

    def delivered(self, order: Order) -> date | None:
        parcel = self.parcel(order)
        return parcel.delivered if parcel else None

    def clean(self, order: Order) -> bool:
        fine = order.id not in self._touched and not self.customer(order).fraud_hold
        return fine and len(self.payments(order)) == 1

    def clean_orders(self) -> list[Order]:
        return [o for o in self.orders if self.clean(o)]

    def in_window(self, order: Order) -> bool:
        day = self.delivered(order)
        return day is not None and last_return_day(POLICY, self.customer(order).tier, day) >= self.today

    def window_lines(self) -> list[tuple[Order, OrderLine]]:
        return [(o, x) for o in self.clean_orders() if self.in_window(o) for x in self.lines(o)]

    def lost(self, order: Order) -> bool:
        parcel = self.parcel(order)
        if parcel is None or parcel.status != "in_transit" or parcel.last_scan is None:
            return False
        return (self.today - parcel.due).days > POLICY.lost_after_days and parcel.last_scan <= parcel.due

    def in_stock(self, order: Order) -> bool:
        return all(self.product(x).stock >= x.quantity for x in self.lines(order))

    def unclaimed(self, line: OrderLine) -> bool:
        return line.id not in self._claimed

    def offers(self, line: OrderLine) -> tuple[list[CompetitorOffer], list[CompetitorOffer]]:
        cheaper = [
            o for o in self.state.find(CompetitorOffer, product_id=line.product_id) if o.price_cents < line.unit_cents
        ]
        counting = [o for o in cheaper if o.in_stock and o.shop in POLICY.price_match_shops]
        return counting, [o for o in cheaper if o not in counting]


@cache
def world(seed: int) -> World:
    return World(seed)


def returnable(tier: Tier) -> Callable[[World], int]:
    return lambda w: sum(w.in_window(o) and w.customer(o).tier == tier for o in w.clean_orders())


def extended(w: World) -> int:
    def fits(order: Order) -> bool:
        day = w.delivered(order)
        return day is not None and (w.today - day).days > POLICY.return_days["bronze"] and w.in_window(order)

    return sum(fits(o) and w.customer(o).tier in {"gold", "platinum"} for o in w.clean_orders())


def in_warranty(w: World) -> int:
    count = 0
    for order in w.clean_orders():
        day = w.delivered(order)
        if day is None or w.in_window(order):
            continue
        ends = (warranty_end(day, w.product(x).warranty_months) for x in w.lines(order) if w.unclaimed(x))
        count += any(end >= w.today for end in ends)
    return count


def just_expired(w: World) -> int:
    def days_past(order: Order) -> int:
        day = w.delivered(order)
        return 0 if day is None else (w.today - last_return_day(POLICY, w.customer(order).tier, day)).days

    return sum(0 < days_past(o) <= 60 for o in w.clean_orders())


def opened(*, platinum: bool) -> Callable[[World], int]:
    return lambda w: sum(x.opened and (w.customer(o).tier == "platinum") == platinum for o, x in w.window_lines())


def final_sale(w: World) -> int:
    return sum(w.product(x).final_sale for _, x in w.window_lines())


def processing(w: World) -> int:
    def fits(order: Order) -> bool:
        parcel = w.parcel(order)
        waits = parcel is not None and parcel.status == "preparing"
        return order.status == "processing" and w.payments(order)[0].status == "authorised" and waits

    return sum(fits(o) for o in w.clean_orders())


def several_discounted(w: World) -> int:
    return sum(x.quantity >= 2 and o.discount_cents > 0 for o, x in w.window_lines())


def over_agent_limit(w: World) -> int:
    low, high = POLICY.agent_limit_cents, POLICY.supervisor_limit_cents
    return sum(low < paid_cents(o, x, x.quantity) <= high for o, x in w.window_lines())


def over_supervisor_limit(w: World) -> int:
    return sum(paid_cents(o, x, x.quantity) > POLICY.supervisor_limit_cents for o, x in w.window_lines())


def held_customers(w: World) -> int:
    held = {c.id for c in w.state.find(Customer, fraud_hold=True)}
    return len({o.customer_id for o in w.orders if o.customer_id in held and w.in_window(o)})


def duplicates(w: World) -> int:
    def fits(order: Order) -> bool:
        charges = w.payments(order)
        if len(charges) != 2 or w.customer(order).fraud_hold:
            return False
        first, second = charges
        soon = timedelta(0) < second.charged - first.charged <= timedelta(minutes=15)
        same = first.amount_cents == second.amount_cents and {c.status for c in charges} == {"captured"}
        return soon and same and not any(c.refunded_cents for c in charges)

    return sum(fits(o) for o in w.orders)


def lost(*, in_stock: bool) -> Callable[[World], int]:
    return lambda w: sum(w.lost(o) and w.in_stock(o) == in_stock for o in w.clean_orders())


def merely_late(w: World) -> int:
    def fits(order: Order) -> bool:
        parcel = w.parcel(order)
        late = parcel is not None and parcel.status == "in_transit" and parcel.due < w.today
        return late and not w.lost(order)

    return sum(fits(o) for o in w.clean_orders())


def late_arrivals(w: World) -> int:
    def fits(order: Order) -> bool:
        parcel = w.parcel(order)
        if parcel is None or parcel.delivered is None:
            return False
        return (parcel.delivered - parcel.due).days > POLICY.delay_grace_days

    return sum(fits(o) for o in w.clean_orders())


def price_matches(w: World) -> int:
    def fits(order: Order) -> bool:
        recent = (w.today - order.placed.date()).days <= POLICY.price_match_days
        if not recent or order.promotion_code is not None or order.status == "cancelled":
            return False
        return any(counting and traps for counting, traps in map(w.offers, w.lines(order)))

    return sum(fits(o) for o in w.clean_orders())


def forgotten_codes(w: World) -> int:
    def fits(order: Order) -> bool:
        recent = (w.today - order.placed.date()).days <= POLICY.promotion_claim_days
        if not recent or order.promotion_code is not None or order.status == "cancelled":
            return False
        goods: list[tuple[Category, int]] = [(w.product(x).category, x.unit_cents * x.quantity) for x in w.lines(order)]
        return any(promotion_cents(p, goods, order.placed.date()) > 0 for p in w.state.find(Promotion))

    return sum(fits(o) for o in w.clean_orders())


def mendable_builds(w: World) -> int:
    books = Books(state=w.state, today=w.today, policy=POLICY)

    def fits(build: Build) -> bool:
        parts = parts_of(books, build)
        problems = build_problems(POLICY, parts)
        return build.status == "draft" and len(problems) == 1 and any(map(mends(parts), w.state.find(Product)))

    return sum(fits(b) for b in w.state.find(Build))


def mends(parts: Sequence[Product]) -> Callable[[Product], bool]:
    def mended(product: Product) -> bool:
        if product.category not in {"psu", "memory", "case", "cooler"} or product.stock == 0:
            return False
        kept = [p for p in parts if p.category != product.category]
        return not build_problems(POLICY, [*kept, product])

    return mended


SITUATIONS: dict[str, tuple[Callable[[World], int], int]] = {
    "returnable, bronze": (returnable("bronze"), 12),
    "returnable, silver": (returnable("silver"), 12),
    "returnable, gold": (returnable("gold"), 12),
    "returnable, platinum": (returnable("platinum"), 12),
    "past the standard window, inside the tier's": (extended, 12),
    "just past the window": (just_expired, 12),
    "past the window, in warranty": (in_warranty, 12),
    "opened, platinum": (opened(platinum=True), 12),
    "opened, other tiers": (opened(platinum=False), 12),
    "final sale": (final_sale, 12),
    "processing": (processing, 12),
    "several pieces, discounted": (several_discounted, 12),
    "above the agent's limit": (over_agent_limit, 12),
    "above the supervisor's limit": (over_supervisor_limit, 6),
    "fraud hold": (held_customers, 8),
    "charged twice": (duplicates, 8),
    "lost, in stock": (lost(in_stock=True), 8),
    "lost, sold out": (lost(in_stock=False), 8),
    "late in transit": (merely_late, 6),
    "arrived late": (late_arrivals, 12),
    "price match due, with traps": (price_matches, 12),
    "forgotten code": (forgotten_codes, 8),
    "draft that one part mends": (mendable_builds, 8),
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", SITUATIONS)
def test_every_situation_stands_in_every_world(name: str, seed: int) -> None:
    count, least = SITUATIONS[name]
    assert count(world(seed)) >= least


@pytest.mark.parametrize("seed", SEEDS)
def test_a_fresh_world_breaks_no_rule(seed: int) -> None:
    assert fresh_violations(world(seed).state, world(seed).today) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_tables_have_the_sizes_that_were_agreed(seed: int) -> None:
    rows = world(seed).state.base.rows
    assert set(rows) == set(SIZES)
    assert sum(map(len, rows.values())) >= 2_500
    for table, (least, most) in SIZES.items():
        assert least <= len(rows[table]) <= most, table


@pytest.mark.parametrize("seed", SEEDS)
def test_ids_start_with_their_tables_prefix(seed: int) -> None:
    for info in SCHEMA:
        for key in world(seed).state.base.rows[info.name]:
            assert key.startswith(info.kind.prefix)


@pytest.mark.parametrize("seed", SEEDS)
def test_order_ids_do_not_tell_the_age_of_an_order(seed: int) -> None:
    by_id = sorted(world(seed).orders, key=lambda o: o.id)
    age = {o.id: rank for rank, o in enumerate(sorted(by_id, key=lambda o: o.placed))}
    assert abs(correlation(range(len(by_id)), [age[o.id] for o in by_id])) < 0.2


@pytest.mark.parametrize("seed", SEEDS)
def test_lines_are_few_and_small_unless_a_build_was_ordered(seed: int) -> None:
    for order in world(seed).orders:
        lines = world(seed).lines(order)
        assert len(lines) <= (len(BUILD_SLOTS) if order.build_id else 4)
        assert all(1 <= x.quantity <= 4 for x in lines)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_customer_has_an_order_and_a_name_of_their_own(seed: int) -> None:
    customers = world(seed).state.find(Customer)
    assert {o.customer_id for o in world(seed).orders} == {c.id for c in customers}
    assert len({c.name for c in customers}) == len(customers)


@pytest.mark.parametrize("seed", SEEDS)
def test_first_and_last_names_recur_so_that_a_search_can_be_ambiguous(seed: int) -> None:
    names = [c.name.split(" ", 1) for c in world(seed).state.find(Customer)]
    for part in (0, 1):
        assert sum(n > 1 for n in Counter(name[part] for name in names).values()) >= 10


@pytest.mark.parametrize("seed", SEEDS)
def test_exactly_one_supervisor_and_one_finance_manager_can_approve(seed: int) -> None:
    employees = world(seed).state.find(Employee)
    full = [e for e in employees if (e.team, e.rank) == ("support", "supervisor") and e.approval_limit_cents > 30_000]
    managers = [e for e in employees if (e.team, e.rank) == ("finance", "manager")]
    assert {e.approval_limit_cents for e in full} == {POLICY.supervisor_limit_cents}
    assert min(e.approval_limit_cents for e in managers) >= 5 * POLICY.supervisor_limit_cents
    for posts in (full, managers):
        assert len(posts) >= 2
        assert sum(not e.on_leave for e in posts) == 1


@pytest.mark.parametrize("seed", SEEDS)
def test_the_first_employee_is_a_support_agent_at_work(seed: int) -> None:
    acting = world(seed).state.get(Employee, "EMP-101")
    assert (acting.team, acting.rank, acting.on_leave) == ("support", "agent", False)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_catalogue_covers_every_category_and_both_sides_of_every_fit(seed: int) -> None:
    products = world(seed).state.find(Product)
    assert {p.socket for p in products if p.category == "cpu"} >= {"AM4", "AM5", "LGA1851"}
    assert {p.memory_type for p in products if p.category == "memory"} == {"DDR4", "DDR5"}
    assert len({p.category for p in products}) == 11
    assert len({p.name for p in products}) == len(products)
    assert sum(p.stock == 0 for p in products) >= 12
    assert 10 <= sum(p.final_sale for p in products) <= 16


@pytest.mark.parametrize("seed", SEEDS)
def test_flawed_drafts_show_every_kind_of_flaw(seed: int) -> None:
    w = world(seed)
    books = Books(state=w.state, today=w.today, policy=POLICY)
    problems = [build_problems(POLICY, parts_of(books, b)) for b in w.state.find(Build)]
    assert {p[0].split(":")[0] for p in problems if p} == {"power", "memory", "length", "cooler"}
    assert sum(not p for p in problems) >= 24


@pytest.mark.parametrize("seed", SEEDS)
def test_most_tickets_are_closed(seed: int) -> None:
    statuses = Counter(t.status for t in world(seed).state.find(Ticket))
    assert set(statuses) == {"open", "resolved", "declined", "escalated"}
    assert statuses["open"] <= 12


@pytest.mark.parametrize("seed", SEEDS)
def test_promotions_are_past_running_and_yet_to_come(seed: int) -> None:
    w = world(seed)
    codes = w.state.find(Promotion)
    assert any(p.ends < w.today for p in codes)
    assert any(p.starts > w.today for p in codes)
    assert sum(p.starts <= w.today <= p.ends for p in codes) >= 4
    assert {p.category is None for p in codes} == {True, False}


def test_a_world_begins_at_nine_on_a_day_between_january_and_september_2026() -> None:
    starts = [world_start(seed) for seed in range(300)]
    assert all(datetime(2026, 1, 5, 9) <= s <= datetime(2026, 9, 30, 9) for s in starts)
    assert all((s.hour, s.minute, s.second) == (9, 0, 0) for s in starts)
    assert len({s.month for s in starts}) == 9


def test_different_seeds_give_different_worlds() -> None:
    hashes = {world(seed).state.state_hash() for seed in SEEDS}
    assert len(hashes) == len(SEEDS)


def digest_in_a_new_process(hash_seed: str) -> str:
    code = "from palaestra.envs.worlds.storefront.population import populate; print(populate(5).state_hash())"
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_world_is_the_same_in_every_process_whatever_the_hash_seed() -> None:
    here = str(populate(5).state_hash())
    assert {digest_in_a_new_process(seed) for seed in ("0", "1", "4242")} == {here}


def test_a_world_follows_a_mutated_policy() -> None:
    policy = replace(
        POLICY,
        return_days={"bronze": 20, "silver": 25, "gold": 40, "platinum": 70},
        restocking_percent=25,
        lost_after_days=6,
        agent_limit_cents=25_000,
    )
    base: Base = populate(1, policy)
    assert fresh_violations(Overlay(base), world_start(1).date(), policy) == []
    assert base.state_hash() != world(1).state.base.state_hash()
