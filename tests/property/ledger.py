"""What an episode may not do, worked out a second time from its net changes: no cent and no piece comes from nowhere.

The world's own invariants (`storefront.invariants`) read one state. These compare two, the beginning and now, and
share no code with them or with the tools. The same goes for `unpermitted`, which reads a rubric's allowances anew.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

from palaestra.envs.worlds.storefront.schema import (
    Credit,
    Customer,
    Order,
    OrderLine,
    Payment,
    Product,
    Refund,
    Shipment,
)
from palaestra.protocols import StateView
from palaestra.records import Row, RowChange
from palaestra.rubrics import Allowance


def imbalances(before: StateView, after: StateView, changes: Iterable[RowChange]) -> list[str]:
    """A sentence for each account that moved by more or less than the records say.

    Args:
        before: The rows at the beginning.
        after: The rows now.
        changes: The net difference between them.
    """
    moved: Counter[str] = Counter()
    said: Counter[str] = Counter()
    orders: set[str] = set()
    for change in changes:
        for row, sign in ((change.before, -1), (change.after, 1)):
            if isinstance(row, Customer):
                moved[f"credit of {row.id}"] += sign * row.credit_cents
            elif isinstance(row, Credit):
                said[f"credit of {row.customer_id}"] += sign * row.amount_cents
            elif isinstance(row, Payment):
                moved[f"refunded of {row.id}"] += sign * row.refunded_cents
                moved[f"charged for {row.order_id}"] += sign * row.amount_cents
            elif isinstance(row, Refund) and row.status == "paid":
                said[f"refunded of {row.payment_id}"] += sign * row.amount_cents
            elif isinstance(row, Product):
                moved[f"stock of {row.id}"] += sign * row.stock
            elif isinstance(row, Order | Shipment | OrderLine):
                orders.add(row.id if isinstance(row, Order) else row.order_id)
    for order_id in orders:
        _count_goods(before, order_id, 1, said)
        _count_goods(after, order_id, -1, said)
    return [
        f"{name} moved by {moved[name]}, the records say {said[name]}"
        for name in sorted(moved.keys() | said.keys())
        if moved[name] != said[name]
    ]


def _count_goods(state: StateView, order_id: str, sign: int, said: Counter[str]) -> None:
    """The pieces that an order took off the shelf: once when it was placed, again with each replacement."""
    order = state.peek(Order, order_id)
    if order is None:
        return
    parcels = state.find(Shipment, order_id=order_id)
    times = 0 if order.status == "cancelled" else 1 + sum(p.replaces is not None for p in parcels)
    for line in state.find(OrderLine, order_id=order_id):
        said[f"stock of {line.product_id}"] += sign * times * line.quantity


def unpermitted(changes: Iterable[RowChange], allowances: Sequence[Allowance]) -> list[RowChange]:
    """Changes that nothing permits, however allowances are dealt out: `Allowance` as it documents itself.

    New rows are matched to allowances in the best possible way, so that what is left over is wrong beyond doubt.
    """
    slots = [a for a in allowances if a.key is None and not a.deletes for _ in range(a.times)]
    taken: dict[int, Row] = {}
    return [change for change in changes if not _permitted(change, allowances, slots, taken)]


def _permitted(
    change: RowChange, allowances: Sequence[Allowance], slots: Sequence[Allowance], taken: dict[int, Row]
) -> bool:
    of_row = [a for a in allowances if (a.table, a.key) == (change.table, change.key)]
    if change.after is None:
        return any(a.deletes for a in of_row)
    if change.before is None:
        return _placed(change.after, slots, taken, set())
    return all(
        any(column in a.columns or _takes(a, column, change.after) for a in of_row if not a.deletes)
        for column in _differing(change.before, change.after)
    )


def _placed(row: Row, slots: Sequence[Allowance], taken: dict[int, Row], tried: set[int]) -> bool:
    """Whether a new row finds a slot, rows before it moving to others where they can (Kuhn's bipartite matching)."""
    for number, slot in enumerate(slots):
        if number in tried or slot.table != row.table or not _fits(row, slot.values):
            continue
        tried.add(number)
        if number not in taken or _placed(taken[number], slots, taken, tried):
            taken[number] = row
            return True
    return False


def _fits(row: Row, values: Iterable[tuple[str, Any]]) -> bool:
    return all(_is(getattr(row, name), wanted) for name, wanted in values)


def _is(found: object, wanted: Any) -> bool:
    return found in wanted if isinstance(wanted, frozenset) else found == wanted


def _differing(before: Row, after: Row) -> list[str]:
    return [f.name for f in fields(before) if getattr(before, f.name) != getattr(after, f.name)]


def _takes(allowance: Allowance, column: str, row: Row) -> bool:
    return any(name == column and _is(getattr(row, name), wanted) for name, wanted in allowance.values)
