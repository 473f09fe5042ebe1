"""Counts that add up: over variants of one task, and over tasks."""

from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A variant, or an attack, that the rubric judged wrongly."""

    task: str
    kind: str
    what: str
    points: int
    criterion: str | None = None
    """The criterion that should have rejected it, if known."""


@dataclass(slots=True, kw_only=True)
class CaseCounts:
    """The number of hits among a number of cases."""

    hits: int = 0
    of: int = 0
    points: int = 0
    """The sum of the scores."""

    def add(self, *, hit: bool, points: int) -> None:
        """Count one."""
        self.hits += hit
        self.of += 1
        self.points += points

    def __iadd__(self, other: "CaseCounts") -> Self:
        self.hits += other.hits
        self.of += other.of
        self.points += other.points
        return self

    @property
    def percent(self) -> float:
        """The share of hits, 0 to 100; 100 without cases."""
        return 100 * self.hits / self.of if self.of else 100.0

    @property
    def mean_points(self) -> float:
        """The mean score."""
        return self.points / self.of if self.of else 0.0
