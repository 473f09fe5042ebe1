"""What follows from a row of the Storefront that was shown, and stands in no record: how late, how long, until when."""

from collections.abc import Iterator
from datetime import date, timedelta
from typing import TypeVar

from palaestra.envs.worlds.storefront.policy import StorePolicy, build_draw, build_parts, last_return_day, warranty_end
from palaestra.envs.worlds.storefront.schema import (
    Build,
    CompetitorOffer,
    Customer,
    Order,
    OrderLine,
    Product,
    Promotion,
    Refund,
    Return,
    Shipment,
    Ticket,
    WarrantyClaim,
)
from palaestra.records import Row
from palaestra.rubrics.messages import ShownRows, figures_in

_LONGEST_WAIT = 60
RowT = TypeVar("RowT", bound=Row)


def derive_facts(shown: ShownRows) -> Iterator[str]:
    """The spans, days and watts that follow from the rows that an agent was shown, as it would write them."""
    known = _Facts(shown)
    yield from known.days_of_the_case()
    for row in shown.rows:
        yield from known.facts_of(row)


class _Facts:
    """What follows from single rows on one day."""

    def __init__(self, shown: ShownRows) -> None:
        waits = (e.arguments.get("days") for e in shown.evidence.events if e.executed and e.tool == "wait_days")
        self._today = shown.start.date() + timedelta(days=sum(days for days in waits if isinstance(days, int)))
        self._view = shown.evidence.state
        self._policy: StorePolicy = shown.rules
        self._rows = shown.rows
        self._start = shown.start.date()
        self._evidence = shown.evidence

    def days_of_the_case(self) -> Iterator[str]:
        """Today, the days to which the request or the policy's spans lead from it, and when worked-out lines came."""
        asked = [int(f.value) for text in self._evidence.opening for f in figures_in(text) if f.kind == "span"]
        for day in {self._start: None, self._today: None}:
            yield str(day)
            yield from (str(day + timedelta(days=days)) for days in asked if days <= _LONGEST_WAIT)
        for event in self._evidence.events:
            key = event.arguments.get("line_id")
            if event.executed and event.tool in ("compute_warranty", "compute_return_window") and isinstance(key, str):
                line = self._view.peek(OrderLine, key)
                for parcel in self._view.find(Shipment, order_id=line.order_id) if line is not None else ():
                    if parcel.delivered is not None:
                        yield from self._days(parcel.delivered, 0)

    def facts_of(self, row: Row) -> Iterator[str]:
        match row:
            case Order():
                yield from self._days(row.placed.date(), self._policy.price_match_days)
            case Shipment():
                yield from self._of_parcel(row)
            case Customer():
                yield f"{self._policy.return_days[row.tier]} days"
            case WarrantyClaim():
                yield from self._days(row.opened.date(), self._policy.claim_days)
            case Promotion():
                yield from self._days(row.ends, 0)
            case CompetitorOffer():
                yield from self._days(row.seen, 0)
            case Refund() | Return():
                yield from self._days(row.created.date(), 0)
            case Ticket():
                yield from self._days(row.opened.date(), 0)
            case Build():
                yield from self._of_build(row)
            case _:
                return

    def _days(self, day: date, until: int) -> Iterator[str]:
        """How long ago a day was, the last day of a time from it on, how far off that is, and the day after."""
        last = day + timedelta(days=until)
        yield f"{abs((self._today - day).days)} days"
        yield f"{abs((self._today - last).days)} days"
        yield str(last)
        yield str(last + timedelta(days=1))

    def _of_parcel(self, parcel: Shipment) -> Iterator[str]:
        yield from self._days(parcel.due, self._policy.lost_after_days)
        yield str(parcel.due + timedelta(days=self._policy.delay_grace_days))
        if parcel.last_scan is not None:
            yield from self._days(parcel.last_scan, 0)
        if parcel.shipped is not None:
            yield from self._days(parcel.shipped, 0)
        order = self._view.peek(Order, parcel.order_id)
        if parcel.delivered is None or order is None:
            return
        yield from self._days(parcel.delivered, 0)
        yield f"{abs((parcel.delivered - parcel.due).days)} days"
        yield f"{(parcel.delivered - order.placed.date()).days} days"
        for customer in self._find_shown(Customer, order.customer_id):
            last = last_return_day(self._policy, customer.tier, parcel.delivered, order.placed.date())
            yield from self._days(last, 0)
        for line in self._rows:
            if isinstance(line, OrderLine) and line.order_id == order.id:
                for goods in self._find_shown(Product, line.product_id):
                    yield from self._days(warranty_end(parcel.delivered, goods.warranty_months), 0)

    def _of_build(self, build: Build) -> Iterator[str]:
        parts = build_parts(
            self._view,
            [
                build.cpu_id, build.motherboard_id, build.memory_id, build.gpu_id,
                build.storage_id, build.psu_id, build.case_id, build.cooler_id,
            ],
        )  # fmt: skip
        draw = build_draw(parts)
        yield f"{draw} W"
        yield f"{draw * (100 + self._policy.psu_headroom_percent) // 100} W"
        yield f"{-(-draw * (100 + self._policy.psu_headroom_percent) // 100)} W"

    def _find_shown(self, kind: type[RowT], key: str) -> Iterator[RowT]:
        """The row of that id, if it was shown."""
        return (row for row in self._rows if isinstance(row, kind) and row.id == key)
