"""Converts days and amounts from the notations of different worlds' tools to one, as an agent could."""

import re
from collections.abc import Iterator

_NUMBERED = re.compile(r"\b(\d{2})[./](\d{2})[./](\d{4})\b")
_NAMED = re.compile(r"\b(\d{1,2}) (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) (\d{4})\b")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DECIMAL = re.compile(r"(\d+)\.(\d{2})")


def iso_days(text: str) -> Iterator[str]:
    """The days of a text that are not written as in ISO 8601, as they would be: `31.05.2026` is `2026-05-31`."""
    for day, month, year in _NUMBERED.findall(text):
        yield f"{year}-{month}-{day}"
    for day, month, year in _NAMED.findall(text):
        yield f"{year}-{_MONTHS.index(month) + 1:02d}-{int(day):02d}"


def decimal_cents(text: str) -> int | None:
    """The cents of a text that is exactly an amount with two decimals; `None` for other texts."""
    found = _DECIMAL.fullmatch(text)
    return None if found is None else int(found[1]) * 100 + int(found[2])
