"""The Storefront's tools by hand, in any role: call one, and see which rows it wrote or how it said no."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, TypeAlias

from palaestra.clock import Clock
from palaestra.envs.state import Base, Overlay
from palaestra.envs.worlds.storefront.invariants import violations
from palaestra.envs.worlds.storefront.policy import POLICY, last_return_day
from palaestra.envs.worlds.storefront.population import populate, world_start
from palaestra.envs.worlds.storefront.schema import SCHEMA, Customer, Order, OrderLine, Payment, Product, Shipment
from palaestra.envs.worlds.storefront.tools import TOOLBOX
from palaestra.protocols import R
from palaestra.records import Json, Row, ToolCall, ToolEvent
from palaestra.tools import ToolContext

SEED = 1000
Written: TypeAlias = Mapping[str, Mapping[str, Any] | None]
"""By row id: the columns that a call changed, all of a new row's, `None` for a deleted one."""


@cache
def base() -> Base:
    """The world that every desk stands in."""
    return populate(SEED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """How a tool said no."""

    code: str
    message: str


class SupportDesk:
    """A fresh world and its tools."""

    def __init__(self, role: str = "agent") -> None:
        self.state = Overlay(base())
        self.clock = Clock(world_start(SEED))
        self.context = ToolContext(
            state=self.state, clock=self.clock, role=role, actor="EMP-101", ids_in=SCHEMA.ids_in, rules=POLICY
        )
        self.events: list[ToolEvent] = []

    def _call(self, tool: str, arguments: Mapping[str, Json]) -> Any:
        call = ToolCall(tool=tool, arguments=arguments)
        result = TOOLBOX.call(self.context, self.state, f"call_{len(self.events)}", call, self.events)
        self.events.append(result.event)
        return json.loads(result.content)

    def read(self, tool: str, **arguments: Json) -> Any:
        """The answer of a call that must write nothing."""
        before = len(self.state.journal)
        answer = self._call(tool, arguments)
        assert self.events[-1].executed, answer
        assert len(self.state.journal) == before
        return answer

    def write(self, tool: str, **arguments: Json) -> Written:
        """What a call wrote."""
        before = len(self.state.journal)
        answer = self._call(tool, arguments)
        assert self.events[-1].executed, answer
        assert violations(self.state, self.clock.today) == []
        written: dict[str, Mapping[str, Any] | None] = {}
        for change in self.state.journal[before:]:
            now = None if change.after is None else _columns(change.after)
            was = None if change.before is None else _columns(change.before)
            written[change.key] = {k: v for k, v in now.items() if was is None or was[k] != v} if now else None
        return written

    def refused(self, tool: str, **arguments: Json) -> Refusal:
        """How a call is refused; it must leave the rows, and show nothing."""
        before, elapsed = self.state.state_hash(), self.clock.elapsed
        answer = self._call(tool, arguments)
        event = self.events[-1]
        assert event.error is not None, answer
        assert (self.state.state_hash(), event.written, event.executed) == (before, 0, False)
        assert (event.shown, event.mentioned) == ((), frozenset())
        assert self.clock.elapsed > elapsed
        assert list(answer) == ["error"]
        return Refusal(**answer["error"])

    # Rows to work on

    def pick(self, kind: type[R], where: Callable[[R], bool] = lambda _: True) -> R:
        """The first row for which `where` holds."""
        return next(row for row in self.state.find(kind) if where(row))

    def order(self, line: OrderLine) -> Order:
        """The order of a line."""
        return self.state.get(Order, line.order_id)

    def customer(self, order: Order) -> Customer:
        """Who placed an order."""
        return self.state.get(Customer, order.customer_id)

    def product(self, line: OrderLine) -> Product:
        """The product of a line."""
        return self.state.get(Product, line.product_id)

    def payment(self, order: Order) -> Payment:
        """The first payment of an order."""
        return self.state.find(Payment, order_id=order.id)[0]

    def parcel(self, order: Order) -> Shipment:
        """The first parcel of an order."""
        return self.state.find(Shipment, order_id=order.id)[0]

    def is_untouched(self, line: OrderLine) -> bool:
        """Whether the line's order has arrived, was paid once, and nothing has come back."""
        order = self.order(line)
        if order.status != "delivered" or len(self.state.find(Payment, order_id=order.id)) != 1:
            return False
        siblings = self.state.find(OrderLine, order_id=order.id)
        return all(x.returned == 0 for x in siblings) and self.payment(order).refunded_cents == 0

    def fresh_line(self, *, pieces: int = 1, least_cents: int = 0, most_cents: int = 10**9) -> OrderLine:
        """An untouched line of at least so many pieces whose unit price lies between these bounds."""
        return self.pick(
            OrderLine,
            lambda x: self.is_untouched(x) and x.quantity >= pieces and least_cents <= x.unit_cents <= most_cents,
        )

    def last_day(self, order: Order) -> Any:
        """The last day on which an order may come back."""
        day = self.parcel(order).delivered
        assert day is not None
        return last_return_day(POLICY, self.customer(order).tier, day)


def _columns(row: Row) -> dict[str, Any]:
    return {f.name: getattr(row, f.name) for f in fields(row)}
