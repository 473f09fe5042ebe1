"""A policy that notes what it is asked for. Axes: T tokens."""

from collections.abc import Collection

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.learner.statistics import TokenStatistic
from palaestra.trainers.objectives import Metrics, PreparedStep


class Counting:
    """Says one number of every token.

    Args:
        value: Which.
    """

    def __init__(self, value: float = -1.0) -> None:
        self._value = value
        self.passes: list[object] = []
        """What each pass was asked for."""

    def step(self, prepared: PreparedStep, *, lr: float | None = None, temperature: float = 1.0) -> Metrics:
        """Note a step."""
        del prepared, lr, temperature
        self.passes.append("step")
        return {}

    def columns(
        self, batch: TokenBatch, wanted: Collection[TokenStatistic], *, temperature: float = 1.0
    ) -> dict[TokenStatistic, Tensor]:
        """The number, at every trained token."""
        del temperature
        self.passes.append(tuple(sorted(wanted)))
        return dict.fromkeys(wanted, batch.trained_T.double() * self._value)

    def gradient_norms(self, batch: TokenBatch, *, temperature: float = 1.0) -> Tensor:
        """The number, for every trajectory."""
        del temperature
        self.passes.append("norms")
        return torch.full((batch.trajectories,), self._value)
