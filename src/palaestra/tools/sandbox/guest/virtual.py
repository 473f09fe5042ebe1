"""Replacements for the machine's time and randomness: the episode's clock, and numbers from a seed.

`time` returns the episode's time, also through `datetime`, whose Python version is loaded for that. `time.sleep`
returns at once: only tools advance time. `os.urandom`, `random`, `secrets` and `uuid` draw from the seed.

Not covered: time and randomness that native code asks the system for, such as `_random.Random()` or a call through
`ctypes`; the order of sets of objects without their own hash, which depends on their addresses.
"""

import os
import sys
import time
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing them takes longer than running most programs
    from collections.abc import Callable
    from typing import Any

NANO = 1_000_000_000
MASK = 2**64 - 1


class ProgramClock:
    """The time that all clocks of the program show."""

    def __init__(self, now: float) -> None:
        self._start = now
        self._now = now

    def set(self, now: float) -> None:
        """Set the time."""
        self._now = now

    def now(self) -> float:
        """Seconds since 1970."""
        return self._now

    def elapsed_seconds(self) -> float:
        """Seconds since the program began."""
        return self._now - self._start

    def install(self) -> None:
        """Make the functions of `time` use this clock."""
        module = time.__dict__
        since_start = ("monotonic", "perf_counter", "process_time", "thread_time")
        for name, clock in (("time", self.now), *((name, self.elapsed_seconds) for name in since_start)):
            module[name] = clock
            module[f"{name}_ns"] = _in_nanoseconds(clock)
        module["clock_gettime"] = self._get_time
        module["clock_gettime_ns"] = lambda kind: int(self._get_time(kind) * NANO)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
        module["sleep"] = _sleep
        for name in ("localtime", "gmtime", "ctime"):
            module[name] = self._at_now(module[name])
        for name, position in (("asctime", 0), ("strftime", 1)):
            module[name] = _with_moment(module[name], position)
        # The native module reads the system's clock directly; without it, `datetime` uses `time`.
        sys.modules["_datetime"] = None  # type: ignore[assignment]  # pyright: ignore[reportArgumentType]

    def _get_time(self, kind: int) -> float:
        return self.now() if kind == time.CLOCK_REALTIME else self.elapsed_seconds()

    def _at_now(self, function: "Callable[[Any], Any]") -> "Callable[..., Any]":
        def at(seconds: float | None = None) -> object:
            return function(self.now() if seconds is None else seconds)

        return at


def _in_nanoseconds(clock: "Callable[[], float]") -> "Callable[[], int]":
    return lambda: int(clock() * NANO)


def _sleep(seconds: float) -> None:
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")


def _with_moment(function: "Callable[..., Any]", position: int) -> "Callable[..., Any]":
    """A function with the clock's time as default instead of the system's."""

    def at(*given: object) -> object:
        return function(*given, *(() if len(given) > position else (time.localtime(),)))

    return at


class SeededBytes:
    """Bytes derived from a seed, instead of the system's."""

    def __init__(self, seed: int) -> None:
        self._state = seed & MASK

    def draw(self, count: int, _: int = 0) -> bytes:
        """The next bytes (splitmix64; they are not secret)."""
        data = bytearray()
        while len(data) < count:
            self._state = (self._state + 0x9E3779B97F4A7C15) & MASK
            mixed = self._state
            mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & MASK
            mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & MASK
            data += (mixed ^ (mixed >> 31)).to_bytes(8, "little")
        return bytes(data[:count])

    def install(self) -> None:
        """Make the program's random numbers depend on the seed."""
        os.__dict__["urandom"] = os.__dict__["getrandom"] = self.draw
        finder: Any = _RandomFinder(self)
        sys.meta_path.insert(0, finder)


class _RandomFinder:
    """Loads `random` unchanged, but generators without a seed draw it from here."""

    def __init__(self, seeds: SeededBytes) -> None:
        self._seeds = seeds

    def find_spec(self, name: str, path: "Any", target: ModuleType | None = None) -> object:
        """The finder for `import` of this module; `None` for every other."""
        if name != "random":
            return None
        spec: Any = sys.meta_path[-1].find_spec(name, path, target)
        spec.loader.exec_module = self._seed(spec.loader.exec_module)
        return spec

    def _seed(self, load: "Callable[[ModuleType], None]") -> "Callable[[ModuleType], None]":
        """Load the module and replace the seed that it would take from the system."""

        def load_seeded(module: ModuleType) -> None:
            load(module)
            names = module.__dict__
            seed = names["Random"].seed

            def seed_from_here(self: object, a: object = None, version: int = 2) -> None:
                seed(self, int.from_bytes(seeds.draw(32), "big") if a is None else a, version)

            names["Random"].seed = seed_from_here
            names["seed"] = names["_inst"].seed
            names["seed"]()

        seeds = self._seeds
        return load_seeded
