"""Taking the time: nanoseconds of single calls, collected by name, of the quietest of several runs."""

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
    """Measurements by name, in the order in which names first came up."""

    def __init__(self) -> None:
        self._taken: dict[str, list[int]] = {}

    def time(self, name: str, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Call `function`, note under `name` how long it took, and return what it returned."""
        start = perf_counter_ns()
        result = function(*args, **kwargs)
        self.add(name, perf_counter_ns() - start)
        return result

    def add(self, name: str, nanoseconds: int) -> None:
        """Note a measurement that was taken elsewhere."""
        self._taken.setdefault(name, []).append(nanoseconds)

    def time_empty(self, name: str, count: int) -> None:
        """Measure what measuring itself costs."""
        for _ in range(count):
            self.time(name, _nothing)

    def quietest(self, measure: "Callable[[Stopwatch], None]", runs: int) -> None:
        """Do the same work `runs` times, and keep what was measured in the run that took least in all.

        One run is kept whole, so that the parts of a thing still add up to it.
        """
        watches = [_run(measure) for _ in range(runs)]
        for name, taken in min(watches, key=Stopwatch.total)._taken.items():
            self._taken.setdefault(name, []).extend(taken)

    def total(self) -> int:
        """Nanoseconds of all measurements together."""
        return sum(map(sum, self._taken.values()))

    def timings(self) -> tuple[Timing, ...]:
        """All measurements so far."""
        return tuple(Timing.of(name, taken) for name, taken in self._taken.items())


def _run(measure: Callable[[Stopwatch], None]) -> Stopwatch:
    gc.collect()
    watch = Stopwatch()
    measure(watch)
    return watch


def _nothing() -> None:
    return
