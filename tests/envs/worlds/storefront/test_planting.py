"""Planted orders: they agree with their accounts, break no rule of a fresh world, and draw nothing from the desk."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from palaestra.envs.state import Overlay
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.invariants import fresh_violations
from palaestra.envs.worlds.storefront.planting import (
    DEAREST_SHIPPING_CENTS,
    arrival,
    cheap,
    credit,
    has_room,
    move_mailbox,
    plain_customer,
    sell,
    send_today,
    under_way,
    waiting,
)
from palaestra.envs.worlds.storefront.policy import promotion_cents, tier_for
from palaestra.envs.worlds.storefront.population.plan import Course
from palaestra.envs.worlds.storefront.schema import Category, Credit, Customer, Order, Promotion
from palaestra.envs.worlds.storefront.world import STOREFRONT
from palaestra.seeding import Stream

WORLDS = ((1000, 0), (1003, 2), (2000, 0), (3001, 5), (4000, 0))
"""World seeds and handbooks."""
DEAREST = 6_000

CourseOf = Callable[[Desk], Course]
COURSES: dict[str, CourseOf] = {
    "waiting": lambda desk: waiting(desk, ago=1),
    "under way": lambda desk: under_way(desk, due_in=2),
    "overdue": lambda desk: under_way(desk, due_in=-6),
    "punctual": lambda desk: arrival(desk, desk.today - timedelta(days=9)),
    "late": lambda desk: arrival(desk, desk.today - timedelta(days=9), late=5),
}


def desk_of(seed: int, handbook: int) -> Desk:
    return Desk(
        state=Overlay(STOREFRONT.base(seed, handbook)),
        start=STOREFRONT.start(seed),
        family_stream=Stream.root("planting", seed),
        ordinal=0,
        rules=STOREFRONT.rules(seed, handbook),
    )


def buyer(desk: Desk, orders: int = 1) -> Customer:
    return desk.pick(Customer, plain_customer(desk, room=orders * (2 * DEAREST + DEAREST_SHIPPING_CENTS)))


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("course", COURSES)
def test_a_planted_order_breaks_no_rule_of_a_fresh_world(world: tuple[int, int], course: str) -> None:
    desk = desk_of(*world)
    goods = cheap(desk, below=DEAREST)
    order = sell(desk, buyer(desk), [(goods[0], 1), (goods[-1], 1)], COURSES[course](desk))
    assert fresh_violations(desk.state, desk.today, desk.policy) == []
    assert [line.product_id for line in desk.lines(order)] == [goods[0].id, goods[-1].id]


@pytest.mark.parametrize("world", WORLDS)
def test_many_orders_of_one_customer_break_no_rule_and_keep_the_tier(world: tuple[int, int]) -> None:
    desk = desk_of(*world)
    customer, goods = buyer(desk, orders=len(COURSES)), cheap(desk, below=DEAREST)
    before = sum(o.total_cents for o in desk.state.find(Order, customer_id=customer.id))
    orders = [sell(desk, customer, [(goods[n], 1)], make(desk)) for n, make in enumerate(COURSES.values())]
    after = desk.state.get(Customer, customer.id)
    assert fresh_violations(desk.state, desk.today, desk.policy) == []
    assert after.tier == customer.tier
    charged = [o.total_cents for o in orders if o.status in {"shipped", "delivered"}]
    assert after.lifetime_cents - customer.lifetime_cents == sum(charged)
    now = sum(o.total_cents for o in desk.state.find(Order, customer_id=customer.id))
    assert now - before == sum(o.total_cents for o in orders)


def test_an_order_that_would_lift_its_customer_into_another_tier_is_refused() -> None:
    desk = desk_of(1000, 0)
    customer = desk.pick(Customer, lambda c: c.tier == "bronze" and not c.fraud_hold)
    dear = max(cheap(desk, below=10**7), key=lambda p: p.price_cents)
    assert tier_for(desk.policy, customer.lifetime_cents + dear.price_cents) != "bronze"
    assert not has_room(desk, customer, dear.price_cents)
    with pytest.raises(AssertionError, match="into another tier"):
        sell(desk, customer, [(dear, 1)], under_way(desk, due_in=2))


@pytest.mark.parametrize("late", [0, 1, 7])
def test_an_order_arrives_as_late_as_it_is_said_to(late: int) -> None:
    desk = desk_of(1001, 0)
    day = desk.today - timedelta(days=4)
    [parcel] = arrival(desk, day, late=late).parcels
    assert parcel.delivered == day
    assert (day - parcel.due).days == late


def test_a_promotion_takes_off_what_the_policy_says() -> None:
    desk = desk_of(1000, 0)
    course = arrival(desk, desk.today - timedelta(days=5))
    placed, goods = course.placed.date(), cheap(desk, below=DEAREST)[:2]
    code = desk.state.insert(
        Promotion(id="SETTEST12", percent=12, category=None, starts=placed, ends=placed, minimum_cents=0)
    )
    order = sell(desk, buyer(desk), [(p, 1) for p in goods], course, promotion=code)
    listed: list[tuple[Category, int]] = [(p.category, p.price_cents) for p in goods]
    assert order.discount_cents == promotion_cents(code, listed, placed) > 0
    assert fresh_violations(desk.state, desk.today, desk.policy) == []


def test_an_order_that_leaves_today_is_charged_and_breaks_no_rule() -> None:
    desk = desk_of(1002, 0)
    order = sell(desk, buyer(desk), [(cheap(desk, below=DEAREST)[0], 1)], waiting(desk, ago=1))
    sent = send_today(desk, order)
    assert sent.status == "shipped"
    assert {p.status for p in desk.payments(sent)} == {"captured"}
    assert {p.shipped for p in desk.shipments(sent)} == {desk.today}
    assert fresh_violations(desk.state, desk.today, desk.policy) == []


@pytest.mark.parametrize("ago", [1, 2, 30])
def test_credit_follows_the_arrival_and_is_not_of_today(ago: int) -> None:
    desk = desk_of(1004, 0)
    day = desk.today - timedelta(days=ago)
    order = sell(desk, buyer(desk), [(cheap(desk, below=DEAREST)[0], 1)], arrival(desk, day))
    given = credit(desk, order, 700, "goodwill")
    assert day <= given.created.date() < desk.today
    assert desk.state.find(Credit, order_id=order.id) == [given]
    assert fresh_violations(desk.state, desk.today, desk.policy) == []


def test_another_mailbox_is_nobody_elses() -> None:
    desk = desk_of(1005, 0)
    for customer in desk.state.find(Customer)[:40]:
        moved = move_mailbox(desk, customer)
        assert moved.email != customer.email
        assert moved.email.partition("@")[0] == customer.email.partition("@")[0]
    assert fresh_violations(desk.state, desk.today, desk.policy) == []


def test_planting_draws_nothing_from_the_desk() -> None:
    desk = desk_of(1006, 0)
    customer, before = buyer(desk), desk.stream.save()
    order = sell(desk, customer, [(cheap(desk, below=DEAREST)[0], 1)], arrival(desk, desk.today - timedelta(days=3)))
    credit(desk, order, 500, "goodwill")
    assert desk.stream.save() == before


def test_two_orders_planted_alike_differ_in_what_nobody_asked_for() -> None:
    desk = desk_of(1007, 0)
    customer, [product, *_] = buyer(desk, orders=2), cheap(desk, below=DEAREST)
    first, second = (sell(desk, customer, [(product, 1)], under_way(desk, due_in=1)) for _ in range(2))
    [one], [other] = desk.shipments(first), desk.shipments(second)
    assert one.tracking != other.tracking
    assert first.placed.time() != second.placed.time()
