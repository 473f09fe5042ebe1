"""Arguments that the departments' tools share."""

from datetime import date
from typing import Annotated, TypeAlias

from pydantic import Field

from palaestra.errors import ToolRefusal

Day: TypeAlias = Annotated[str, Field(min_length=10, max_length=10)]
"""A day, as YYYY-MM-DD."""
Few: TypeAlias = Annotated[int, Field(ge=1, le=500)]
"""How many people, days or pieces."""
Label: TypeAlias = Annotated[str, Field(min_length=1, max_length=60)]
"""A short name."""


def parse_day(day: str) -> date:
    """The day that an argument means; refused where it means none."""
    try:
        return date.fromisoformat(day)
    except ValueError:
        raise ToolRefusal("bad_date", f"{day!r} is no day; write it as YYYY-MM-DD") from None


def span(first: str, last: str) -> tuple[date, date]:
    """Two days in order; refused where the last one comes first."""
    begin, end = parse_day(first), parse_day(last)
    if end < begin:
        raise ToolRefusal("bad_period", f"{last} is before {first}")
    return begin, end
