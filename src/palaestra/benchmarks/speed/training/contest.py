"""Contests: several contestants do the same work in turn, round after round, so that other load affects all alike."""

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from palaestra.benchmarks.speed.figures import MissingFigure
from palaestra.errors import EngineError

METHOD = (
    "Every system does a round before any does the next one, in an order that rotates. The first round warms up and "
    "does not count. Figures are medians over rounds. No system gets the same prompts twice."
)


class Contestant(Protocol):
    """A callable that does a round of work and returns its rate per second."""

    async def __call__(self, round_: int) -> float:
        """Do round number `round_`; equal numbers mean equal work."""
        ...


class TimedContestant:
    """A contestant whose processor time is measured.

    Args:
        contestant: The contestant.
        elsewhere: Returns the processor seconds that its other processes have spent so far.
    """

    def __init__(self, contestant: Contestant, *, elsewhere: Callable[[], float] = lambda: 0.0) -> None:
        self._contestant = contestant
        self._elsewhere = elsewhere
        self.per_processor_second: list[float] = []
        """Its rate per processor second in each round that counts, over all its processes."""

    async def __call__(self, round_: int) -> float:
        """Let the contestant do a round; return its rate."""
        start, spent = time.perf_counter(), self._processor_seconds()
        rate = await self._contestant(round_)
        seconds = time.perf_counter() - start
        if round_:
            self.per_processor_second.append(rate * seconds / (self._processor_seconds() - spent))
        return rate

    def _processor_seconds(self) -> float:
        return time.process_time() + self._elsewhere()


@dataclass(frozen=True, slots=True, kw_only=True)
class ContestResult:
    """The result of a contest."""

    rounds: Mapping[str, list[float]]
    """The rate of each contestant in each round that counts, by name."""
    failed: tuple[MissingFigure, ...]
    """Contestants whose engine failed, with the error; they took no further part."""


async def compete(
    contestants: Mapping[str, Contestant], rounds: int, *, progress: Callable[[str], None] = lambda _: None
) -> ContestResult:
    """Let all contestants do the same work, round after round.

    Args:
        contestants: The contestants, by name.
        rounds: Number of rounds that count; one warm-up round precedes them.
        progress: Receives the name of each contestant that finished a round.
    """
    found: dict[str, list[float]] = {name: [] for name in contestants}
    failed: list[MissingFigure] = []
    for round_ in range(rounds + 1):
        gc.collect()
        for name in _rotate(list(found), round_):
            try:
                rate = await contestants[name](round_)
            except EngineError as error:
                failed.append(MissingFigure(section=name, why=f"not measured: {error}"))
                del found[name]
                continue
            if round_:
                found[name].append(rate)
            if round_ == rounds:
                progress(name)
    return ContestResult(rounds=found, failed=tuple(failed))


def _rotate(names: Sequence[str], by: int) -> list[str]:
    by %= max(1, len(names))
    return [*names[by:], *names[:by]]
