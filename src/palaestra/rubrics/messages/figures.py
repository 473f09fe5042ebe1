"""Figures in texts of people: amounts of money, percentages, dates, spans of time, ids and other numbers.

It reads English and the usual European notations of numbers. Numbers in words are read if they count money, percent or
time ("five thousand euros"). A small bare number ("both", "2 items") makes no claim and is left out.
"""

import re
from collections.abc import Iterator
from datetime import date
from functools import lru_cache
from typing import Literal, TypeAlias

from palaestra.record import record

FigureKind: TypeAlias = Literal["money", "percent", "date", "span", "number", "name", "id"]


@record
class Figure:
    """One figure of a text."""

    kind: FigureKind
    value: int | str
    """Money in cents, a date in ISO form (without a year if the text has none), otherwise the text itself.

    An invalid date ("2026-13-45") is kept as written, so that no record confirms it. A name is a capitalised word and
    the number after it, as in a street.
    """
    text: str
    """The figure as written."""


SMALLEST = 13
"""Bare numbers below this make no claim."""

_AMOUNT = r"\d{1,3}(?:[.,' ]\d{3})+(?:[.,]\d{1,2})?|\d+(?:[.,]\d{1,2})?"
_CURRENCY = r"EUR|€|euros?"
_MONEY = re.compile(
    rf"(?:(?:{_CURRENCY})\s*({_AMOUNT})(?![\d]))|(?:(?<![\w.,-])({_AMOUNT})\s*(?:{_CURRENCY})(?!\w))"
    rf"|(?:(?<![\w.,-])({_AMOUNT})\s*(?:cents?|ct)(?!\w))",
    re.IGNORECASE,
)
_EUROS_AND_CENTS = re.compile(
    r"(?<![\w.,-])(\d{1,3}(?:[.,' ]\d{3})+|\d+)\s*(?:euros?|EUR|€)\s*(?:and\s+)?(\d{1,2})\s*(?:cents?|ct)(?!\w)",
    re.IGNORECASE,
)
_PERCENT = re.compile(r"(?<![\w.,-])(\d+(?:[.,]\d+)?)\s*(?:%|percent\b|per cent\b)", re.IGNORECASE)
_MONTHS = (
    ("jan", "january", "januar", "janvier", "enero"),
    ("feb", "february", "februar", "f\u00e9vrier", "febrero"),
    ("mar", "march", "m\u00e4rz", "mars", "marzo"),
    ("apr", "april", "avril", "abril"),
    ("may", "mai", "mayo"),
    ("jun", "june", "juni", "juin", "junio"),
    ("jul", "july", "juli", "juillet", "julio"),
    ("aug", "august", "ao\u00fbt", "agosto"),
    ("sep", "sept", "september", "septembre", "septiembre"),
    ("oct", "october", "oktober", "octobre", "octubre"),
    ("nov", "november", "novembre", "noviembre"),
    ("dec", "december", "dezember", "d\u00e9cembre", "diciembre"),
)
"""The months in English, German, French and Spanish."""
_MONTH_OF = {name: number for number, names in enumerate(_MONTHS, 1) for name in names}
_MONTH = rf"(?:{'|'.join(sorted(_MONTH_OF, key=len, reverse=True))})\b\.?"
_DATES = (
    re.compile(r"(?<![\w-])(?P<y>\d{4})-(?P<m>\d{1,2})-(?P<d>\d{1,2})(?!\d)"),
    re.compile(r"(?<![\w.])(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4})(?!\d)"),
    re.compile(r"(?<![\w/])(?P<d>\d{1,2})/(?P<m>\d{1,2})/(?P<y>\d{4})(?!\d)"),
    re.compile(
        rf"(?<!\w)(?P<d>\d{{1,2}})(?:st|nd|rd|th|er|\.)?\s+(?:(?:of|de)\s+)?(?P<name>{_MONTH})"
        r"(?:(?:,|\s+de)?\s+(?P<y>\d{4}))?(?!\w)",
        re.I,
    ),
    re.compile(rf"(?<!\w)(?P<name>{_MONTH})\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+(?P<y>\d{{4}}))?(?!\w)", re.I),
)  # fmt: skip
_NO_DATE = re.compile(r"(?<![\w.,-])(?:19|20)\d\d-(?!(?:0[1-9]|1[0-2])(?!\d))\d{1,3}(?![\w-])")
"""Text that begins like a date but is not one, such as "2026-27"; "2026-05" is a month."""
_SPAN = re.compile(
    r"(?<![\w.,-])(\d+)[\s-]*(?:(?:business|working|calendar)\s+)?(?:hours?|days?|weeks?|months?|years?)\b",
    re.IGNORECASE,
)
_ID = re.compile(r"(?<![\w@.-])[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)*-\d+(?!\w)")
_NAME = re.compile(r"(?<![\w-])([A-Z\u00c0-\u00de][\w.'-]*[^\W\d_.]\.?) (\d{1,4}[a-z]?)(?![\w:%]|[.,]\d)")
_NUMBER = re.compile(r"(?<![\w.,:-])\d+(?:[.,]\d+)*(?![\w:]|-\w)")
_ONES = {
    word: value
    for value, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ]
    )
}
_TENS = {
    word: 10 * value
    for value, word in enumerate(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], 2)
}
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
_NUMERAL = "|".join((*_ONES, *_TENS, *_SCALES))
_IN_WORDS = re.compile(
    rf"\b((?:{_NUMERAL})(?:(?:[\s-]+|\s+and\s+)(?:{_NUMERAL}))*)[\s-]+"
    r"(?=(?:euros?|eur|cents?|percent|per cent|(?:business |working )?(?:days?|weeks?|months?|hours?))\b)",
    re.IGNORECASE,
)


@lru_cache(maxsize=2_048)
def figures_in(text: str) -> tuple[Figure, ...]:
    """The figures of a text, each kind in order of occurrence."""
    text = _IN_WORDS.sub(lambda found: f"{_numeral(found[1])} ", text)
    return tuple(_figures(_EUROS_AND_CENTS.sub(lambda found: f"{found[1]}.{int(found[2]):02} euros", text)))


def amounts_in(text: str) -> Iterator[int]:
    """The amounts of money in a text next to a currency or the word for cents, in cents."""
    for match in _MONEY.finditer(text):
        yield _money(match)


def _money(match: re.Match[str]) -> int:
    euros = match[1] or match[2]
    return _cents(euros) if euros else _cents(match[3]) // 100


def _figures(text: str) -> Iterator[Figure]:
    """Read one kind after another; text that one kind has read is hidden from the next."""

    def take(pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        nonlocal text
        found = list(pattern.finditer(text))
        text = pattern.sub(lambda match: " " * len(match[0]), text)
        return iter(found)

    for match in take(_ID):
        yield Figure(kind="id", value=match[0], text=match[0])
    for pattern in _DATES:
        for match in take(pattern):
            yield Figure(kind="date", value=_date(match) or match[0], text=match[0])
    for match in take(_NO_DATE):
        yield Figure(kind="date", value=match[0], text=match[0])
    for match in take(_MONEY):
        yield Figure(kind="money", value=_money(match), text=match[0])
    for match in take(_PERCENT):
        yield Figure(kind="percent", value=match[1].replace(",", "."), text=match[0])
    for match in take(_SPAN):
        yield Figure(kind="span", value=str(int(match[1])), text=match[0])
    for match in _NAME.finditer(text):
        yield Figure(kind="name", value=f"{match[1]} {match[2]}", text=match[0])
    for match in take(_NUMBER):
        if not match[0].isdecimal() or int(match[0]) >= SMALLEST:
            yield Figure(kind="number", value=match[0], text=match[0])


def _cents(amount: str) -> int:
    """A written amount in hundredths: the last mark before one or two digits is the decimal mark."""
    whole, mark, rest = amount, "", ""
    if (found := re.search(r"[.,](\d{1,2})$", amount)) is not None:
        whole, mark, rest = amount[: found.start()], found[0][0], found[1]
    digits = re.sub(r"\D", "", whole) or "0"
    return int(digits) * 100 + (int(rest.ljust(2, "0")) if mark else 0)


def _date(match: re.Match[str]) -> str | None:
    """The day in ISO form; `None` if it does not exist. A day with slashes may begin with its month."""
    parts = match.groupdict()
    year, month = parts["y"], _MONTH_OF[parts["name"].rstrip(".").lower()] if parts.get("name") else int(parts["m"])
    number = int(parts["d"])
    if month > 12 and "/" in match[0]:
        month, number = number, month
    try:
        day = date(int(year or 2000), month, number)
    except ValueError:
        return None
    return day.isoformat() if year else f"{day:%m-%d}"


def _numeral(written: str) -> int:
    total = current = 0
    for word in re.split(r"[\s-]+", written.lower()):
        if word in _SCALES:
            current = max(current, 1) * _SCALES[word]
            if word != "hundred":
                total, current = total + current, 0
        else:
            current += _ONES.get(word, 0) + _TENS.get(word, 0)
    return total + current
