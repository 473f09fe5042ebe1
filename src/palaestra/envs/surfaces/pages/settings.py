"""The switches of pages: how the site of an environment looks, and what comes between an agent and its pages."""

from collections.abc import Mapping
from typing import Any, cast

from palaestra.envs.surfaces.pages.disturbances import DisturbanceSettings
from palaestra.envs.surfaces.pages.variation import PageVariation
from palaestra.errors import UnknownNameError
from palaestra.record import record


@record
class PageSettings:
    """What `gym.make(..., pages=...)` sets."""

    variation: PageVariation | None = None
    """How the site looks; as it was made if `None`."""

    disturbances: DisturbanceSettings | None = None
    """What comes between the agent and pages; nothing if `None`."""

    @classmethod
    def of(cls, given: "PageSettings | Mapping[str, Any] | None") -> "PageSettings | None":
        """The settings of a mapping such as `{"variation": 7, "disturbances": {"percent": 20}}`; `None` for none.

        Raises:
            UnknownNameError: there is no such switch, family of variations or disturbance.
            TypeError: a switch has a value of a wrong type.
            ValueError: a number is out of range.
        """
        if given is None or isinstance(given, PageSettings):
            return None if given == cls() else given
        if not isinstance(given, Mapping):
            raise TypeError(f"pages={given!r}: give a mapping, such as {{'variation': 7}}")
        for name in given:
            if name not in ("variation", "disturbances"):
                raise UnknownNameError.of("switch of pages", name, ["variation", "disturbances"])
        disturbances = _read_disturbances(given.get("disturbances"))
        variation = given.get("variation")
        if variation is None or isinstance(variation, PageVariation):
            made = cls(variation=variation, disturbances=disturbances)
        elif isinstance(variation, bool) or not isinstance(variation, int | str):
            raise TypeError(f"variation={variation!r}: give a seed, or the name of a family")
        else:
            made = cls(variation=PageVariation.of(variation), disturbances=disturbances)
        return None if made == cls() else made


def _read_disturbances(given: object) -> DisturbanceSettings | None:
    """The settings of a mapping such as `{"percent": 20, "seed": 1, "kinds": ["slow"]}`."""
    if given is None or isinstance(given, DisturbanceSettings):
        return given
    if not isinstance(given, Mapping):
        raise TypeError(f"disturbances={given!r}: give a mapping, such as {{'percent': 20}}")
    switches = cast("Mapping[str, Any]", given)
    for name in switches:
        if name not in ("percent", "seed", "kinds"):
            raise UnknownNameError.of("switch of disturbances", name, ["percent", "seed", "kinds"])
    for name in ("percent", "seed"):
        if type(value := switches.get(name, 0)) is not int:
            raise TypeError(f"{name}={value!r}: give a whole number")
    if "percent" not in switches:
        raise ValueError("disturbances lack 'percent': how many openings of pages in a hundred bring one")
    if not switches["percent"]:
        return None
    kinds = {"kinds": tuple(switches["kinds"])} if "kinds" in switches else {}
    return DisturbanceSettings(percent=switches["percent"], seed=switches.get("seed", 0), **kinds)
