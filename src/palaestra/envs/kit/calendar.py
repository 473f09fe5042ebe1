"""When episodes begin, how a briefing says so, and days as arguments of tools."""

from datetime import date, datetime, time, timedelta
from typing import Annotated, TypeAlias

from pydantic import BeforeValidator

from palaestra.seeding import Stream

_FIRST_DAY = date(2026, 1, 5)
_LAST_DAY = date(2026, 9, 30)
_SATURDAY, _SUNDAY = 5, 6
_OPENS = time(9)
# `%A` would follow the process's locale.
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def _parse_day(value: object) -> date:
    """The day that a text names.

    Raises:
        ValueError: it is no text, or names none.
    """
    if not isinstance(value, str):
        raise ValueError("a day is a text such as 2026-03-09")
    return date.fromisoformat(value)


Day: TypeAlias = Annotated[date, BeforeValidator(_parse_day)]
"""An argument that is a day: text in ISO form in a call, a date in the tool."""


def draw_start(world: str, seed: int, *, weekends: bool = True) -> datetime:
    """The moment at which the world of a seed begins: nine in the morning of some day of 2026.

    Without weekends, a Saturday becomes the Friday before it, and a Sunday the Monday after it.
    """
    span = (_LAST_DAY - _FIRST_DAY).days + 1
    day = _FIRST_DAY + timedelta(days=Stream.root(world, seed).split("start").below(span))
    if not weekends:
        day += timedelta(days={_SATURDAY: -1, _SUNDAY: 1}.get(day.weekday(), 0))
    return datetime.combine(day, _OPENS)


def format_moment(moment: datetime) -> str:
    """A moment in words, such as "Monday 2026-01-05, 09:00"."""
    return f"{_DAYS[moment.weekday()]} {moment:%Y-%m-%d, %H:%M}"
