"""Records of measurements: timings, comparisons, memory, scaling, and the report that holds them."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from palaestra.errors import UnknownNameError
from palaestra.records import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The durations of one operation, in microseconds."""

    name: str
    mean: float
    p50: float
    p99: float
    count: int

    @classmethod
    def of(cls, name: str, nanoseconds: Iterable[int]) -> "Timing":
        """Summarise single measurements. Percentiles are measured values (nearest rank).

        Raises:
            ValueError: there is no measurement.
        """
        values = sorted(nanoseconds)
        if not values:
            raise ValueError(f"{name}: nothing was measured")
        return cls(
            name=name,
            mean=sum(values) / len(values) / 1e3,
            p50=_rank(values, 50) / 1e3,
            p99=_rank(values, 99) / 1e3,
            count=len(values),
        )


def _rank(values: list[int], percent: int) -> int:
    return values[max(0, -(-percent * len(values) // 100) - 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRatio:
    """The ratio of the durations of two operations in the same run."""

    name: str
    of: str
    """The name of the timing in the numerator."""
    to: str
    """The name of the timing in the denominator."""
    means: float
    """The ratio of the means, which are sensitive to rare slow calls."""
    medians: float
    """The ratio of the medians, which are not sensitive to rare slow calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingFigure:
    """A section that this run did not measure, and the reason."""

    section: str
    why: str
    """The reason in words, with the remedy: what to install."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentMemory:
    """Memory of live environments beyond what all environments share."""

    worlds: int
    """Number of environments alive at once."""
    written_rows: float
    """Mean number of rows that an environment has written."""
    traced_bytes: float
    """Bytes per environment, by the allocations that `tracemalloc` counts."""
    resident_bytes: float | None
    """Bytes per environment, by the growth of the process; `None` where the system does not report it.

    A process grows by whole arenas and first fills its free blocks, so with few environments this figure is less exact.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessMemory:
    """Memory of a world that runs in a process of its own."""

    name: str
    resident_bytes: float
    """Resident bytes of such a process, with its libraries; processes share none of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """The speed at which a vector of environments plays the oracle's episodes, resets included."""

    name: str
    """The kind of vector."""
    processes: int
    """Number of processes that step environments."""
    envs: int
    """Total number of environments."""
    steps_per_second: float
    """Steps per second, summed over all environments, in the fastest of several passes."""
    scaling: float
    """The speed relative to the same kind of vector with one process, in this run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedReport:
    """The results of one run."""

    env_id: str
    episodes: int
    seed: int
    machine: JsonObject
    """Python, processor and system of the machine, and its load average before the run."""
    method: str
    """The method of measurement, in words."""
    timings: tuple[Timing, ...]
    ratios: tuple[TimeRatio, ...]
    memory: EnvironmentMemory
    processes: tuple[ProcessMemory, ...]
    throughputs: tuple[Throughput, ...]
    unmeasured: tuple[MissingFigure, ...]

    def timing(self, name: str) -> Timing:
        """The timing of that name.

        Raises:
            UnknownNameError: there is no such timing.
        """
        for timing in self.timings:
            if timing.name == name:
                return timing
        raise UnknownNameError.of("timing", name, [t.name for t in self.timings])

    def as_json(self) -> JsonObject:
        """The report as plain JSON."""
        return asdict(self)


def ratio(name: str, timings: Iterable[Timing], of: str, to: str) -> TimeRatio:
    """The ratio of the timing `of` to the timing `to`."""
    named = {t.name: t for t in timings}
    above, below = named[of], named[to]
    return TimeRatio(name=name, of=of, to=to, means=above.mean / below.mean, medians=above.p50 / below.p50)
