"""How much of an accelerator's memory a contestant takes, itself and at its work."""

from collections.abc import Callable, Mapping
from typing import Any, Generic, ParamSpec, TypeVar

import torch

from palaestra.benchmarks.speed.training.contest import Contestant
from palaestra.benchmarks.speed.training.figures import SpeedComparison

P = ParamSpec("P")
C = TypeVar("C", bound=Contestant)


class WeighedContestant(Generic[C]):
    """A contestant whose memory is watched.

    Args:
        device: Where it works; a processor's memory is not told apart and counts nothing.
        make: Makes the contestant.
        args: What `make` takes.
        kwargs: And by name.
    """

    def __init__(self, device: torch.device, make: Callable[P, C], /, *args: P.args, **kwargs: P.kwargs) -> None:
        self._device = device
        before = self._measure_allocated()
        self.contestant = make(*args, **kwargs)
        self._own = self._measure_allocated() - before
        self.peak = 0
        """Bytes: its weights and caches, and what its work took beside them at most."""

    async def __call__(self, round_: int) -> float:
        """What the contestant says."""
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
    """What each took, where it was seen."""
    return [
        SpeedComparison(name=f"memory of {name}", value=one.peak / 2**30, unit="GiB")
        for name, one in weighed.items()
        if one.peak
    ]
