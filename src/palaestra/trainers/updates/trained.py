"""The interface between an update and the trained model."""

from collections.abc import Collection
from typing import Protocol

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.learner.statistics import TokenStatistic
from palaestra.trainers.objectives import Metrics, PreparedStep


class TrainableHead(Protocol):
    """A learner whose model has a temperature head."""

    def step_head(self, prepared: PreparedStep, *, lr: float) -> Metrics:
        """See `Learner.step_head`."""
        ...

    def choice_logprobs(self, batch: TokenBatch) -> Tensor:
        """See `Learner.choice_logprobs`."""
        ...


class TrainableModel(Protocol):
    """A learner, or the table of a toy problem."""

    def step(self, prepared: PreparedStep, *, lr: float | None = None, temperature: float = 1.0) -> Metrics:
        """See `Learner.step`."""
        ...

    def columns(
        self, batch: TokenBatch, wanted: Collection[TokenStatistic], *, temperature: float = 1.0
    ) -> dict[TokenStatistic, Tensor]:
        """See `Learner.columns`."""
        ...

    def gradient_norms(self, batch: TokenBatch, *, temperature: float = 1.0) -> Tensor:
        """See `Learner.gradient_norms`."""
        ...
