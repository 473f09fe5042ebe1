"""What tasks share in which a case waits (TCK-1): orders, what happens meanwhile, and the looks that are taken then."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Generic, TypeVar

from palaestra.envs.later import LaterEvent
from palaestra.envs.task import call
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.planting import DEAREST_SHIPPING_CENTS, plain_customer
from palaestra.envs.worlds.storefront.schema import Customer, Order, Tier
from palaestra.envs.worlds.storefront.tools.casework import wait_days
from palaestra.records import Row, ToolCall, Verdict
from palaestra.rubrics import MET, UNMET, Criterion, Evidence, expect_read
from palaestra.rubrics.guards import SLIP

T = TypeVar("T")

SHORTEST, LONGEST = 2, 5
"""How many days a case waits, at least and at most."""
TIERS: tuple[Tier, ...] = ("bronze", "silver", "gold", "platinum")
SINCE_DAYS = 250
"""For how long a customer has been known, at least: longer than any order is old that is added."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meanwhile(Generic[T]):
    """What happens while a case waits."""

    event: LaterEvent
    made: T
    """The rows that it is about, as they are then."""


def meanwhile(desk: Desk, days: int, name: str, change: Callable[[], T]) -> Meanwhile[T]:
    """Take what `change` writes to the desk's rows for what happens in so many days; the rows stay as they are.

    Args:
        desk: The desk. While `change` runs, its day is the day of the event.
        days: In how many days it happens.
        name: How the log names it.
        change: Writes what happens, and returns the rows that it is about.
    """
    state, start = desk.state, desk.start
    desk.state, desk.start = state.fork(), start + timedelta(days=days)
    try:
        made = change()
        changes = tuple(desk.state.journal[len(state.journal) :])
    finally:
        desk.state, desk.start = state, start
    return Meanwhile(event=LaterEvent(name=name, day=in_days(desk, days), changes=changes), made=made)


def in_days(desk: Desk, days: int) -> date:
    """The day that is so many days ahead."""
    return desk.today + timedelta(days=days)


def wait(days: int) -> ToolCall:
    """The call that lets the case rest."""
    return call(wait_days.name, days=days)


def draw_days(desk: Desk) -> int:
    """For how many days a case waits."""
    return desk.stream.between(SHORTEST, LONGEST)


def pick_customer(desk: Desk, orders: int, dearest: int, *, tiers: Sequence[Tier] = TIERS) -> Customer:
    """A customer of one of these tiers, to whom so many orders of at most so many cents each can be added."""
    fits = plain_customer(desk, room=orders * (dearest + DEAREST_SHIPPING_CENTS), since_days=SINCE_DAYS)
    return desk.pick(Customer, lambda c: c.tier in tiers and fits(c), what="customer with room for further orders")


def forbid_longer(days: int) -> Criterion:
    """Forbid that the case waits for longer than so many days."""

    def check(evidence: Evidence) -> Verdict:
        waits = [e.arguments["days"] for e in evidence.events if e.tool == wait_days.name and e.executed]
        return MET if sum(n for n in waits if isinstance(n, int)) > days else UNMET

    return Criterion(
        id="waited-longer",
        text=f"Let the case wait for longer than {days} days.",
        check=check,
        kind="forbid",
        points=SLIP,
        layer="params",
        about="event",
        tools=frozenset({wait_days.name}),
    )


def list_ids(orders: Sequence[Order]) -> str:
    """The ids of orders, as a customer lists them."""
    *first, last = [order.id for order in orders]
    return f"{', '.join(first)} and {last}"


def for_each(tool: str, orders: Sequence[Order]) -> list[ToolCall]:
    """The same look at each of several orders."""
    return [call(tool, order_id=order.id) for order in orders]


def expect_look(row: Row, fields: Collection[str], *, days: int, id: str) -> Criterion:
    """Expect that the agent looked this row up once the case had waited; what it saw before does not count (TCK-1).

    Args:
        row: The row as it is then.
        fields: The columns that decide.
        days: How many days the case waits.
        id: The criterion's id.
    """
    look, columns = expect_read(row, fields=fields, id=id), frozenset(fields)

    def check(evidence: Evidence) -> Verdict:
        verdict = look.check(evidence)
        return UNMET if verdict.met and not _has_shown_since(evidence, row, columns, days) else verdict

    text = f"Looked at {row.id} ({row.table}) once the case had waited for {days} days: {', '.join(sorted(columns))}."
    return replace(look, check=check, text=text)


def expect_account(desk: Desk, customer: Customer, days: int) -> Criterion:
    """Expect a look at the account once the case had waited: a hold may have been placed meanwhile (TCK-1)."""
    return expect_look(customer, desk.account_fields, days=days, id="saw-account")


def _has_shown_since(evidence: Evidence, row: Row, columns: frozenset[str], days: int) -> bool:
    """Whether the look-ups after a wait of so many days have shown these columns of a row."""
    waited, shown = 0, set[str]()
    for event in evidence.events:
        if event.tool == wait_days.name and event.executed:
            rest = event.arguments["days"]
            waited += rest if isinstance(rest, int) else 0
        elif waited >= days and not event.written:
            if (row.table, row.id) in event.shown:
                return True
            for part in event.columns:
                if part.table == row.table and row.id in part.keys:
                    shown.update(part.columns)
    return columns <= shown
