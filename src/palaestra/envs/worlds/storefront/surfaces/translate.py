"""From the desk's own tools to the generic surface: for each call, one that shows or does the same."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from palaestra.envs.worlds.storefront.surfaces.generic import ACTIONS, GENERIC_TOOLBOX
from palaestra.protocols import StateView
from palaestra.records import Json, ToolCall

Arguments = Mapping[str, Json]


def translate(calls: Sequence[ToolCall], state: StateView) -> tuple[ToolCall, ...]:
    """The calls of the generic surface that do what `calls` of the conventional one do.

    Args:
        calls: Calls of the conventional surface.
        state: The rows that they begin at.
    """
    del state
    return tuple(map(_translated, calls))


def _translated(call: ToolCall) -> ToolCall:
    if call.tool in ACTIONS:
        step: dict[str, Json] = {"action": call.tool, "arguments": dict(call.arguments)}
        steps: list[Json] = [step]
        return ToolCall(tool="run_workflow", arguments={"steps": steps})
    if call.tool in GENERIC_TOOLBOX:
        return call
    return _READS[call.tool](call.arguments)


def _query(table: str, where: Mapping[str, Json], arguments: Arguments, search: str = "") -> ToolCall:
    asked: dict[str, Json] = {"table": table}
    conditions: dict[str, Json] = {name: value for name, value in where.items() if value is not None}
    if conditions:
        asked["where"] = conditions
    if search:
        asked["search"] = search
    if arguments.get("cursor") is not None:
        asked["after"] = arguments["cursor"]
    return ToolCall(tool="query", arguments=asked)


def _by(table: str, **columns: str) -> Callable[[Arguments], ToolCall]:
    """A query of `table` by columns that take the values of arguments."""
    return lambda a: _query(table, {column: a.get(name) for column, name in columns.items()}, a)


def _searched(table: str) -> Callable[[Arguments], ToolCall]:
    return lambda a: _query(table, {}, a, search=str(a["query"]))


def _order(arguments: Arguments) -> ToolCall:
    wanted: dict[str, Any] = {"table": "orders", "id": arguments["order_id"], "path": ["order_lines.order_id"]}
    return ToolCall(tool="traverse", arguments=wanted)


def _products(arguments: Arguments) -> ToolCall:
    where = {
        "category": arguments.get("category"),
        "stock >": 0 if arguments.get("in_stock") else None,
        "price_cents <=": arguments.get("max_price_cents"),
    }
    return _query("products", where, arguments, search=str(arguments.get("query", "")))


_READS: Mapping[str, Callable[[Arguments], ToolCall]] = {
    "search_customers": _searched("customers"),
    "get_customer": _by("customers", id="customer_id"),
    "get_credits": _by("credits", customer_id="customer_id"),
    "search_employees": _by("employees", team="team", rank="rank"),
    "search_handbook": _searched("handbook"),
    "read_handbook": _by("handbook", id="section_id"),
    "get_ticket": _by("tickets", id="ticket_id"),
    "search_tickets": _by("tickets", customer_id="customer_id", status="status"),
    "search_orders": _by("orders", customer_id="customer_id", status="status"),
    "get_order": _order,
    "get_payments": _by("payments", order_id="order_id"),
    "get_shipments": _by("shipments", order_id="order_id"),
    "track_parcel": _by("shipments", tracking="tracking"),
    "get_refunds": _by("refunds", order_id="order_id"),
    "get_returns": _by("returns", order_id="order_id"),
    "get_warranty_claims": _by("warranty_claims", line_id="line_id"),
    "search_products": _products,
    "get_product": _by("products", id="product_id"),
    "search_offers": _by("competitor_offers", product_id="product_id"),
    "get_promotion": _by("promotions", id="code"),
    "search_builds": _by("builds", customer_id="customer_id"),
    "get_build": _by("builds", id="build_id"),
}
