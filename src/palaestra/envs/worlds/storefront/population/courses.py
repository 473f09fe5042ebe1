"""When things happen to an order: one function a course, each counted back from today.

Every course keeps a day or more from the borders of the policy, so that an episode that runs into the next
day changes nothing about an order.
"""

from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from typing import TypeAlias

from palaestra.envs.worlds.storefront.policy import StorePolicy, last_return_day
from palaestra.envs.worlds.storefront.population.plan import Course, Parcel
from palaestra.envs.worlds.storefront.schema import Tier
from palaestra.seeding import Stream

CourseDraw: TypeAlias = Callable[[Stream, date, StorePolicy, Tier], Course]

_OLDEST_COUNTED = 690
_LATELY = 50
_ANCIENT = (760, 1100)


def at(stream: Stream, day: date) -> datetime:
    """A moment of that day between seven in the morning and ten in the evening."""
    return datetime.combine(day, time(stream.between(7, 21), stream.below(60), stream.below(60)))


def days(count: int) -> timedelta:
    """So many days."""
    return timedelta(days=count)


def in_window(stream: Stream, today: date, policy: StorePolicy, tier: Tier) -> Course:
    """Delivered so lately that a customer of any tier may still return it."""
    return _deliver(stream, today - days(stream.between(2, max(2, _shortest(policy) - 4))))


def extended_window(stream: Stream, today: date, policy: StorePolicy, tier: Tier) -> Course:
    """Delivered before the shortest return window, but within that of a higher tier."""
    low = _shortest(policy) + 2
    return _deliver(stream, today - days(stream.between(low, max(low, policy.return_days[tier] - 2))))


def late_arrival(stream: Stream, today: date, policy: StorePolicy, tier: Tier) -> Course:
    """Delivered lately, and so late that credit is due."""
    delivered = today - days(stream.between(2, max(2, _shortest(policy) - 4)))
    return _overdue(stream, delivered, policy.delay_grace_days + stream.between(1, 6))


def just_matched(stream: Stream, today: date, policy: StorePolicy, tier: Tier) -> Course:
    """Delivered, and ordered lately enough for a price match."""
    return _recent(stream, today, policy.price_match_days - 2)


def just_ordered(stream: Stream, today: date, policy: StorePolicy, tier: Tier) -> Course:
    """Delivered, and ordered lately enough to claim a forgotten code."""
    return _recent(stream, today, policy.promotion_claim_days - 1)


def processing(stream: Stream, today: date, policy: StorePolicy, tier: Tier) -> Course:
    """Ordered, not packed yet."""
    placed = today - days(stream.between(1, 2))
    parcel = Parcel(
        status="preparing",
        shipped=None,
        due=placed + days(stream.between(4, 7)),
        last_scan=None,
        delivered=None,
    )
    return Course(placed=at(stream, placed), status="processing", parcels=(parcel,))


def cancelled_order(stream: Stream, today: date, policy: StorePolicy, tier: Tier) -> Course:
    """Cancelled before it was packed."""
    return Course(placed=at(stream, today - days(stream.between(5, 300))), status="cancelled", parcels=())


def on_the_way(stream: Stream, today: date, policy: StorePolicy, tier: Tier) -> Course:
    """In transit and not due yet."""
    shipped = today - days(stream.between(1, 2))
    return _in_transit(stream, shipped, today + days(stream.between(1, 4)), today - days(stream.below(2)))


def late_in_transit(stream: Stream, today: date, policy: StorePolicy, tier: Tier) -> Course:
    """Overdue, but not lost: too little time has passed, or the parcel was scanned after its due date."""
    if stream.chance(50):
        due = today - days(stream.between(2, max(2, policy.lost_after_days - 3)))
        return _in_transit(stream, due - days(3), due, due - days(stream.below(3)))
    due = today - days(policy.lost_after_days + stream.between(1, 6))
    return _in_transit(stream, due - days(3), due, today - days(stream.between(1, 4)))


def lost_parcel(stream: Stream, today: date, policy: StorePolicy, tier: Tier) -> Course:
    """In transit by the record, lost by the rule."""
    due = today - days(policy.lost_after_days + stream.between(2, 15))
    return _in_transit(stream, due - days(4), due, due - days(stream.below(4)))


def expired_window(stream: Stream, today: date, policy: StorePolicy, tier: Tier) -> Course:
    """Delivered, past its return window, within the months that earn a tier; one in eight arrived late."""
    delivered = _past_window(stream, today, policy, tier)
    if stream.chance(12):
        return _overdue(stream, delivered, policy.delay_grace_days + stream.between(1, 5))
    return _deliver(stream, delivered)


def just_expired(stream: Stream, today: date, policy: StorePolicy, tier: Tier) -> Course:
    """Delivered, and past its return window by some weeks at most."""
    oldest = policy.return_days[tier] + _LATELY
    return _deliver(stream, _past_window(stream, today, policy, tier, oldest=oldest))


def ancient(stream: Stream, today: date, policy: StorePolicy, tier: Tier) -> Course:
    """Delivered before the months that earn a tier."""
    return _deliver(stream, today - days(stream.between(*_ANCIENT)))


def recorded_loss(stream: Stream, today: date, policy: StorePolicy, tier: Tier) -> Course:
    """Lost long ago, and recorded as lost."""
    due = _past_window(stream, today, policy, tier)
    course = _in_transit(stream, due - days(4), due, due - days(stream.below(4)))
    return Course(placed=course.placed, status="shipped", parcels=(_as_lost(course.parcels[0]),))


def replaced_parcel(stream: Stream, today: date, policy: StorePolicy, tier: Tier) -> Course:
    """Lost long ago, and sent again."""
    second = _deliver(stream, _past_window(stream, today, policy, tier))
    again = second.parcels[0]
    due = second.placed.date() - days(policy.lost_after_days + stream.between(1, 4))
    first = _in_transit(stream, due - days(4), due, due - days(stream.below(4)))
    return Course(placed=first.placed, status="delivered", parcels=(_as_lost(first.parcels[0]), again))


def _shortest(policy: StorePolicy) -> int:
    return min(policy.return_days.values())


def _past_window(
    stream: Stream, today: date, policy: StorePolicy, tier: Tier, *, oldest: int = _OLDEST_COUNTED
) -> date:
    delivered = today - days(stream.between(policy.return_days[tier] + 3, oldest))
    while last_return_day(policy, tier, delivered) >= today - days(2):
        delivered -= days(7)
    return delivered


def _deliver(stream: Stream, day: date) -> Course:
    shipped = day - days(stream.between(1, 4))
    return _arrive(stream, shipped, day + days(stream.below(3)), day)


def _overdue(stream: Stream, day: date, late: int) -> Course:
    due = day - days(late)
    return _arrive(stream, due - days(stream.between(1, 4)), due, day)


def _arrive(stream: Stream, shipped: date, due: date, day: date) -> Course:
    parcel = Parcel(status="delivered", shipped=shipped, due=due, last_scan=day, delivered=day)
    return Course(placed=_before(stream, shipped), status="delivered", parcels=(parcel,))


def _in_transit(stream: Stream, shipped: date, due: date, last_scan: date) -> Course:
    scan = max(shipped, last_scan)
    parcel = Parcel(status="in_transit", shipped=shipped, due=due, last_scan=scan, delivered=None)
    return Course(placed=_before(stream, shipped), status="shipped", parcels=(parcel,))


def _recent(stream: Stream, today: date, oldest: int) -> Course:
    placed = today - days(stream.between(3, max(3, oldest)))
    delivered = placed + days(2)
    parcel = Parcel(
        status="delivered",
        shipped=placed + days(1),
        due=delivered + days(stream.below(3)),
        last_scan=delivered,
        delivered=delivered,
    )
    return Course(placed=at(stream, placed), status="delivered", parcels=(parcel,))


def _before(stream: Stream, shipped: date) -> datetime:
    return at(stream, shipped - days(stream.below(3)))


def _as_lost(parcel: Parcel) -> Parcel:
    return Parcel(status="lost", shipped=parcel.shipped, due=parcel.due, last_scan=parcel.last_scan, delivered=None)
