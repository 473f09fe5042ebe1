"""Values in running text: ids, days, times, amounts of money, and postal addresses.

An address is a capitalised name with a house number, followed by a town. An id without a common form, such as a
promotion code, is recognised only after an answer has shown it in its own field. In text games a thing is named by a
word and a number, `cabinet 2`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

ValueForm: TypeAlias = Literal["email", "id", "code", "time", "day", "money", "street", "city", "name"]
_FORMS = (
    r"(?P<email>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)"
    r"|(?P<uuid>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b"
    r"|(?P<id>[A-Z]{2,8}[-/]\d(?:[\d/-]*\d)?)(?![\w-])"
    r"|(?P<code>[A-Z]{2,5}\d{6,})\b"
    r"|(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\b"
    r"|(?P<day>\d{4}-\d\d-\d\d)(?![\w-])"
    r"|(?P<money>EUR \d{1,3}(?:,\d{3})+(?:\.\d\d)?(?!,?\d)|EUR \d+(?:\.\d\d)?(?!\d))"
)
_WORD = r"[^\W\d_][\w.'-]*"
_NAME = r"(?=[^\W\d_])(?![a-zà-ÿ])" + _WORD
_TOWN = r"(?=[^\W\d_])(?![a-zà-ÿ])(?:St\. )?[^\W\d_][\w'-]*"
_ADDRESS = (
    rf"|(?P<street>{_NAME}(?: (?:{_NAME}|de|des|du|del|della|la|le|les|di|da|of|the|van|der|den|am|im|an)){{0,3}}"
    rf" \d{{1,4}}[a-z]?)(?=(?P<between>,? in |, )(?P<city>(?:\d{{4,6}} )?{_TOWN}(?: {_TOWN}){{0,2}}))"
)
_START = r"(?:(?<![\w.+-])|(?<=[a-z_]\.)(?=[A-Z]{2,8}[-/]\d))"
"""Where a value may begin: at a word, or after a dot inside the name of a page's element, `row.ORD-1042`."""
_THING = r"|(?P<name>[a-z]+ \d{1,2})(?![\w-])"
_PATTERNS = {
    (places, names): re.compile(f"{_START}(?:{_FORMS}{_ADDRESS if places else ''}{_THING if names else ''})")
    for places in (False, True)
    for names in (False, True)
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundValue:
    """A value in a text."""

    start: int
    end: int
    form: ValueForm
    value: str | int
    """Its text; an amount in cents."""


def recognise(text: str, *, places: bool, names: bool) -> Iterator[FoundValue]:
    """The values in a text, in order; they do not overlap.

    Args:
        text: The text of a message.
        places: Whether postal addresses are included.
        names: Whether things named by a word and a number are included.
    """
    for found in _PATTERNS[places, names].finditer(text):
        form = str(found.lastgroup)
        if form == "city":
            yield FoundValue(start=found.start(), end=found.end("street"), form="street", value=found["street"])
            yield FoundValue(start=found.start("city"), end=found.end("city"), form="city", value=found["city"])
        elif form == "money":
            yield FoundValue(start=found.start(), end=found.end(), form="money", value=_cents(found["money"]))
        else:
            yield FoundValue(start=found.start(), end=found.end(), form=_FORM_OF[form], value=found.group())


_FORM_OF: dict[str, ValueForm] = {
    "email": "email", "uuid": "id", "id": "id", "code": "code", "time": "time", "day": "day", "name": "name"
}  # fmt: skip


def money_text(cents: int) -> str:
    """An amount as written in prose: `EUR 1,234.50`, `EUR -0.50`."""
    return f"EUR {'-' if cents < 0 else ''}{abs(cents) // 100:,}.{abs(cents) % 100:02d}"


def _cents(text: str) -> int:
    whole, _, cents = text.removeprefix("EUR ").replace(",", "").partition(".")
    return int(whole) * 100 + int(cents or 0)
