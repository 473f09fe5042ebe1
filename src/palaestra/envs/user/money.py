"""Amounts of money in a text: where a normalised text names one, and how many cents a written text states."""

import re

from palaestra.envs.user.sentences import MAX_READ

_NUMBER = (
    r"(?:\d+|(?:five|ten|twelve|fifteen|twenty|twenty-five|thirty|forty|fifty)(?= per ?cent|-per|%| euros?| cents?))"
)
_COIN = r"(?:eur|euros?|cents?|ct|usd|gbp|dollars?|pounds?|chf)"
AMOUNT = re.compile(
    rf"(?<!\w)(?:{_COIN} ?{_NUMBER}|[$\u00a3] ?\d+|{_NUMBER}[ -]?(?:{_COIN}\b|%|per ?cent\b|percent\b|[$\u00a3]))"
)
"""An amount or a share in a normalised text, in which numbers have lost their marks."""

_WRITTEN = re.compile(
    r"(?:(?:eur|\u20ac|euros?)\s*(\d[\d.,' ]*\d|\d))|(?:(\d[\d.,']*\d|\d)\s*(?:-\s*)?(?:eur\b|euros?\b|\u20ac))"
    r"|(?:(\d[\d.,']*\d|\d)[\s-]*(?:cents?|ct)\b)",
    re.IGNORECASE,
)
_DECIMALS = re.compile(r"^(.*)[.,](\d{2}|\d)$")


def stated_amounts(text: str) -> tuple[int, ...]:
    """The amounts of money in a text as it was written, in cents, in order: "EUR 40.66", "4066 cents"."""
    amounts: list[int] = []
    for match in _WRITTEN.finditer(text[:MAX_READ]):
        before, after, cents = match.groups()
        if cents is not None:
            amounts.append(int(re.sub(r"\D", "", cents)))
        else:
            amounts.append(_cents(before or after))
    return tuple(amounts)


def _cents(number: str) -> int:
    number = number.rstrip(".,' ")
    decimals = _DECIMALS.match(number)
    whole, rest = decimals.groups() if decimals else (number, "")
    return int(re.sub(r"\D", "", whole) or 0) * 100 + int((rest or "0").ljust(2, "0"))
