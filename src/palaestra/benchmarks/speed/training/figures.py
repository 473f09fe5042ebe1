"""What a measurement of drawing or training says: rates, how they compare, and the report that holds them."""

from dataclasses import asdict, dataclass
from statistics import median

from palaestra.benchmarks.speed.figures import MissingFigure
from palaestra.records import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkRate:
    """How fast somebody did a piece of work."""

    name: str
    """Who."""
    per_second: float
    """The median over rounds."""
    rounds: tuple[float, ...]
    """Of each round that counts."""
    limit: float | None = None
    """What the bare matrix products of the work would allow, in the same unit, measured in the same run."""

    @classmethod
    def of(cls, name: str, rounds: list[float], *, limit: float | None = None) -> "WorkRate":
        """The rate that rounds amount to.

        Raises:
            ValueError: there is no round.
        """
        if not rounds:
            raise ValueError(f"{name}: nothing was measured")
        return cls(name=name, per_second=median(rounds), rounds=tuple(rounds), limit=limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedComparison:
    """How one figure compares with another of the same run, or with what is aimed at."""

    name: str
    value: float
    unit: str = "times"
    """What `value` counts: "times", "%", or a unit."""
    at_least: float | None = None
    """What is aimed at."""

    @property
    def met(self) -> bool | None:
        """Whether the aim was met, where there is one."""
        return None if self.at_least is None else self.value >= self.at_least


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedSection:
    """One piece of work, done by several."""

    title: str
    unit: str
    """What rates count a second."""
    rates: tuple[WorkRate, ...]
    comparisons: tuple[SpeedComparison, ...] = ()
    unmeasured: tuple[MissingFigure, ...] = ()
    note: str = ""
    """What was done, and how it was timed."""

    def rate(self, name: str) -> float | None:
        """How fast `name` was, where it was measured."""
        return next((rate.per_second for rate in self.rates if rate.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingReport:
    """The figures of one run."""

    command: str
    """That made it."""
    machine: JsonObject
    """Hardware, versions and commit that the run was made with."""
    setting: JsonObject
    """How much of what was done."""
    sections: tuple[SpeedSection, ...]

    def as_json(self) -> JsonObject:
        """The report as plain JSON."""
        return asdict(self)
