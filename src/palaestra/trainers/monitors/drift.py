"""Slow changes: a figure that leaves its best level, and what another figure does meanwhile.

What is usual moves with a slow change, so a comparison with the last steps never sees it. Here the mean over a window
is compared with the best such mean so far.
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
    """Where two figures are, and where they were when the watched one was best."""

    now: DriftLevel
    best: DriftLevel


class DriftWatch:
    """Compares a window of steps with the window in which a figure was best; of equal ones, with the latest.

    Args:
        watched: The figure that has a best level.
        other: The figure that is compared at the same windows.
        best: Which level of the watched figure is best.
        window: Steps of a level.
    """

    def __init__(self, watched: str, other: str, *, best: BestLevel, window: int) -> None:
        self._names = (watched, other)
        self._sign = -1.0 if best == "lowest" else 1.0
        self._window = window
        self._seen: list[list[float]] = [[], []]
        self._best: list[float] = []

    def observe(self, metrics: Metrics) -> Drift | None:
        """Take in a step.

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
        """What to save: the steps of the window of each figure, and the best level."""
        watched, other = self._seen
        return {"watched": list(watched), "other": list(other), "best": list(self._best)}

    def restore(self, state: Mapping[str, list[float]]) -> None:
        """Go on from what `state` gave."""
        self._seen = [list(state["watched"]), list(state["other"])]
        self._best = list(state["best"])
