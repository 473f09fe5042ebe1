"""When episodes begin, and how a briefing says so."""

from datetime import date, datetime, time, timedelta

from palaestra.seeding import Stream

_FIRST_DAY = date(2026, 1, 5)
_LAST_DAY = date(2026, 9, 30)
_OPENS = time(9)
# `%A` would follow the process's locale.
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def draw_start(world: str, seed: int) -> datetime:
    """The moment at which the world of a seed begins: nine in the morning of some day of 2026."""
    span = (_LAST_DAY - _FIRST_DAY).days + 1
    day = _FIRST_DAY + timedelta(days=Stream.root(world, seed).split("start").below(span))
    return datetime.combine(day, _OPENS)


def format_moment(moment: datetime) -> str:
    """A moment in words, such as "Monday 2026-01-05, 09:00"."""
    return f"{_DAYS[moment.weekday()]} {moment:%Y-%m-%d, %H:%M}"
