"""Trackers by name; each opens in a folder, for steps behind a number of done ones."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from palaestra.errors import ConfigError
from palaestra.trainers.monitors.tracker import JsonLinesTracker, Tracker

OpenTracker: TypeAlias = Callable[[Path, int], Tracker]


def _tensorboard(directory: Path, done: int) -> Tracker:
    from palaestra.trainers.monitors.tensorboard import TensorBoardTracker  # noqa: PLC0415  a second to import

    return TensorBoardTracker(directory, done)


def _wandb(directory: Path, done: int) -> Tracker:
    try:
        from palaestra.trainers.monitors.wandb import WandbTracker  # noqa: PLC0415  not everybody has it
    except ImportError as error:
        raise ConfigError(
            f"the tracker 'wandb' needs its package ({error}); pip install wandb, or leave it out of `trackers`"
        ) from error
    return WandbTracker(directory, done)


TRACKERS: Mapping[str, OpenTracker] = MappingProxyType(
    {"jsonl": JsonLinesTracker, "tensorboard": _tensorboard, "wandb": _wandb}
)
"""The trackers that a run's settings can name."""
