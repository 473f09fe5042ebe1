"""The sources of figures: everything that the agent could have read, and every written row.

A figure is supported if it occurs in one of these texts as a separate number, in any usual form. An amount of money is
also supported if it is the sum or the difference of two such amounts, a stated percentage of one, or a small multiple
of one: people compute that in their heads.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations

from palaestra.rubrics.messages.figures import Figure, amounts_in

_ID_DIGITS = 3
_PIECES = range(2, 13)
_MOST_AMOUNTS = 150
"""The number of latest amounts for sums and differences: with too many, any amount is a sum of two."""
_KEYED = re.compile(
    r'"\w*(?:cents|amount|price|fee|total|limit|cost)\w*":\s*"?(-?\d+(?:\.\d+)?)|(?<!\w)\w+_cents:?\s+(-?\d+)(?![\w.,])'
)
"""A column in cents and its value, in JSON and on pages."""
_DAY = re.compile(r"(?:(\d{4})-)?(0[1-9]|1[0-2])-(\d\d)")
"""A day in the form of figures, with or without its year."""
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DECIMAL = re.compile(r"(\d+)\.(\d\d)")
"""An amount as text with two places, as some tools show it."""
_RATE = re.compile(
    r"(?<![\w.,-])(\d{1,3})\s*(?:%|percent|per cent)|\"\w*(?:percent|rate)\w*\":\s*(\d{1,3})\b"
    r"|(?<!\w)\w+_(?:percent|rate):?\s+(\d{1,3})(?![\w.,])",
    re.I,
)


def is_supported(figure: Figure, sources: Iterable[str]) -> bool:
    """Whether a figure follows from any of these texts.

    Args:
        figure: A figure of a message.
        sources: Texts and rows as JSON, the latest last.
    """
    texts = list(sources)
    if stands_in(figure, texts):
        return True
    if figure.kind == "name":
        # "Only 2" is not a name: a name makes a claim if the texts have another number after the same word.
        word, _, _ = str(figure.value).rpartition(" ")
        numbered = re.compile(rf"(?<![\w-]){re.escape(word)} \d")
        return not any(numbered.search(text) for text in texts)
    return figure.kind == "money" and isinstance(figure.value, int) and _is_worked_out(figure.value, texts)


def stands_in(figure: Figure, texts: Sequence[str]) -> bool:
    """Whether a figure occurs in any of these texts as a separate number, in any usual form."""
    # A pattern that begins with a negative look-behind is tried at every character; most texts lack the form.
    if any(form in text and _alone(form).search(text) for form in _forms(figure) for text in texts):
        return True
    return any(pattern.search(text) for pattern in _otherwise(figure) for text in texts)


def _forms(figure: Figure) -> Iterator[str]:
    """The possible notations of the figure."""
    value = figure.value
    if figure.kind == "money":
        assert isinstance(value, int), "money is in cents"
        yield str(value)
        yield f"{value // 100}.{value % 100:02}"
        yield f"{value // 100},{value % 100:02}"
        if value >= 100_000:
            yield f"{value // 100:,}.{value % 100:02}"
            yield f"{value // 100:,}".replace(",", ".") + f",{value % 100:02}"
    else:
        yield str(value)


@lru_cache(maxsize=4_096)
def _otherwise(figure: Figure) -> tuple[re.Pattern[str], ...]:
    """Patterns for other forms of the figure: whole euros without decimals, ids by their number."""
    if figure.kind == "money":
        return tuple(map(re.compile, _round_euros(figure)))
    number = str(figure.value)
    if figure.kind == "number" and number.isdecimal() and len(number) >= _ID_DIGITS:
        # "Orders 1431 and 1436" and "ORD-1428/1429" name ids.
        return (re.compile(rf"(?<![\w-])[A-Z]{{2,}}[-_]?{number}(?!\w)"),)
    if figure.kind == "date" and (found := _DAY.fullmatch(number)) is not None:
        return (_other_notations(*found.groups()),)
    return ()


def _other_notations(year: str | None, month: str, day: str) -> re.Pattern[str]:
    """A pattern for a day as tools may show it: 31.05.2026, 31/05/2026 or 31 May 2026."""
    years, name = year or r"\d{4}", _MONTHS[int(month) - 1]
    numbered = rf"(?<![\w.,/-]){day}(?P<mark>[./]){month}(?P=mark){years}(?!\w)"
    return re.compile(rf"{numbered}|(?<![\w.,/-]){int(day)} {name} {years}(?!\w)")


def _round_euros(figure: Figure) -> Iterator[str]:
    """Patterns for whole euros without decimals: next to a currency, or with words that mark an amount."""
    assert isinstance(figure.value, int), "money is in cents"
    euros, rest = divmod(figure.value, 100)
    if rest:
        return
    for form in dict.fromkeys((str(euros), f"{euros:,}", f"{euros:,}".replace(",", "."))):
        written = re.escape(form)
        yield rf"(?:\b(?:EUR|euros?)|\u20ac)\s*{written}(?![\w-]|[.,]\d)"
        yield rf"(?<![\w.,-]){written}(?:[.,]-)?\s*(?:EUR\b|\u20ac|[Ee]uros?\b)"
        yield (
            r"\b(?:(?:budget|limit|maximum)(?: of| is)?|at most|no more than|up to)\s+"
            rf"{written}(?![\w:%-]|[.,]\d| %)"
        )


@lru_cache(maxsize=4_096)
def _alone(form: str) -> re.Pattern[str]:
    """A pattern for the form outside longer numbers, ids and dates."""
    if re.fullmatch(r"\d\d-\d\d", form):
        return re.compile(rf"(?<=\d{{4}}-){form}(?!\d)")
    # A colon between digits makes a time; one after a JSON key does not.
    before, after = (r"(?<![\w.,-])(?<!\d:)", r"(?![\w:-]|[.,]\d)")
    if re.fullmatch(r"\d{4}-\d\d-\d\d", form):
        before, after = (r"(?<![\w-])", r"(?!\d|-)")
    elif not form[0].isdigit():
        before, after = (r"(?<![\w-])", r"(?![\w-])")
    return re.compile(before + re.escape(form) + after)


def _is_worked_out(cents: int, texts: list[str]) -> bool:
    amounts: dict[int, None] = {}
    rates: set[int] = set()
    for text in texts:
        for amount in _amounts(text):
            amounts.pop(amount, None)
            amounts[amount] = None
        rates.update(int(found[1] or found[2] or found[3]) for found in _RATE.finditer(text))
    known = list(amounts)[-_MOST_AMOUNTS:]
    if any(a + b == cents or abs(a - b) == cents for a, b in combinations(known, 2)):
        return True
    shares = {share for a in known for rate in rates for share in ((a * rate + 50) // 100, a - (a * rate + 50) // 100)}
    return cents in shares or any(a * pieces == cents for a in known for pieces in _PIECES)


def _amounts(text: str) -> Iterator[int]:
    """The amounts of money of a text, in cents."""
    for found in _KEYED.finditer(text):
        yield abs(round(float(found[1] or found[2])))
        if (decimal := _DECIMAL.fullmatch(found[1] or "")) is not None:
            yield int(decimal[1]) * 100 + int(decimal[2])
    yield from amounts_in(text)
