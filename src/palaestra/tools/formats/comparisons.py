"""Comparisons of shown values in a few words: the size and rank of a number, and the distance of a day.

A small model cannot compare the digits of two numbers. Each of these words is one token, which avoids this.
"""

from bisect import bisect_right
from collections.abc import Sequence

from palaestra.tools.formats.facts import ValueRank
from palaestra.tools.formats.handles import HandleValue

_SIZES = tuple(sorted(step * 10**power for power in range(2, 10) for step in (1, 2, 5)))
_EXACT_DAYS = 100
"""The maximum distance in days that is shown exactly."""


def size_word(number: int) -> str:
    """The order of magnitude of a number of at least three digits: the largest of 100, 200, 500, 1k, ... not above it.

    A negative number has the word of its magnitude, after a minus sign.
    """
    step = _SIZES[bisect_right(_SIZES, abs(number)) - 1] if abs(number) >= _SIZES[0] else 0
    written = f"{step // 1_000_000}M" if step >= 1_000_000 else f"{step // 1000}k" if step >= 1000 else str(step)
    return f"{'-' if number < 0 else ''}{written}+"


def days_word(distance: int) -> str:
    """The distance of a day from today: `today`, `12d ago`, `in 3d`; beyond a hundred days in months of 30 days.

    Args:
        distance: Days from today.
    """
    if distance == 0:
        return "today"
    return f"in {_far(distance)}" if distance > 0 else f"{_far(distance)} ago"


def gap_word(days: int) -> str:
    """The distance of a day from another day: `+3d`, `-1d`, `+0d`; beyond a hundred days in months of 30 days.

    Args:
        days: Days from the other day.
    """
    return f"{'-' if days < 0 else '+'}{_far(days)}"


def _far(days: int) -> str:
    far = abs(days)
    return f"{far}d" if far <= _EXACT_DAYS else f"{far // 30}mo"


def rank_of(value: HandleValue, values: Sequence[HandleValue], *, paged: bool = False) -> ValueRank | None:
    """The rank of a value among several.

    Args:
        value: The value; usually one of `values`.
        values: All values of the field.
        paged: Whether some values are from earlier pages.

    Returns:
        `None` if all are equal, and for a value that is not among them: a number beside records in a list.
    """
    ordered = sorted(set(values), key=lambda one: (isinstance(one, str), one))
    if len(ordered) < 2 or value not in ordered:
        return None
    return ValueRank(place=ordered.index(value) + 1, among=ordered, counted=len(values), paged=paged)


def rank_word(rank: ValueRank) -> str:
    """A rank: `#1` for the least, `#5 top` for the greatest of five."""
    return f"#{rank.place} top" if rank.place == len(rank.among) else f"#{rank.place}"
