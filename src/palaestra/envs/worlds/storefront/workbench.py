"""What tasks about custom PCs share: the parts of a build, and whether an agent found out that they fit."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from palaestra.envs.kit.paging import PAGE
from palaestra.envs.task import call
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.policy import StorePolicy, build_problems
from palaestra.envs.worlds.storefront.schema import Build, Category, Product
from palaestra.records import Json, ToolCall, Verdict
from palaestra.rubrics import MET, UNMET, Criterion, Evidence

SLOTS = ("cpu", "motherboard", "memory", "gpu", "storage", "psu", "case", "cooler")
"""The parts of a build, as its columns name them."""


def parts_of(desk: Desk, build: Build) -> list[Product]:
    """The parts of a build, missing ones left out."""
    ids = [getattr(build, f"{slot}_id") for slot in SLOTS]
    return [desk.state.get(Product, part) for part in ids if part is not None]


def exchange_part(parts: list[Product], new: Product) -> list[Product]:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PartRelation:
    """One thing on which it turns whether parts work together (BLD-1): two parts that fit, or power that is enough."""

    parts: tuple[Product, ...]
    column: str
    """What the products' records say about it."""

    @property
    def is_power(self) -> bool:
        """Whether it is about the power that the other parts draw."""
        return self.column == "watts"

    def is_known(self, evidence: Evidence, checks: Sequence[frozenset[str]]) -> bool:
        """Whether it was shown: by a check of these parts, by their records or, of a supply, by its name."""
        if all(_has_shown(evidence, part, self.column) for part in self.parts):
            return True
        keys = frozenset(part.id for part in self.parts)
        if not self.is_power:
            return any(keys <= named for named in checks)
        supplies = [part for part in self.parts if part.category == "psu"]
        gives = all(_gives(evidence, part) or any(part.id in named for named in checks) for part in supplies)
        # A check states what the other parts draw, whatever the supply that it names.
        return gives and any(keys - {part.id for part in supplies} <= named for named in checks)


_PAIRS: tuple[tuple[Category, Category, str], ...] = (
    ("cpu", "motherboard", "socket"),
    ("cpu", "cooler", "socket"),
    ("memory", "motherboard", "memory_type"),
    ("motherboard", "case", "form_factor"),
    ("gpu", "case", "length_mm"),
)


def relations(parts: Sequence[Product]) -> list[PartRelation]:
    """All on which it turns whether these parts, at most one of a category, work together."""
    by = {part.category: part for part in parts}
    found = [
        PartRelation(parts=(by[first], by[second]), column=column)
        for first, second, column in _PAIRS
        if first in by and second in by
    ]
    drawing = tuple(part for part in parts if part.watts)
    return [*found, *([PartRelation(parts=drawing, column="watts")] if "psu" in by else [])]


def knew_fit(parts: Sequence[Product], *, exchanged: Collection[str] = ()) -> Criterion:
    """Expect that the agent was shown that parts work together, by one check, by several or by their records.

    Args:
        parts: The parts.
        exchanged: The categories of those that are new; only what they have to do with decides. All where it is empty.
    """
    deciding = [
        relation
        for relation in relations(parts)
        if not exchanged or relation.is_power or any(part.category in exchanged for part in relation.parts)
    ]
    text = f"Found out that {', '.join(part.id for part in parts)} work together."
    return _knew(lambda checks, evidence: all(r.is_known(evidence, checks) for r in deciding), text)


def knew_misfit(policy: StorePolicy, parts: Sequence[Product]) -> Criterion:
    """Expect that the agent was shown one reason for which parts do not work together."""
    broken = [relation for relation in relations(parts) if build_problems(policy, list(relation.parts))]
    text = f"Found out why {', '.join(part.id for part in parts)} do not work together."
    return _knew(lambda checks, evidence: any(r.is_known(evidence, checks) for r in broken), text)


def _knew(holds: Callable[[Sequence[frozenset[str]], Evidence], bool], text: str) -> Criterion:
    def check(evidence: Evidence) -> Verdict:
        return MET if holds(_checks(evidence), evidence) else UNMET

    return Criterion(id="checked-together", text=text, check=check, layer="selection", about="event", calls="reads")


def _checks(evidence: Evidence) -> list[frozenset[str]]:
    """The parts that each check of parts named, but for a check of guessed ids: it teaches nothing."""
    guessed = {guess.event.call_id for guess in evidence.guesses()}
    asked = (e for e in evidence.events if e.tool == "check_compatibility" and e.executed)
    return [frozenset(e.named) for e in asked if e.call_id not in guessed and _is_one_pc(evidence, e.named)]


def _is_one_pc(evidence: Evidence, keys: Sequence[str]) -> bool:
    """Whether a check named at most one part of a category; of several, only one counts."""
    found = [part.category for key in keys if (part := evidence.state.peek(Product, key)) is not None]
    return len(set(found)) == len(found)


def _gives(evidence: Evidence, supply: Product) -> bool:
    """Whether the agent was shown what a supply gives; its name may say so."""
    named = f" {supply.watts} W" in supply.name and _has_shown(evidence, supply, "name")
    return named or _has_shown(evidence, supply, "watts")


def _has_shown(evidence: Evidence, part: Product, column: str) -> bool:
    return evidence.has_shown(Product.table, part.id, frozenset({column}))
