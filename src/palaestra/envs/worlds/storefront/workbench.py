"""What tasks about custom PCs share: the parts of a build, and whether an agent had them checked."""

from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.schema import Build, Product
from palaestra.records import Verdict
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
