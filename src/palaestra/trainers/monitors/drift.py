"""Slow changes: a figure that leaves its best level, and another figure meanwhile.

The usual value follows a slow change, so a comparison with the last steps never detects it. This module compares the
mean over a window with the best such mean so far.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, TypeAlias

from palaestra.trainers.objectives.objective import Metrics

BestLevel: TypeAlias = Literal["lowest", "highest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftLevel:
    """The means of two figures over the same steps."""

    watched: float
    other: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """The levels of two figures now, and when the watched figure was best."""

    now: DriftLevel
    best: DriftLevel


class DriftWatch:
    """Compares a window of steps with the window in which a figure was best; among equals, with the latest.

    Args:
        watched: The figure that has a best level.
        other: The figure that is compared at the same windows.
        best: Which level of the watched figure is best.
        window: The number of steps of a level.
    """

    def __init__(self, watched: str, other: str, *, best: BestLevel, window: int) -> None:
        self._names = (watched, other)
        self._sign = -1.0 if best == "lowest" else 1.0
        self._window = window
        self._seen: list[list[float]] = [[], []]
        self._best: list[float] = []

    def observe(self, metrics: Metrics) -> Drift | None:
        """Add a step.

        Returns:
            Both levels; `None` until a window is full, and at a step that lacks one of the figures.
        """
        if any(name not in metrics for name in self._names):
            return None
        self._seen = [
            [*seen, metrics[name]][-self._window :] for name, seen in zip(self._names, self._seen, strict=True)
        ]
        if len(self._seen[0]) < self._window:
            return None
        now = [fmean(seen) for seen in self._seen]
        if not self._best or self._sign * now[0] >= self._sign * self._best[0]:
            self._best = now
        return Drift(
            now=DriftLevel(watched=now[0], other=now[1]),
            best=DriftLevel(watched=self._best[0], other=self._best[1]),
        )

    def state(self) -> dict[str, list[float]]:
        """The state to save: the steps of each figure's window, and the best level."""
        watched, other = self._seen
        return {"watched": list(watched), "other": list(other), "best": list(self._best)}

    def restore(self, state: Mapping[str, list[float]]) -> None:
        """Continue from a result of `state`."""
        self._seen = [list(state["watched"]), list(state["other"])]
        self._best = list(state["best"])
