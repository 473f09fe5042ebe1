"""What tasks about custom PCs share: the parts of a build, and whether an agent had them checked."""

from palaestra.envs.kit.paging import PAGE
from palaestra.envs.task import call
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.schema import Build, Category, Product
from palaestra.records import Json, ToolCall, Verdict
from palaestra.rubrics import MET, UNMET, Criterion, Evidence

SLOTS = ("cpu", "motherboard", "memory", "gpu", "storage", "psu", "case", "cooler")
"""The parts of a build, as its columns name them."""


def parts_of(desk: Desk, build: Build) -> list[Product]:
    """The parts of a build, missing ones left out."""
    ids = [getattr(build, f"{slot}_id") for slot in SLOTS]
    return [desk.state.get(Product, part) for part in ids if part is not None]


def exchanged(parts: list[Product], new: Product) -> list[Product]:
    """The parts of a build with one of them exchanged for another of its category."""
    return [*(p for p in parts if p.category != new.category), new]


def shelf(desk: Desk, category: Category, query: str = "") -> tuple[list[ToolCall], list[Product]]:
    """The calls that list all parts of a category that are in stock, page by page, and those parts, cheapest first.

    Args:
        desk: The desk.
        category: The category.
        query: Words that the parts' names hold.
    """
    found = desk.state.search(Product, query) if query else desk.state.find(Product)
    listed = [p for p in found if p.category == category and p.stock > 0]
    asked: dict[str, Json] = {"category": category, "in_stock": True, **({"query": query} if query else {})}
    pages = [call("search_products", **asked)]
    pages += [call("search_products", **asked, cursor=listed[end - 1].id) for end in range(PAGE, len(listed), PAGE)]
    return pages, sorted(listed, key=lambda p: p.price_cents)


def check(parts: list[Product]) -> ToolCall:
    """The call that checks whether parts work together."""
    return call("check_compatibility", product_ids=[p.id for p in parts])


def checked_together(parts: list[str]) -> Criterion:
    """Expect that `check_compatibility` was asked about all of these parts."""

    def check(evidence: Evidence) -> Verdict:
        named = set(evidence.event.named)
        # A check of guessed ids teaches nothing.
        known = evidence.given.issuperset(named) or evidence.known().issuperset(named)
        return MET if evidence.event.executed and known and named.issuperset(parts) else UNMET

    return Criterion(
        id="checked-together",
        text=f"Checked that {', '.join(parts)} work together.",
        check=check,
        layer="selection",
        about="event",
        tools=frozenset({"check_compatibility"}),
    )
