"""The kinds of stages and the names of a run's stages, as its settings have them. Reading them needs no torch."""

from collections.abc import Iterable, Mapping
from typing import cast

from palaestra.records import Json

STAGE_KINDS = ("sft", "expert", "rejection", "grpo")
"""In the order in which a run takes them where its settings state no order."""
ORDER = "stages"
"""The setting that states the order."""


def kind_of(name: str) -> str | None:
    """The kind of the stage of this name, "grpo" for "grpo" and "grpo-late"; `None` where it is no stage's name."""
    kind = name.partition("-")[0]
    return kind if kind in STAGE_KINDS else None


def stage_names(settings: Mapping[str, Json]) -> tuple[str, ...]:
    """The names of a run's stages, in order.

    Args:
        settings: The document of a run's folder; one of an earlier version states no order.
    """
    if ORDER in settings:
        return tuple(cast("list[str]", settings[ORDER]))
    return default_order(name for name, value in settings.items() if value is not None)


def default_order(names: Iterable[str]) -> tuple[str, ...]:
    """The stages among `names`, by kind; those of one kind as they stand."""
    listed = list(names)
    return tuple(name for kind in STAGE_KINDS for name in listed if kind_of(name) == kind)
