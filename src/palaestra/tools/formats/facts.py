"""Facts that follow from what an episode has shown: where a value stood before, how far a day is off, a number's rank.

They are derived once (`shown`, `answers`) and written in two ways: as words and handles for small policies
(`fact_words`), and as sentences for large models (`fact_sentences`).
"""

from collections.abc import Sequence
from typing import TypeAlias

from palaestra.record import record
from palaestra.tools.formats.format import Mark
from palaestra.tools.formats.handles import HandleValue

Path: TypeAlias = tuple[str, ...]
"""The names of the fields that lead to a value of an answer; empty for a value of a message that is no JSON."""
DAY_UNIT = "date"
"""The unit of days and times."""


@record
class MessagePlace:
    """A message of the episode."""

    number: int
    """Messages before it."""
    name: str
    """What it is, such as `the request` or `the answer of get_order`."""


@record
class ValueOrigin:
    """Where a value was shown."""

    place: MessagePlace
    path: Path
    text: str
    """As it is written there."""
    unit: str | None
    """Of a number, a day or a time; `None` for a text."""


@record
class ValueComparison:
    """Whether a value is over another one of its unit."""

    over: bool
    other: HandleValue
    seen: ValueOrigin
    """Where the other one was shown first."""
    mark: Mark | None
    """The handle of the other one; `None` where its kind has none left."""


@record
class DayGap:
    """How far a day is from the day in another field of its record."""

    days: int
    """From the other day to this one."""
    path: Path
    """The other field."""
    text: str
    """The other day or time, as it is written there."""


@record
class ValueRank:
    """A value's place among the values of its field in a listing."""

    place: int
    """Of the least value: 1. Equal values share a place."""
    among: Sequence[HandleValue]
    """The different values, at least two, from the least to the greatest."""
    counted: int
    """Values of the field, equal ones included."""
    paged: bool
    """Whether those of the pages before are counted too."""


@record
class ShownValue:
    """A value of a message, and what follows of it."""

    value: HandleValue
    """What counts of it: of a time the day alone, where no tool takes times."""
    text: str
    """As it is written in the message."""
    path: Path = ()
    inside: bool = False
    """Whether it is a part of a longer text."""
    mark: Mark | None = None
    """Its handle; `None` where its kind has none left."""
    unit: str | None = None
    """Of a number, a day or a time; `None` for a text."""
    first: ValueOrigin | None = None
    """Where it was shown first; `None` where that is here."""
    distance: int | None = None
    """Of a day: days from today, negative before it; `None` where today is not known."""
    gap: DayGap | None = None
    compared: Sequence[ValueComparison] = ()


@record
class RankedValue:
    """The rank of the value before it."""

    value: HandleValue
    text: str
    path: Path
    rank: ValueRank


@record
class AskedText:
    """That the user has written the text of a field, which stands before it."""

    text: str
    path: Path


ShownPart: TypeAlias = str | ShownValue | RankedValue | AskedText
"""A part of a message: text, a mark, a value with what follows of it, or a further fact of the part before."""
