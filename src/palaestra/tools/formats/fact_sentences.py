"""Facts for large models: a list in plain English, with a line for each value.

    Facts about these values:
    - order.delivered_at 2031-01-08: 12 days ago; 3 days after order.shipped_at 2031-01-05
    - products.price_cents 4999: 2nd smallest of 5
    - product_id PRD-1017: the same as in the request

A large model reads the digits of a number, so its size is left out. Distances are exact, not in months.
"""

import json
from collections.abc import Iterable, Iterator

from palaestra.tools.formats.facts import (
    DAY_UNIT,
    AskedText,
    DayGap,
    MessagePlace,
    Path,
    RankedValue,
    ShownPart,
    ShownValue,
    ValueComparison,
    ValueOrigin,
    ValueRank,
)
from palaestra.tools.formats.shown import parse_day

_HEADING = "Facts about these values:"
_TEENS = range(11, 14)
_ENDINGS = {1: "st", 2: "nd", 3: "rd"}


def fact_sentences(parts: Iterable[ShownPart], place: MessagePlace) -> str:
    """The facts of a message's parts as a list; empty without facts.

    Args:
        parts: The parts, as they were read.
        place: The message.
    """
    facts_of: dict[str, dict[str, None]] = {}
    for part in parts:
        if not isinstance(part, str):
            facts = facts_of.setdefault(_subject(part), {})
            facts.update(dict.fromkeys(_facts(part, place)))
    lines = [f"- {subject}: {'; '.join(facts)}" for subject, facts in facts_of.items() if facts]
    return "\n".join([_HEADING, *lines]) if lines else ""


def _subject(part: ShownValue | RankedValue | AskedText) -> str:
    text = _one_line(part.text)
    if isinstance(part, ShownValue) and part.inside:
        return f"{text} in {_field(part.path)}" if part.path else text
    return f"{_field(part.path)} {text}" if part.path else text


def _facts(part: ShownValue | RankedValue | AskedText, place: MessagePlace) -> Iterator[str]:
    if isinstance(part, AskedText):
        yield "written by the user"
    elif isinstance(part, RankedValue):
        if all(isinstance(other, type(part.value)) for other in part.rank.among):
            yield _rank(part.rank, part.value)
    else:
        if part.distance is not None:
            yield _distance(part.distance)
        if part.gap is not None:
            yield _gap(part.gap)
        yield from (_comparison(part, other, place) for other in part.compared if _can_compare(other))
        if part.first is not None and (part.first.place != place or part.first.path != part.path):
            yield from _equality(part, part.first, place)


def _distance(days: int) -> str:
    if days == 0:
        return "today"
    return f"in {_days(days)}" if days > 0 else f"{_days(days)} ago"


def _gap(gap: DayGap) -> str:
    other = f"{_field(gap.path)} {_one_line(gap.text)}"
    if gap.days == 0:
        return f"on the same day as {other}"
    return f"{_days(gap.days)} {'after' if gap.days > 0 else 'before'} {other}"


def _rank(rank: ValueRank, value: int | str) -> str:
    least, greatest = ("earliest", "latest") if isinstance(value, str) else ("smallest", "largest")
    count = len(rank.among)
    place = greatest if rank.place == count else least if rank.place == 1 else f"{_ordinal(rank.place)} {least}"
    different = " different values" if rank.counted > count else ""
    pages = ", those of the pages before included" if rank.paged else ""
    return f"{place} of {count}{different}{pages}"


def _can_compare(comparison: ValueComparison) -> bool:
    """Whether the other value is a number or a valid day."""
    return isinstance(comparison.other, int) or parse_day(comparison.other) is not None


def _comparison(shown: ShownValue, comparison: ValueComparison, place: MessagePlace) -> str:
    value, other = shown.value, comparison.other
    if isinstance(value, int):
        word = "more than" if comparison.over else "less than"
    elif len(value) != len(str(other)) and parse_day(value) == parse_day(str(other)):  # a time and its whole day
        word = "on the day of"
    else:
        word = "after" if comparison.over else "before"
    return f"{word} {_name_origin(comparison.seen, place)}"


def _name_origin(seen: ValueOrigin, place: MessagePlace) -> str:
    """A value with its field and its message."""
    field = f"{_field(seen.path)} " if seen.path else ""
    return f"{field}{_one_line(seen.text)} {_place_words(seen, place)}"


def _equality(shown: ShownValue, first: ValueOrigin, place: MessagePlace) -> Iterator[str]:
    """The fact that the value was shown before; EUR 50.00 equals 5000 only if that is an amount."""
    if shown.unit == DAY_UNIT:
        yield f"{'the same' if shown.value == shown.text else 'the same day'} as {_name_origin(first, place)}"
    elif shown.text != first.text and shown.unit == first.unit:
        yield f"the same as {_name_origin(first, place)}"
    elif shown.text == first.text:
        field = f"{_field(first.path)} " if first.path else ""
        yield f"the same as {field}{_place_words(first, place)}"


def _place_words(seen: ValueOrigin, place: MessagePlace) -> str:
    return "above" if seen.place == place else f"in {seen.place.name}"


def _field(path: Path) -> str:
    return _one_line(".".join(path))


def _one_line(text: str) -> str:
    """A text on one line: unchanged, or as JSON if it has unprintable characters."""
    return text if text.isprintable() else json.dumps(text)


def _days(days: int) -> str:
    return "1 day" if abs(days) == 1 else f"{abs(days)} days"


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in _TEENS else _ENDINGS.get(number % 10, "th")
    return f"{number}{ending}"
