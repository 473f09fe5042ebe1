"""What is measured of a server, and how much."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from palaestra.record import record


@record
class ServedScale:
    """How much is measured."""

    sessions: int = 1_000
    """Sessions of our servers that exist at once; they are played in turn."""
    batches: tuple[int, ...] = (1, 250, 1_000)
    """Items of a request."""
    workers: tuple[int, ...] = (0, 1, 2)
    """Worker processes of our server, one server each; 0 for its own thread."""
    seconds: float = 5.0
    """Of the clock, for each row in a round."""
    rounds: int = 3
    echo_sessions: tuple[int, ...] = (1, 16, 64, 256)
    """Sessions of OpenEnv's server that are played at once."""


@record
class ServedSample:
    """One row of the table in one round."""

    name: str
    workers: int
    """Processes that hold sessions; 0 where the process that serves holds them."""
    sessions: int
    batch: int
    """Items of a request."""
    steps: int
    wall_seconds: float
    processor_seconds: float
    """Spent by the server and its processes; in process, by this one."""
    session_bytes: float | None
    """Resident memory for each session in an episode; `None` where it was not measured."""
    is_peer: bool = False

    @property
    def row(self) -> tuple[str, int, int, int]:
        """The row that it belongs to."""
        return self.name, self.workers, self.sessions, self.batch

    @property
    def clock_rate(self) -> float:
        """Steps a second by the clock."""
        return self.steps / self.wall_seconds

    @property
    def processor_rate(self) -> float | None:
        """Steps a second of the processor; `None` where the system counted no time."""
        return self.steps / self.processor_seconds if self.processor_seconds else None


@record
class SampleRange:
    """A figure over rounds."""

    median: float
    low: float
    high: float


@record
class ServedRow:
    """A row over all rounds."""

    name: str
    workers: int
    sessions: int
    batch: int
    clock_rate: SampleRange
    processor_rate: SampleRange | None
    session_bytes: SampleRange | None
    peer_ratio: SampleRange | None
    """Steps by the clock, over those of the fastest peer in the same round."""


@record
class ServedReport:
    """A run."""

    scale: ServedScale
    rounds: Sequence[Sequence[ServedSample]]
    absent: Mapping[str, str]
    """Peers that were not run, and why."""

    def rows(self) -> list[ServedRow]:
        """The rows, in the order in which they were measured."""
        samples: dict[tuple[str, int, int, int], list[ServedSample]] = {}
        ratios: dict[tuple[str, int, int, int], list[float | None]] = {}
        for one in self.rounds:
            fastest = max((sample.clock_rate for sample in one if sample.is_peer), default=None)
            for sample in one:
                samples.setdefault(sample.row, []).append(sample)
                ratios.setdefault(sample.row, []).append(None if fastest is None else sample.clock_rate / fastest)
        return [
            ServedRow(
                name=found[0].name,
                workers=found[0].workers,
                sessions=found[0].sessions,
                batch=found[0].batch,
                clock_rate=_range([sample.clock_rate for sample in found]),
                processor_rate=_optional_range([sample.processor_rate for sample in found]),
                session_bytes=_optional_range([sample.session_bytes for sample in found]),
                peer_ratio=_optional_range(ratios[row]),
            )
            for row, found in samples.items()
        ]

    def as_json(self) -> dict[str, Any]:
        """Everything that was measured. Any: JSON."""
        return asdict(self)


def _optional_range(values: Sequence[float | None]) -> SampleRange | None:
    known = [value for value in values if value is not None]
    return _range(known) if len(known) == len(values) else None


def _range(values: Sequence[float]) -> SampleRange:
    return SampleRange(median=statistics.median(values), low=min(values), high=max(values))
