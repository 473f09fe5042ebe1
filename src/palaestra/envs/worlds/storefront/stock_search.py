"""Whether an agent searched the stock so that it would have come upon a part, had it not been sold out."""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from palaestra.envs.kit.paging import PAGE
from palaestra.envs.state.base import row_words, words_of
from palaestra.envs.state.query import Where, conditions
from palaestra.envs.state.schema import TableInfo
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.schema import Product
from palaestra.records import Json, ToolEvent, Verdict
from palaestra.rubrics import MET, UNMET, Criterion, Evidence


def expect_searches(desk: Desk, gone: Sequence[Product]) -> Criterion:
    """Expect searches of the products that would have listed all of these, were they in stock.

    A search that asks for less, such as for parts at a price that no part has, shows nothing about what is left.

    Args:
        desk: The desk.
        gone: The parts that are sold out and would have done.
    """
    info = desk.state.base.schema[Product.table]
    text = f"Searched the stock in a way that would have listed {', '.join(part.id for part in gone)}."

    def check(evidence: Evidence) -> Verdict:
        searches = [e for e in evidence.events if e.tool in _SEARCHES and e.executed]
        return MET if all(any(_lists(evidence, info, e, part) for e in searches) for part in gone) else UNMET

    # A world without the generic surface has no tool `query`, and a criterion may name only tools that there are.
    return Criterion(id="searched", text=text, check=check, layer="selection", about="event", calls="reads")


_SEARCHES = frozenset({"search_products", "query"})


def _lists(evidence: Evidence, info: TableInfo, event: ToolEvent, part: Product) -> bool:
    """Whether the page that a search showed would have had the part on it, had it been in stock."""
    if event.tool == "query" and event.arguments.get("table") != info.name:
        return False
    if not _fits(info, event, replace(part, stock=1)):
        return False
    cursor = str(event.arguments.get("cursor") or "")
    listed = [row.id for row in evidence.state.find(Product) if _fits(info, event, row) and row.id > cursor]
    return part.id > cursor and sum(key < part.id for key in listed) < PAGE


def _fits(info: TableInfo, event: ToolEvent, part: Product) -> bool:
    """Whether the part is among what a search asked for."""
    asked = event.arguments
    words = words_of(str(asked.get("search" if event.tool == "query" else "query") or ""))
    if not set(words) <= row_words(part, info.searchable):
        return False
    where: dict[str, Json] = {}
    if event.tool == "query":
        given = asked.get("where")
        where = {**given} if isinstance(given, dict) else {}
    else:
        if asked.get("category") is not None:
            where["category"] = asked["category"]
        if asked.get("in_stock"):
            where["stock >"] = 0
        if asked.get("max_price_cents") is not None:
            where["price_cents <="] = asked["max_price_cents"]
    return all(condition.holds(part) for condition in conditions(info, cast("Where", where)))
