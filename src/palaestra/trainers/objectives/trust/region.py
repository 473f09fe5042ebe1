"""The interface of trust regions. Axes: T tokens, N trained tokens."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch


@dataclass(frozen=True, slots=True, kw_only=True)
class Surrogate:
    """Trained tokens of whole trajectories, under the trained weights and under the anchor."""

    logp_N: Tensor
    """Log-probability under the trained weights; gradients flow into it."""
    log_ratio_N: Tensor
    """The logarithm of the ratio to the anchor, of a token or of its turn or trajectory; gradients flow into it."""
    anchor_N: Tensor
    """Log-probability of each token under the anchor; no gradient."""
    advantage_N: Tensor
    """The advantage of each token; no gradient."""
    entropy_N: Tensor
    """Entropy of the distribution at each token, in nats; gradients flow into it."""
    trajectory_N: Tensor
    """The trajectory of each token, as an index."""
    columns: Mapping[str, Tensor] = field(default_factory=dict[str, Tensor])
    """The columns of tokens that the objective's parts require, by name, [N] each; no gradient."""

    def at(self, chosen_N: Tensor) -> "Surrogate":
        """The surrogate of the chosen tokens."""
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
    """Limits the size of a step.

    Almost every published trust region has the gradient `- C(ratio, advantage) * advantage * grad logp`, with C = 1 at
    ratio 1: there, the trained weights are those that sampled the tokens, and the step is that of REINFORCE.
    """

    def __call__(self, surrogate: Surrogate, /) -> Tensor:
        """The loss of each token, [N]; the aggregation takes its mean or sum."""
        ...


@runtime_checkable
class StepColumns(Protocol):
    """A trust region that reads a whole step before its micro-batches."""

    def columns(self, batch: TokenBatch) -> Mapping[str, Tensor]:
        """Columns of tokens, with names that end in `_T`; they are passed back in `Surrogate.columns`.

        Args:
            batch: The whole step, with advantages and the columns that the part requires.
        """
        ...
