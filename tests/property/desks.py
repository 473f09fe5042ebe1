"""Storefront tasks to work in at random: rows that belong together, and calls close enough to meet their own traces."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, TypeVar, cast

import gymnasium as gym

from palaestra.envs import ToolEnv
from palaestra.envs.state import SqlProjection
from palaestra.envs.worlds.storefront.schema import SCHEMA, Order, OrderLine, Payment, Refund, Return, Shipment
from palaestra.protocols import StateView
from palaestra.records import ANY_TABLE, Row
from palaestra.seeding import Stream
from palaestra.tools import Tool, legal_call

AMOUNTS: Mapping[str, tuple[int, ...]] = {
    "amount_cents": (1, 1, 1, 500, 4_999, 29_999, 30_000, 30_001),
    "quantity": (1, 1, 1, 2, 3),
    "fee_cents": (0, 0, 150, 10_000_000),
}
"""Amounts on either side of the rules' limits."""
STATUSES = ("processing", "shipped", "delivered")
FEW = 6
"""Rows of each table that are near whether they belong to anything or not."""

T = TypeVar("T")


def make(task: str) -> ToolEnv:
    """An environment of one task, with turns enough to get somewhere."""
    env = gym.make("palaestra/Storefront-v0", task=task, max_turns=80).unwrapped
    assert isinstance(env, ToolEnv)
    return env


@cache
def tasks() -> tuple[str, ...]:
    """The first task of every family, in the first split in which it occurs."""
    known = make("storefront/cancel-order/0000").task_set
    first: dict[str, str] = {}
    for split in ("train", "heldout"):
        for task in known.ids(split):
            first.setdefault(task.rpartition("/")[0], task)
    return tuple(first.values())


@cache
def mirror(task: str) -> SqlProjection:
    """The rows of a task in SQL; it follows one overlay after the other."""
    return SqlProjection(make(task).task_set.instance(task).initial_state)


def belongings(state: StateView, order: Order) -> set[str]:
    """The ids of an order and of what belongs to it."""
    lines = state.find(OrderLine, order_id=order.id)
    rows: list[Row] = [*lines]
    for kind in (Payment, Shipment, Refund, Return):
        rows += state.find(kind, order_id=order.id)
    return {order.id, order.customer_id, *(row.id for row in rows), *(line.product_id for line in lines)}


def _spread(items: Sequence[T], count: int) -> Sequence[T]:
    """`count` of `items`, or one more, at even distances."""
    return items[:: max(1, len(items) // count)]


@cache
def neighbourhood(task: str) -> Mapping[str, frozenset[str]]:
    """By table: a few rows that belong together, so that random calls meet each other's traces."""
    instance = make(task).task_set.instance(task)
    state = instance.initial_state
    ids = {word for word in instance.given if any(state.peek(info.kind, word) for info in SCHEMA)}
    orders = [o for status in STATUSES for o in _spread(state.find(Order, status=status), 3)]
    for order in [*orders, *(o for o in state.find(Order) if o.id in ids)]:
        ids |= belongings(state, order)
    near: dict[str, frozenset[str]] = {}
    for info in SCHEMA:
        keys = state.keys(info.name)
        near[info.name] = frozenset({*ids.intersection(keys), *_spread(keys, FEW)})
    return near


def near_call(env: ToolEnv, tools: Sequence[Tool], stream: Stream) -> dict[str, Any]:
    """A call of one of `tools` on rows of the neighbourhood or new ones, most often all of one order."""
    order = stream.choice(_ids_near(env, "orders"))
    found = env.state.peek(Order, order)
    close = belongings(env.state, found) if found is not None and stream.chance(75) else set[str]()
    # What was just written is where the next rule of the business applies: a lost parcel, a refund to approve.
    fresh = {change.key for change in env.journal[-3:]} if stream.chance(40) else set[str]()

    def ids(table: str) -> Sequence[str]:
        near = _ids_near(env, table)
        return [key for key in near if key in fresh] or [key for key in near if key in close] or near

    drawn = legal_call(tools, ids, stream)
    arguments = dict(drawn.arguments)
    for name, amounts in AMOUNTS.items():
        if name in arguments:
            arguments[name] = stream.choice(amounts)
    for name in env.toolbox[drawn.tool].references:
        if name in arguments and stream.chance(8):
            arguments[name] = "ORD-0"
    return {"tool": drawn.tool, "arguments": cast("dict[str, Any]", arguments)}


def _ids_near(env: ToolEnv, table: str) -> list[str]:
    """The rows of a table that the task's neighbourhood holds or the episode created, and that stand, by key."""
    near = neighbourhood(env.task.id)
    state = env.state
    found: list[str] = []
    for info in SCHEMA if table == ANY_TABLE else (SCHEMA[table],):
        new = {change.key for change in env.journal if change.table == info.name and change.before is None}
        found += [key for key in sorted(near[info.name] | new) if state.peek(info.kind, key) is not None]
    return found
