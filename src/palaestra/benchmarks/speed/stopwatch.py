"""Taking the time: nanoseconds of single calls, collected by name."""

import gc
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any, TypeVar

from palaestra.benchmarks.speed.figures import Timing

T = TypeVar("T")

METHOD = (
    "One process, one core, time.perf_counter_ns around each single call; the clock's own reading is in the figures. "
    "Python's garbage collector stays on, as in a user's loop, so calls pay for the collections that they cause; "
    "a full collection precedes each section."
)


class Stopwatch:
    """Measurements by name, in the order in which names first came up."""

    def __init__(self) -> None:
        self._taken: dict[str, list[int]] = {}

    def section(self) -> None:
        """Begin a section: collect what earlier ones left behind, so that nobody else pays for it."""
        gc.collect()

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

    def timings(self) -> tuple[Timing, ...]:
        """All measurements so far."""
        return tuple(Timing.of(name, taken) for name, taken in self._taken.items())


def _nothing() -> None:
    return
