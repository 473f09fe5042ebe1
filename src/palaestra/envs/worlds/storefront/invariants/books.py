"""A state as the rules read it: rows by what they belong to."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from operator import attrgetter
from typing import TypeAlias, TypeVar

from palaestra.envs import kit
from palaestra.envs.worlds.storefront.policy import StorePolicy, build_parts
from palaestra.envs.worlds.storefront.schema import Build, Order, OrderLine, Payment, Product, Refund, Return, Shipment
from palaestra.protocols import StateView
from palaestra.records import Row

R = TypeVar("R", bound=Row)

BUILD_SLOTS = ("cpu", "motherboard", "memory", "gpu", "storage", "psu", "case", "cooler")
"""The categories that a build has a part of, as its columns name them."""


@dataclass(kw_only=True)
class Books:
    """A state, and its rows by what they belong to."""

    state: StateView
    today: date
    policy: StorePolicy

    @cached_property
    def orders(self) -> dict[str, Order]:
        """Every order by its id."""
        return {order.id: order for order in self.state.find(Order)}

    @cached_property
    def lines(self) -> dict[str, list[OrderLine]]:
        """Lines by order."""
        return group_rows(self.state.find(OrderLine), "order_id")

    @cached_property
    def payments(self) -> dict[str, list[Payment]]:
        """Payments by order."""
        return group_rows(self.state.find(Payment), "order_id")

    @cached_property
    def shipments(self) -> dict[str, list[Shipment]]:
        """Shipments by order."""
        return group_rows(self.state.find(Shipment), "order_id")

    def delivery_day(self, order_id: str) -> date | None:
        """The day of an order's last delivery; `None` where there was none."""
        return max((s.delivered for s in self.shipments.get(order_id, ()) if s.delivered is not None), default=None)


Rule: TypeAlias = kit.Rule[Books]
"""Yields one sentence for each row that breaks it; the sentence names the row and the rule."""


def group_rows(rows: Sequence[R], column: str) -> dict[str, list[R]]:
    """Rows by the value of a column, in their order."""
    value_of = attrgetter(column)
    groups: dict[str, list[R]] = {}
    for row in rows:
        groups.setdefault(value_of(row), []).append(row)
    return groups


def parts_of(books: Books, build: Build) -> list[Product]:
    """The parts of a build, missing ones left out."""
    return build_parts(books.state, [getattr(build, f"{slot}_id") for slot in BUILD_SLOTS])


def pieces_back(books: Books) -> Counter[str]:
    """How many pieces of each line refunds and returns say came back."""
    # A change of mind is paid after its return, which counted the pieces already.
    counted: Counter[str] = Counter()
    for refund in books.state.find(Refund, status="paid"):
        if refund.line_id is not None and refund.reason != "changed_mind":
            counted[refund.line_id] += refund.quantity
    for back in books.state.find(Return):
        if back.status != "cancelled":
            counted[back.line_id] += back.quantity
    return counted
