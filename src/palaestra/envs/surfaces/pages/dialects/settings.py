"""What a user chooses of pages: the dialect, and how much of a page one observation holds."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Literal, TypeAlias, get_args

from palaestra.errors import UnknownNameError
from palaestra.record import record

DialectName: TypeAlias = Literal["plain", "browsergym", "playwright-mcp", "browser-use", "html", "computer"]
Extent: TypeAlias = Literal["viewport", "page"]
LEAST_BUDGET = 60
"""The smallest token budget: the line that says what was cut fits in it, beside some of the page."""
_NUMBERS = {"budget": LEAST_BUDGET, "depth": 1}


@record
class PageSettings:
    """How an agent sees pages and acts on them; `gymnasium.make(..., surface_settings={...})` takes the fields.

    Raises:
        UnknownNameError: the dialect or the extent is unknown.
        ValueError: a number is too small or no whole number, or `changes` is neither true nor false.
    """

    dialect: DialectName = "plain"
    """The text of observations, and the tools."""
    budget: int | None = None
    """The most tokens of an observation, as `count_tokens` estimates them; `None`: no limit."""
    extent: Extent = "viewport"
    """Whether an observation holds the viewport or the whole page."""
    changes: bool = False
    """Whether it holds only what differs from the last observation, while the address stays."""
    depth: int | None = None
    """The most levels of the tree; 1 holds the elements of the page without what is in them. `None`: all."""

    def __post_init__(self) -> None:
        if self.dialect not in get_args(DialectName):
            raise UnknownNameError.of("dialect of pages", str(self.dialect), get_args(DialectName))
        if self.extent not in get_args(Extent):
            raise UnknownNameError.of("extent of pages", str(self.extent), get_args(Extent))
        for name, least in _NUMBERS.items():
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < least):
                raise ValueError(f"{name}={value!r}: give a whole number from {least}, or leave it out for no limit")
        if type(self.changes) is not bool:
            raise ValueError(f"changes={self.changes!r}: write True or False")

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "PageSettings":
        """The settings of that mapping.

        Raises:
            UnknownNameError: a key is no setting, or a name is unknown.
            ValueError: a value cannot be had.
        """
        known = [field.name for field in fields(cls)]
        for name in given:
            if name not in known:
                raise UnknownNameError.of("setting of pages", str(name), known)
        return cls(**given)
