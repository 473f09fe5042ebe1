"""Measures the accelerator memory of a contestant: its own, and the peak during its work."""

from collections.abc import Callable, Mapping
from typing import Any, Generic, ParamSpec, TypeVar

import torch

from palaestra.benchmarks.speed.training.contest import Contestant
from palaestra.benchmarks.speed.training.figures import SpeedComparison

P = ParamSpec("P")
C = TypeVar("C", bound=Contestant)


class WeighedContestant(Generic[C]):
    """A contestant whose memory is measured.

    Args:
        device: The device of the contestant; on a processor, memory is not attributed and the figure is 0.
        make: Makes the contestant.
        args: Positional arguments of `make`.
        kwargs: Keyword arguments of `make`.
    """

    def __init__(self, device: torch.device, make: Callable[P, C], /, *args: P.args, **kwargs: P.kwargs) -> None:
        self._device = device
        before = self._measure_allocated()
        self.contestant = make(*args, **kwargs)
        self._own = self._measure_allocated() - before
        self.peak = 0
        """Bytes of its weights and caches, plus the peak of additional bytes during its work."""

    async def __call__(self, round_: int) -> float:
        """Let the contestant do a round; return its rate."""
        before = self._measure_allocated()
        if self._device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self._device)
        rate = await self.contestant(round_)
        if self._device.type == "cuda":
            most = torch.cuda.max_memory_allocated(self._device)
            self.peak = max(self.peak, self._own + most - before)
        return rate

    def _measure_allocated(self) -> int:
        return torch.cuda.memory_allocated(self._device) if self._device.type == "cuda" else 0


def memory_comparisons(weighed: Mapping[str, WeighedContestant[Any]]) -> list[SpeedComparison]:
    """The memory of each contestant, where it was measured."""
    return [
        SpeedComparison(name=f"memory of {name}", value=one.peak / 2**30, unit="GiB")
        for name, one in weighed.items()
        if one.peak
    ]
