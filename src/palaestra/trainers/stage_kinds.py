"""The kinds of stages, and the stage names in a run's settings. Reading them needs no torch."""

from collections.abc import Iterable, Mapping
from typing import cast

from palaestra.records import Json

STAGE_KINDS = ("sft", "expert", "rejection", "grpo")
"""The kinds in their default order."""
ORDER = "stages"
"""The setting that states the order of stages."""


def kind_of(name: str) -> str | None:
    """The kind of the stage with this name, "grpo" for "grpo" and "grpo-late"; `None` if the name is not a stage's."""
    kind = name.partition("-")[0]
    return kind if kind in STAGE_KINDS else None


def stage_names(settings: Mapping[str, Json]) -> tuple[str, ...]:
    """The names of a run's stages, in order.

    Args:
        settings: The settings in a run's folder; settings of an earlier version state no order.
    """
    if ORDER in settings:
        return tuple(cast("list[str]", settings[ORDER]))
    return default_order(name for name, value in settings.items() if value is not None)


def default_order(names: Iterable[str]) -> tuple[str, ...]:
    """The stages among `names`, sorted by kind; stages of one kind keep their order."""
    listed = list(names)
    return tuple(name for kind in STAGE_KINDS for name in listed if kind_of(name) == kind)
