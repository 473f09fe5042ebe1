"""The switches of pages: how the site of an environment looks."""

from collections.abc import Mapping
from typing import Any

from palaestra.envs.surfaces.pages.variation import PageVariation
from palaestra.errors import UnknownNameError
from palaestra.record import record


@record
class PageSettings:
    """What `gym.make(..., pages=...)` sets."""

    variation: PageVariation | None = None
    """How the site looks; as it was made if `None`."""

    @classmethod
    def of(cls, given: "PageSettings | Mapping[str, Any] | None") -> "PageSettings | None":
        """The settings of a mapping such as `{"variation": 7}` or `{"variation": "cards"}`; `None` for none.

        Raises:
            UnknownNameError: there is no such switch, or no such family of variations.
            TypeError: a switch has a value of a wrong type.
            ValueError: a seed is below 0.
        """
        if given is None or isinstance(given, PageSettings):
            return None if given == cls() else given
        if not isinstance(given, Mapping):
            raise TypeError(f"pages={given!r}: give a mapping, such as {{'variation': 7}}")
        for name in given:
            if name != "variation":
                raise UnknownNameError.of("switch of pages", name, ["variation"])
        variation = given.get("variation")
        if variation is None or isinstance(variation, PageVariation):
            made = cls(variation=variation)
        elif isinstance(variation, bool) or not isinstance(variation, int | str):
            raise TypeError(f"variation={variation!r}: give a seed, or the name of a family")
        else:
            made = cls(variation=PageVariation.of(variation))
        return None if made == cls() else made
