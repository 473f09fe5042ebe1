"""The change of a figure from the first third of a stage to the last, and whether it exceeds its noise."""

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, variance

from palaestra.benchmarks.diagnosis.episodes import DiagnosedEpisode, DiagnosedGroup
from palaestra.benchmarks.diagnosis.thirds import Thirds
from palaestra.record import record

FIGURES: Mapping[str, Callable[[DiagnosedEpisode], float]] = {
    "solved": lambda one: float(one.solved),
    "unfinished": lambda one: float(one.is_unfinished),
    "harm": lambda one: float(one.harmed),
    "points": lambda one: one.returned,
}
"""The compared figures, by name: shares from 0 to 1, and points."""


@record
class FigureChange:
    """The change of a figure."""

    first: float
    """The mean over the groups of the first third."""
    last: float
    error: float | None
    """The standard error of the difference, with groups as units; `None` where a third has only one group."""

    @property
    def difference(self) -> float:
        """Last minus first: above 0 where the figure rose."""
        return self.last - self.first

    @property
    def is_certain(self) -> bool:
        """Whether the absolute difference is more than two standard errors."""
        return self.error is not None and abs(self.difference) > 2 * self.error


def figure_changes(groups: Sequence[DiagnosedGroup], thirds: Thirds) -> dict[str, FigureChange]:
    """The change of each figure; empty where a third has no group."""
    found: dict[str, FigureChange] = {}
    for name, read in FIGURES.items():
        first, last = (
            [fmean(map(read, group.episodes)) for group in groups if group.episodes and group.step in steps]
            for steps in (thirds.first, thirds.last)
        )
        if first and last:
            found[name] = FigureChange(first=fmean(first), last=fmean(last), error=_error(first, last))
    return found


def _error(first: Sequence[float], last: Sequence[float]) -> float | None:
    if min(len(first), len(last)) < 2:
        return None
    return math.sqrt(variance(first) / len(first) + variance(last) / len(last))
