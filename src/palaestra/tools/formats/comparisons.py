"""What a shown value says in comparison with others, in a few words: its size, its rank, and how far a day is off.

A small model cannot compare the digits of two numbers. Each of these words is one token, so that it need not.
"""

from bisect import bisect_right
from collections.abc import Sequence
from datetime import date

_SIZES = tuple(sorted(step * 10**power for power in range(2, 10) for step in (1, 2, 5)))
_EXACT_DAYS = 100
"""Days up to which a distance is shown to the day."""


def size_word(number: int) -> str:
    """The order of magnitude of a number of at least three digits: the largest of 100, 200, 500, 1k, ... not above it.

    A negative number has that of its amount, after a minus.
    """
    step = _SIZES[bisect_right(_SIZES, abs(number)) - 1] if abs(number) >= _SIZES[0] else 0
    written = f"{step // 1_000_000}M" if step >= 1_000_000 else f"{step // 1000}k" if step >= 1000 else str(step)
    return f"{'-' if number < 0 else ''}{written}+"


def days_word(day: date, today: date) -> str:
    """How far a day is from today: `today`, `12d ago`, `in 3d`; beyond a hundred days in months of 30 days."""
    distance = (day - today).days
    if distance == 0:
        return "today"
    far = abs(distance)
    written = f"{far}d" if far <= _EXACT_DAYS else f"{far // 30}mo"
    return f"in {written}" if distance > 0 else f"{written} ago"


def gap_word(day: date, before: date) -> str:
    """How far a day is from another day: `+3d`, `-1d`, `+0d`; beyond a hundred days in months of 30 days."""
    distance = (day - before).days
    far = abs(distance)
    written = f"{far}d" if far <= _EXACT_DAYS else f"{far // 30}mo"
    return f"{'-' if distance < 0 else '+'}{written}"


def rank_word(value: int | str, values: Sequence[int | str]) -> str | None:
    """The rank of a value among several, the least being `#1` and the greatest also `top`; equal ones share a rank.

    Returns:
        `None` where all are equal.
    """
    ordered = sorted(set(values), key=lambda one: (isinstance(one, str), one))
    if len(ordered) < 2:
        return None
    rank = ordered.index(value) + 1
    return f"#{rank} top" if rank == len(ordered) else f"#{rank}"
