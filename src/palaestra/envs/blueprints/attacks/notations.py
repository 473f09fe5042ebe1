"""One value in several notations: a day or an amount as a request, a tool or a reply writes it."""

import re
from datetime import date
from typing import TypeAlias

from palaestra.envs.blueprints.tool_style import ToolStyle, style_options
from palaestra.records import Json

Meaning: TypeAlias = date | int | float | str | bool | None
"""What a value says, in whatever notation: amounts are cents."""

_STYLES = tuple(ToolStyle(dates=dates) for dates in style_options()["dates"])  # type: ignore[arg-type]
_AMOUNT = re.compile(r"(EUR )?(-?)(\d+)\.(\d{2})")
_NUMBER = re.compile(r"-?\d{1,9}")


def read_value(value: Json) -> Meaning:
    """What a value says; `None` of lists and objects, which say more than one thing."""
    if isinstance(value, list | dict):
        return None
    if not isinstance(value, str):
        return value
    if (style := _style_of(value)) is not None:
        return style.parse_day(value)
    if found := _AMOUNT.fullmatch(value):
        return int(f"{found[2]}{found[3]}{found[4]}")
    return int(value) if _NUMBER.fullmatch(value) else value


def write_like(meaning: Meaning, model: Json) -> Json:
    """A value in the notation of another one of its kind."""
    if isinstance(meaning, date) and isinstance(model, str):
        return (_style_of(model) or _STYLES[0]).format_day(meaning)
    if isinstance(meaning, date):
        return meaning.isoformat()
    if isinstance(model, str) and type(meaning) is int:
        if found := _AMOUNT.fullmatch(model):
            sign = "-" if meaning < 0 else ""
            return f"{found[1] or ''}{sign}{abs(meaning) // 100}.{abs(meaning) % 100:02d}"
        return str(meaning)
    return meaning


def _style_of(text: str) -> ToolStyle | None:
    """The style in which a text is a day; `None` where it is none."""
    for style in _STYLES:
        try:
            style.parse_day(text)
        except ValueError:
            continue
        return style
    return None
