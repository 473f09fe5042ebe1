"""Days as arguments: text in ISO form in a call, a date in a tool."""

from datetime import date
from typing import Annotated, TypeAlias

from pydantic import BeforeValidator


def _parse_day(value: object) -> date:
    """The day that a text names.

    Raises:
        ValueError: it is no text, or names none.
    """
    if not isinstance(value, str):
        raise ValueError("a day is a text such as 2026-03-09")
    return date.fromisoformat(value)


Day: TypeAlias = Annotated[date, BeforeValidator(_parse_day)]
"""The annotation of an argument that is a day."""
