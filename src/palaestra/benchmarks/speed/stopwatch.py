"""Measures single calls in nanoseconds, collected by name, and keeps the fastest of several runs."""

import gc
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any, TypeVar

from palaestra.benchmarks.speed.figures import Timing

T = TypeVar("T")

METHOD = (
    "time.perf_counter_ns around each single call; the clock's own reading is in the figures. Each section does the "
    "same work several times, and its figures are those of the run that took least in all, so that what else the "
    "machine did in the meantime counts least. Python's garbage collector stays on, as in a user's loop, so calls pay "
    "for the collections that they cause; a full collection precedes each run."
)


class Stopwatch:
    """Measurements by name, in the order of the first measurement of each name."""

    def __init__(self) -> None:
        self._taken: dict[str, list[int]] = {}

    def time(self, name: str, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Call `function`, record its duration under `name`, and return its result."""
        start = perf_counter_ns()
        result = function(*args, **kwargs)
        self.add(name, perf_counter_ns() - start)
        return result

    def add(self, name: str, nanoseconds: int) -> None:
        """Record a measurement that was taken elsewhere."""
        self._taken.setdefault(name, []).append(nanoseconds)

    def time_empty(self, name: str, count: int) -> None:
        """Measure the overhead of a measurement."""
        for _ in range(count):
            self.time(name, _nothing)

    def quietest(self, measure: "Callable[[Stopwatch], None]", runs: int) -> None:
        """Repeat the same work `runs` times, and keep the measurements of the run with the least total time.

        One run is kept as a whole, so that the durations of its parts add up to its total.
        """
        watches = [_run(measure) for _ in range(runs)]
        for name, taken in min(watches, key=Stopwatch.total)._taken.items():
            self._taken.setdefault(name, []).extend(taken)

    def total(self) -> int:
        """Total nanoseconds of all measurements."""
        return sum(map(sum, self._taken.values()))

    def timings(self) -> tuple[Timing, ...]:
        """The timings of all measurements so far."""
        return tuple(Timing.of(name, taken) for name, taken in self._taken.items())


def _run(measure: Callable[[Stopwatch], None]) -> Stopwatch:
    gc.collect()
    watch = Stopwatch()
    measure(watch)
    return watch


def _nothing() -> None:
    return
