"""The interface between a learner and an objective. Axes: T tokens."""

from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch

Metrics: TypeAlias = dict[str, float]


class Loss(Protocol):
    """A step's loss, computed in shares of micro-batches."""

    def __call__(self, logp_T: Tensor, entropy_T: Tensor, batch: TokenBatch, /) -> tuple[Tensor, Metrics]:
        """The share of these tokens in the step's loss, so that the shares of micro-batches add up to it.

        Args:
            logp_T: Log-probability of each trained token under the trained weights; 0 elsewhere. Gradients flow into
                it.
            entropy_T: Entropy of the distribution of each trained token; 0 elsewhere.
            batch: Whole trajectories of the prepared batch.

        Returns:
            The loss, a scalar, and figures that add up over micro-batches, as shares of the step's means.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedStep:
    """A step of the optimiser, with everything computed that depends on more than one micro-batch."""

    batch: TokenBatch
    """The trajectories with a gradient, with their advantages and weights."""
    loss: Loss
    """The loss, additive over any division of `batch` into whole trajectories."""
    rate: float = 1.0
    """The factor of the learning rate."""
    metrics: Metrics = field(default_factory=dict[str, float])
    """The figures of the whole step."""


class Objective(Protocol):
    """The objective of training."""

    @property
    def requires(self) -> frozenset[str]:
        """The columns of a batch that it reads; see `columns` for their sources."""
        ...

    @property
    def joins(self) -> bool:
        """Whether every step must have whole groups, because it compares their trajectories again."""
        ...

    def advantages(self, batch: TokenBatch) -> TokenBatch:
        """The batch with advantages; it must have all trajectories of each group."""
        ...

    def prepare(self, batch: TokenBatch) -> PreparedStep:
        """Prepare one step of the optimiser.

        Args:
            batch: The whole batch of the step, with advantages; means are over it.
        """
        ...
