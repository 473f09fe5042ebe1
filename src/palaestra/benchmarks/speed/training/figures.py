"""Records of measurements of sampling and training: rates, comparisons, and the report that holds them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median

from palaestra.benchmarks.speed.figures import MissingFigure
from palaestra.records import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkRate:
    """The rate at which one contestant did a piece of work."""

    name: str
    """The name of the contestant."""
    per_second: float
    """Median over rounds."""
    rounds: tuple[float, ...]
    """The rate of each round that counts."""
    limit: float | None = None
    """The rate that the matrix products of the work alone would allow, in the same unit, measured in the same run."""
    per_processor_second: float | None = None
    """The rate per second of processor time, over all threads and processes; median over rounds."""

    @classmethod
    def of(
        cls, name: str, rounds: list[float], *, limit: float | None = None, per_processor_second: Sequence[float] = ()
    ) -> "WorkRate":
        """The rate over rounds.

        Args:
            name: The name of the contestant.
            rounds: The rate of each round that counts.
            limit: See `WorkRate.limit`.
            per_processor_second: The rate per processor second of each of these rounds, where it was measured.

        Raises:
            ValueError: there is no round.
        """
        if not rounds:
            raise ValueError(f"{name}: nothing was measured")
        spent = median(per_processor_second) if per_processor_second else None
        return cls(name=name, per_second=median(rounds), rounds=tuple(rounds), limit=limit, per_processor_second=spent)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedComparison:
    """A comparison of two figures of the same run, with its target."""

    name: str
    value: float
    unit: str = "times"
    """The unit of `value`: "times", "%", or another unit."""
    at_least: float | None = None
    """The target, a minimum."""

    @property
    def met(self) -> bool | None:
        """Whether the target was met; `None` without a target."""
        return None if self.at_least is None else self.value >= self.at_least


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedSection:
    """One piece of work, done by several contestants."""

    title: str
    unit: str
    """The unit of the rates, per second."""
    rates: tuple[WorkRate, ...]
    comparisons: tuple[SpeedComparison, ...] = ()
    unmeasured: tuple[MissingFigure, ...] = ()
    note: str = ""
    """The work, and the method of timing."""

    def rate(self, name: str) -> float | None:
        """The rate of `name`; `None` where it was not measured."""
        return next((rate.per_second for rate in self.rates if rate.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingReport:
    """The results of one run."""

    command: str
    """The command that made the report."""
    machine: JsonObject
    """Hardware, versions and commit of the run."""
    setting: JsonObject
    """The size of the run."""
    sections: tuple[SpeedSection, ...]

    def as_json(self) -> JsonObject:
        """The report as plain JSON."""
        return asdict(self)
