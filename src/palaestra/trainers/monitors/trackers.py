"""Trackers by name, or user-defined as `module:name`; each opens in a folder, after a number of completed steps."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from palaestra.errors import ConfigError, UnknownNameError
from palaestra.records import JsonObject
from palaestra.trainers.monitors.tracker import JsonLinesTracker, Tracker
from palaestra.trainers.plugin import load_plugin

OpenTracker: TypeAlias = Callable[[Path, int, JsonObject], Tracker]
"""Opens a tracker; arguments are the stage's folder, the number of completed steps and the run's settings."""


def tracker_named(name: str) -> OpenTracker:
    """The tracker that a run's settings name: one of `TRACKERS`, or a user's `module:name`.

    Raises:
        ConfigError: there is no tracker with this name, or its module cannot be imported.
    """
    if ":" in name:
        opened: OpenTracker = load_plugin(name, setting="trackers")
        return opened
    if name not in TRACKERS:
        raise ConfigError(str(UnknownNameError.of("tracker", name, TRACKERS, "(or give module:name of one of yours)")))
    return TRACKERS[name]


def _json_lines(directory: Path, done: int, settings: JsonObject) -> Tracker:
    del settings  # the run's config.json holds them
    return JsonLinesTracker(directory, done)


def _tensorboard(directory: Path, done: int, settings: JsonObject) -> Tracker:
    from palaestra.trainers.monitors.tensorboard import TensorBoardTracker  # noqa: PLC0415  a second to import

    return TensorBoardTracker(directory, done, settings)


def _wandb(directory: Path, done: int, settings: JsonObject) -> Tracker:
    try:
        from palaestra.trainers.monitors.wandb import WandbTracker  # noqa: PLC0415  not everybody has it
    except ImportError as error:
        raise ConfigError(
            f"the tracker 'wandb' needs its package ({error}); pip install wandb, or leave it out of `trackers`"
        ) from error
    return WandbTracker(directory, done, settings)


TRACKERS: Mapping[str, OpenTracker] = MappingProxyType(
    {"jsonl": _json_lines, "tensorboard": _tensorboard, "wandb": _wandb}
)
"""The trackers of Palaestra, by name."""
