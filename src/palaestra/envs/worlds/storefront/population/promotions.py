"""Discount codes: past ones, those that hold today, and some that have not begun."""

from collections.abc import Sequence
from datetime import date, timedelta

from palaestra.envs.worlds.storefront.policy import promotion_cents
from palaestra.envs.worlds.storefront.schema import Category, Promotion
from palaestra.seeding import Stream

_WORDS = (
    "SPRING", "POWERUP", "LEVEL", "HELLO", "BOOST", "FRESH", "NIGHT", "TURBO", "PIXEL", "QUIET", "SUMMIT",
    "ORBIT", "EMBER", "FROST", "HARVEST", "RALLY", "SPARK", "STUDIO", "CAMPUS", "COMET", "RIDGE", "CANYON",
    "LAGOON", "SUNSET", "WINTER", "METEOR",
)  # fmt: skip
_CATEGORIES: tuple[Category | None, ...] = (
    None,
    None,
    "gpu",
    "cpu",
    "storage",
    "monitor",
    "memory",
    "keyboard",
)
_PERCENTS = (5, 8, 10, 12, 15)
_MINIMUMS = (0, 5_000, 10_000, 20_000, 40_000)
_PAST = 18
_PAST_SPAN_DAYS = 720
_COMING = 2
_RUNNING: tuple[tuple[Category | None, int, int], ...] = (
    (None, 5, 3_000),
    (None, 8, 15_000),
    ("mouse", 15, 0),
    ("gpu", 6, 20_000),
    ("monitor", 10, 10_000),
)
"""(category, percent, minimum) of the codes that hold today and have held for two months."""


def promotions(stream: Stream, today: date) -> list[Promotion]:
    """All codes of a world."""
    words = iter(stream.permutation(_WORDS))
    found: list[Promotion] = []
    for category, percent, minimum in _RUNNING:
        starts = today - timedelta(days=stream.between(65, 90))
        ends = today + timedelta(days=stream.between(8, 40))
        found.append(_promotion(next(words), percent, category, minimum, (starts, ends)))
    for number in range(_PAST + _COMING):
        if number < _PAST:
            starts = today - timedelta(days=70 + _PAST_SPAN_DAYS * number // _PAST + stream.below(20))
        else:
            starts = today + timedelta(days=stream.between(4, 20))
        days = starts, starts + timedelta(days=stream.between(20, 50))
        percent, category = stream.choice(_PERCENTS), stream.choice(_CATEGORIES)
        found.append(_promotion(next(words), percent, category, stream.choice(_MINIMUMS), days))
    return found


def applicable(
    promotions: Sequence[Promotion], goods: list[tuple[Category, int]], on: date
) -> list[tuple[Promotion, int]]:
    """Every code that takes something off `goods` ordered on that day, with what it takes off."""
    found = ((p, promotion_cents(p, goods, on)) for p in promotions)
    return [(promotion, cents) for promotion, cents in found if cents > 0]


def _promotion(word: str, percent: int, category: Category | None, minimum: int, days: tuple[date, date]) -> Promotion:
    return Promotion(
        id=f"{word}{percent}",
        percent=percent,
        category=category,
        starts=days[0],
        ends=days[1],
        minimum_cents=minimum,
    )
