"""Records of the measurements of a server, and the size of a run."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from palaestra.record import record


@record
class ServedScale:
    """The size of a run."""

    sessions: int = 1_000
    """Concurrent sessions of Palaestra's server; they are played in turn."""
    batches: tuple[int, ...] = (1, 250, 1_000)
    """Items per request."""
    workers: tuple[int, ...] = (0, 1, 2)
    """Worker processes of Palaestra's server; each number is one server, and 0 means its own thread."""
    seconds: float = 5.0
    """Wall-clock seconds of each row in a round."""
    rounds: int = 3
    echo_sessions: tuple[int, ...] = (1, 16, 64, 256)
    """Concurrent sessions of OpenEnv's server."""


@record
class ServedSample:
    """One row of the table in one round."""

    name: str
    workers: int
    """Number of processes that hold sessions; 0 where the serving process holds them."""
    sessions: int
    batch: int
    """Items per request."""
    steps: int
    wall_seconds: float
    processor_seconds: float
    """Processor seconds of the server and its processes; for steps in process, of this process."""
    session_bytes: float | None
    """Resident bytes per session during an episode; `None` where they were not measured."""
    is_peer: bool = False

    @property
    def row(self) -> tuple[str, int, int, int]:
        """The key of the row that the sample belongs to."""
        return self.name, self.workers, self.sessions, self.batch

    @property
    def clock_rate(self) -> float:
        """Steps per wall-clock second."""
        return self.steps / self.wall_seconds

    @property
    def processor_rate(self) -> float | None:
        """Steps per processor second; `None` where the system reported no time."""
        return self.steps / self.processor_seconds if self.processor_seconds else None


@record
class SampleRange:
    """The median and the range of a figure over rounds."""

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
    """Wall-clock rate of steps, divided by the rate of the fastest peer in the same round."""


@record
class ServedReport:
    """The results of a run."""

    scale: ServedScale
    rounds: Sequence[Sequence[ServedSample]]
    absent: Mapping[str, str]
    """Peers that were not run, each with the reason."""

    def rows(self) -> list[ServedRow]:
        """The rows, in the order of measurement."""
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
        """All measurements as JSON (Any: JSON)."""
        return asdict(self)


def _optional_range(values: Sequence[float | None]) -> SampleRange | None:
    known = [value for value in values if value is not None]
    return _range(known) if len(known) == len(values) else None


def _range(values: Sequence[float]) -> SampleRange:
    return SampleRange(median=statistics.median(values), low=min(values), high=max(values))
