"""What a learner asks of an objective. Axes: T tokens."""

from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch

Metrics: TypeAlias = dict[str, float]


class Loss(Protocol):
    """A step's loss, of which each micro-batch gives its share."""

    def __call__(self, logp_T: Tensor, entropy_T: Tensor, batch: TokenBatch, /) -> tuple[Tensor, Metrics]:
        """The share of these tokens in the step's loss, so that the shares of micro-batches add up to it.

        Args:
            logp_T: Of each trained token under the weights that are trained; 0 elsewhere. Gradients flow into it.
            entropy_T: Of the distribution that each trained token was one draw from; 0 elsewhere.
            batch: Whole trajectories of the prepared batch.

        Returns:
            The loss, a scalar, and figures that add up over micro-batches, as shares of the step's means.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedStep:
    """A step of the optimiser, with everything worked out that depends on more than one micro-batch."""

    batch: TokenBatch
    """The trajectories that have a gradient, with their advantages and weights."""
    loss: Loss
    """Adds up over any division of `batch` into whole trajectories."""
    rate: float = 1.0
    """What the learning rate is multiplied with."""
    metrics: Metrics = field(default_factory=dict[str, float])
    """Of the whole step."""


class Objective(Protocol):
    """What a policy is trained towards."""

    @property
    def requires(self) -> frozenset[str]:
        """The columns of a batch that it reads; see `columns` for who fills them in."""
        ...

    @property
    def joins(self) -> bool:
        """Whether every step has to hold whole groups, because it compares their trajectories anew."""
        ...

    def advantages(self, batch: TokenBatch) -> TokenBatch:
        """The batch with its advantages; all trajectories of a group are in it."""
        ...

    def prepare(self, batch: TokenBatch) -> PreparedStep:
        """One step of the optimiser.

        Args:
            batch: All that the step trains on, with advantages; means are over it.
        """
        ...
