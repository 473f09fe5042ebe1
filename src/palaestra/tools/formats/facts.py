"""Facts derived from what an episode has shown: earlier occurrences of a value, distances of days, ranks of numbers.

They are derived once (`shown`, `answers`) and written in two ways: as words and handles for small policies
(`fact_words`), and as sentences for large models (`fact_sentences`).
"""

from collections.abc import Sequence
from typing import TypeAlias

from palaestra.record import record
from palaestra.tools.formats.format import Mark
from palaestra.tools.formats.handles import HandleValue

Path: TypeAlias = tuple[str, ...]
"""The field names that lead to a value of an answer; empty for a value of a message that is not JSON."""
DAY_UNIT = "date"
"""The unit of days and times."""


@record
class MessagePlace:
    """A message of the episode."""

    number: int
    """The number of messages before it."""
    name: str
    """Its description, such as `the request` or `the answer of get_order`."""


@record
class ValueOrigin:
    """The first occurrence of a value."""

    place: MessagePlace
    path: Path
    text: str
    """The value as written there."""
    unit: str | None
    """The unit of a number, a day or a time; `None` for a text."""


@record
class ValueComparison:
    """Whether a value exceeds another one of its unit."""

    over: bool
    other: HandleValue
    seen: ValueOrigin
    """The first occurrence of the other value."""
    mark: Mark | None
    """The handle of the other value; `None` if its kind has none left."""


@record
class DayGap:
    """The distance of a day from the day in another field of its record."""

    days: int
    """Days from the other day to this one."""
    path: Path
    """The other field."""
    text: str
    """The other day or time, as written there."""


@record
class ValueRank:
    """The rank of a value among the values of its field in a listing."""

    place: int
    """The rank: 1 for the least value. Equal values share a rank."""
    among: Sequence[HandleValue]
    """The number of different values, at least two."""
    counted: int
    """The number of values of the field, equal ones included."""
    paged: bool
    """Whether values of earlier pages are included."""


@record
class ShownValue:
    """A value of a message, with derived facts."""

    value: HandleValue
    """The relevant part: for a time only its day, if no tool takes times."""
    text: str
    """The value as written in the message."""
    path: Path = ()
    inside: bool = False
    """Whether it is a part of a longer text."""
    mark: Mark | None = None
    """Its handle; `None` if its kind has none left."""
    unit: str | None = None
    """The unit of a number, a day or a time; `None` for a text."""
    first: ValueOrigin | None = None
    """Its first occurrence; `None` if this is the first."""
    distance: int | None = None
    """For a day: days from today, negative in the past; `None` if today is unknown."""
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
    """The fact that the user has written the preceding text of a field."""

    text: str
    path: Path


ShownPart: TypeAlias = str | ShownValue | RankedValue | AskedText
"""A part of a message: text, a mark, a value with derived facts, or a further fact about the previous part."""
