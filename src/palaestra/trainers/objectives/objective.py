"""What a learner asks of an objective. Axes: T tokens."""

from dataclasses import dataclass
from typing import Protocol, TypeAlias

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch

Metrics: TypeAlias = dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Of the whole step, over all its micro-batches and processes: what means are divided by."""

    trajectories: int
    """Those that are trained on or compared with; ones of advantage 0 may be left out of the batch, never of this."""
    tokens: int
    """Trained tokens, those of left-out trajectories included."""


class Objective(Protocol):
    """A loss, and the advantages that it weighs tokens by."""

    def advantages(self, batch: TokenBatch) -> Tensor:
        """The batch's `advantage_T`; all trajectories of a group are in the batch."""
        ...

    def loss(self, logp_T: Tensor, entropy_T: Tensor, batch: TokenBatch, totals: Totals) -> tuple[Tensor, Metrics]:
        """The share of these tokens in the step's loss, so that the shares of micro-batches add up to it.

        Args:
            logp_T: Of each trained token under the weights that are trained; 0 elsewhere. Gradients flow into it.
            entropy_T: Of the distribution that each trained token was one draw from; 0 elsewhere.
            batch: With its advantages.
            totals: What means are divided by.

        Returns:
            The loss, a scalar, and figures that add up over micro-batches, as shares of the step's means.
        """
        ...
