"""The interface of trust regions. Axes: T tokens, N trained tokens."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch


@dataclass(frozen=True, slots=True, kw_only=True)
class Surrogate:
    """Trained tokens of whole trajectories, under the weights that are trained and under those they are held to."""

    logp_N: Tensor
    """Under the weights that are trained; gradients flow into it."""
    log_ratio_N: Tensor
    """The logarithm of the ratio to the anchor, of a token or of what it is part of; gradients flow into it."""
    anchor_N: Tensor
    """Log-probability of each token under the anchor; no gradient."""
    advantage_N: Tensor
    """No gradient."""
    entropy_N: Tensor
    """Of the distribution that each token was one draw from, in nats; gradients flow into it."""
    trajectory_N: Tensor
    """The trajectory of each token, as an index."""
    columns: Mapping[str, Tensor] = field(default_factory=dict[str, Tensor])
    """The columns of tokens that the objective's parts require, by name, [N] each; no gradient."""

    def at(self, chosen_N: Tensor) -> "Surrogate":
        """Some of the tokens."""
        return Surrogate(
            logp_N=self.logp_N[chosen_N],
            log_ratio_N=self.log_ratio_N[chosen_N],
            anchor_N=self.anchor_N[chosen_N],
            advantage_N=self.advantage_N[chosen_N],
            entropy_N=self.entropy_N[chosen_N],
            trajectory_N=self.trajectory_N[chosen_N],
            columns={name: column_N[chosen_N] for name, column_N in self.columns.items()},
        )


class TrustRegion(Protocol):
    """Limits how far a step goes.

    Almost every published one has the gradient `- C(ratio, advantage) * advantage * grad logp`, with C = 1 where the
    ratio is 1: there the weights are those that drew the tokens, and the step is REINFORCE's.
    """

    def __call__(self, surrogate: Surrogate, /) -> Tensor:
        """The loss of each token, [N]; its mean or sum is an aggregation's business."""
        ...


@runtime_checkable
class StepColumns(Protocol):
    """A trust region that has to look at a whole step before it sees any micro-batch of it."""

    def columns(self, batch: TokenBatch) -> Mapping[str, Tensor]:
        """Columns of tokens, whose names end in `_T`, which come back in `Surrogate.columns`.

        Args:
            batch: The whole step, with advantages and the columns that the part requires.
        """
        ...
