"""What a measurement says: timings, comparisons, memory, scaling, and the report that holds them."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from palaestra.errors import UnknownNameError
from palaestra.records import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How long one thing takes, in microseconds."""

    name: str
    mean: float
    p50: float
    p99: float
    count: int

    @classmethod
    def of(cls, name: str, nanoseconds: Iterable[int]) -> "Timing":
        """The timing that single measurements amount to. Percentiles are measured values (nearest rank).

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
    """How many times as long one thing takes as another, in the same run."""

    name: str
    of: str
    """The name of the timing above the line."""
    to: str
    """The name of the timing below it."""
    means: float
    """By their means, which rare slow calls move."""
    medians: float
    """By their medians, which they do not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingFigure:
    """What this run did not measure, and why."""

    section: str
    why: str
    """In words, with the way out: what to install."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentMemory:
    """What live environments weigh beyond what all environments share."""

    worlds: int
    """How many lived at once."""
    written_rows: float
    """How many rows each had written, on average."""
    traced_bytes: float
    """Bytes for each, as `tracemalloc` counts what Python allocated."""
    resident_bytes: float | None
    """Bytes for each, by how much the process grew; `None` where the system does not tell.

    The process grows by whole arenas and first fills the holes it has, so of few worlds this is the rougher figure.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessMemory:
    """What a world weighs that is a process of its own."""

    name: str
    resident_bytes: float
    """Bytes that such a process holds, libraries included: nothing of it is shared by the next one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """How fast a vector of environments plays the oracle's mix, resets included."""

    name: str
    """How it runs."""
    processes: int
    """How many processes step environments."""
    envs: int
    """How many environments there are in all."""
    steps_per_second: float
    """Steps of single environments, summed over all of them, in the fastest of several passes."""
    scaling: float
    """How many times as fast as the same with one process, in this run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedReport:
    """The figures of one run."""

    env_id: str
    episodes: int
    seed: int
    machine: JsonObject
    """Python, processor and system that the run was made on, and how many processes wanted to run before it began."""
    method: str
    """How it was measured, in words."""
    timings: tuple[Timing, ...]
    ratios: tuple[TimeRatio, ...]
    memory: EnvironmentMemory
    processes: tuple[ProcessMemory, ...]
    throughputs: tuple[Throughput, ...]
    unmeasured: tuple[MissingFigure, ...]

    def timing(self, name: str) -> Timing:
        """The timing of that name.

        Raises:
            UnknownNameError: there is none.
        """
        for timing in self.timings:
            if timing.name == name:
                return timing
        raise UnknownNameError.of("timing", name, [t.name for t in self.timings])

    def as_json(self) -> JsonObject:
        """The report as plain JSON."""
        return asdict(self)


def ratio(name: str, timings: Iterable[Timing], of: str, to: str) -> TimeRatio:
    """The ratio of two of `timings`."""
    named = {t.name: t for t in timings}
    above, below = named[of], named[to]
    return TimeRatio(name=name, of=of, to=to, means=above.mean / below.mean, medians=above.p50 / below.p50)
