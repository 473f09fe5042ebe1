"""What a user sets of pages: dialect and size of observations, look of the site, and what disturbs."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Literal, TypeAlias, cast, get_args

from palaestra.envs.surfaces.pages.disturbances import DisturbanceSettings
from palaestra.envs.surfaces.pages.variation import PageVariation
from palaestra.errors import UnknownNameError
from palaestra.record import record

DialectName: TypeAlias = Literal["plain", "compact", "browsergym", "playwright-mcp", "browser-use", "html", "computer"]
Extent: TypeAlias = Literal["viewport", "page"]
Renderer: TypeAlias = Literal["text", "chromium"]
LEAST_BUDGET = 60
"""The smallest token budget: the line that says what was cut fits in it, beside some of the page."""
_NUMBERED_DIALECTS = ("browser-use", "playwright-mcp")
"""The dialects in which elements go by numbers."""
_LIMITS = {"budget": LEAST_BUDGET, "depth": 1}
"""The settings that limit an observation, and the smallest value of each."""
_DISTURBANCE_SWITCHES = ("percent", "seed", "kinds")


@record
class PageSettings:
    """What `gymnasium.make(..., surface="pages", surface_settings={...})` sets.

    Raises:
        UnknownNameError: the dialect, the extent or the renderer is unknown.
        ValueError: a number is too small or no whole number, a switch is neither true nor false, or marks have no
            picture or no numbers.
    """

    dialect: DialectName | None = None
    """The text of observations, and the tools. `None`: those of the surface itself; with one of the next six
    settings, "plain", which has them too, and `find`."""
    budget: int | None = None
    """The most tokens of an observation, as `count_tokens` estimates them; `None`: no limit."""
    extent: Extent = "viewport"
    """Whether an observation holds the viewport or the whole page."""
    changes: bool = False
    """Whether it holds only what differs from the last observation, while the address stays."""
    depth: int | None = None
    """The most levels of the tree; 1 holds the elements of the page without what is in them. `None`: all."""
    renderer: Renderer = "text"
    """Whether an observation holds a picture of the viewport, drawn by Chromium, beside its text."""
    marks: bool = False
    """Whether the picture has a box and a number on each element (set of marks)."""
    variation: PageVariation | None = None
    """How the site looks; as it was made if `None`."""
    disturbances: DisturbanceSettings | None = None
    """What comes between the agent and pages; nothing if `None`."""

    def __post_init__(self) -> None:
        if self.dialect is not None and self.dialect not in get_args(DialectName):
            raise UnknownNameError.of("dialect of pages", str(self.dialect), get_args(DialectName))
        if self.extent not in get_args(Extent):
            raise UnknownNameError.of("extent of pages", str(self.extent), get_args(Extent))
        for name, least in _LIMITS.items():
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < least):
                raise ValueError(f"{name}={value!r}: give a whole number from {least}, or leave it out for no limit")
        if self.renderer not in get_args(Renderer):
            raise UnknownNameError.of("renderer of pages", str(self.renderer), get_args(Renderer))
        for name in ("changes", "marks"):
            if type(value := getattr(self, name)) is not bool:
                raise ValueError(f"{name}={value!r}: write True or False")
        if self.marks and (self.renderer != "chromium" or self.dialect not in _NUMBERED_DIALECTS):
            raise ValueError(
                f"marks=True: set renderer='chromium', and dialect={' or '.join(map(repr, _NUMBERED_DIALECTS))}"
            )

    @property
    def dialect_in_use(self) -> DialectName | None:
        """The dialect of observations; `None` where the surface's own text and tools suffice."""
        limited = self.budget is not None or self.depth is not None or self.changes or self.extent != "viewport"
        return self.dialect or ("plain" if limited or self.renderer == "chromium" else None)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "PageSettings":
        """The settings of a mapping such as `{"dialect": "html", "variation": 7, "disturbances": {"percent": 20}}`.

        A variation is a seed or the name of a family.

        Raises:
            UnknownNameError: a key is no setting, or a name is unknown.
            TypeError: a setting has a value of a wrong type.
            ValueError: a value cannot be had.
        """
        known = [field.name for field in fields(cls)]
        for name in given:
            if name not in known:
                raise UnknownNameError.of("setting of pages", str(name), known)
        read = {"variation": _read_variation, "disturbances": _read_disturbances}
        values: dict[str, Any] = {name: read[name](value) if name in read else value for name, value in given.items()}
        return cls(**values)


def _read_variation(given: object) -> PageVariation | None:
    """The variation of a seed or of the name of a family."""
    if given is None or isinstance(given, PageVariation):
        return given
    if isinstance(given, bool) or not isinstance(given, int | str):
        raise TypeError(f"variation={given!r}: give a seed, or the name of a family")
    return PageVariation.of(given)


def _read_disturbances(given: object) -> DisturbanceSettings | None:
    """The settings of a mapping such as `{"percent": 20, "seed": 1, "kinds": ["slow"]}`."""
    if given is None or isinstance(given, DisturbanceSettings):
        return given
    if not isinstance(given, Mapping):
        raise TypeError(f"disturbances={given!r}: give a mapping, such as {{'percent': 20}}")
    switches = cast("Mapping[str, Any]", given)
    for name in switches:
        if name not in _DISTURBANCE_SWITCHES:
            raise UnknownNameError.of("switch of disturbances", name, _DISTURBANCE_SWITCHES)
    for name in ("percent", "seed"):
        if type(value := switches.get(name, 0)) is not int:
            raise TypeError(f"{name}={value!r}: give a whole number")
    if "percent" not in switches:
        raise ValueError("disturbances lack 'percent': how many openings of pages in a hundred bring one")
    if not switches["percent"]:
        return None
    kinds = {"kinds": tuple(switches["kinds"])} if "kinds" in switches else {}
    return DisturbanceSettings(percent=switches["percent"], seed=switches.get("seed", 0), **kinds)
