"""What a trust region is given, and what it gives back. Axes: N trained tokens."""

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Surrogate:
    """The trained tokens of a batch, under the weights that are trained and under those that they are held to."""

    logp_N: Tensor
    """Under the weights that are trained; gradients flow into it."""
    log_ratio_N: Tensor
    """The logarithm of the ratio to the anchor, of a token or of what it is part of; gradients flow into it."""
    anchor_N: Tensor
    """Log-probability of each token under the anchor; no gradient."""
    advantage_N: Tensor
    """No gradient."""


class TrustRegion(Protocol):
    """How far a step may go on what a batch says.

    Almost every published one has the gradient `- C(ratio, advantage) * advantage * grad logp`, with C = 1 where the
    ratio is 1: there the weights are those that drew the tokens, and the step is REINFORCE's.
    """

    def __call__(self, surrogate: Surrogate, /) -> Tensor:
        """The loss of each token, [N]; its mean or sum is an aggregation's business."""
        ...
