"""Smaller steps on data with a small effective sample size. Axes: R trajectories."""

import math
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.segments import count_over, sum_over

_MOST = 1e6
"""The maximum of a log-weight: with an infinite one, weights could not be compared."""


@part(
    "rate",
    "ess",
    formula="min(1, rho / base)^(1/2), rho = (sum w)^2 / (B sum w^2), w = exp(sum(now - logprob))",
    sources=("arXiv:2602.17616", "github.com/mit-han-lab/vcpo"),
    confidence="code",
    requires=("now_T",),
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Ess:
    """VCPO's learning rate (arXiv:2602.17616): the smaller the effective number of trajectories, the smaller the step.

    rho is the effective share of the step's trajectories (Kish) under their whole importance weights, from the policy
    that drew them to the trained one. The trained policy is that at the present step, not at the batch's first step:
    with several steps on a batch, the weights spread from step to step, and each step uses its own. On the first step
    both are the same, which is the case in the authors' code. If all weights are equal the factor is 1; if nothing is
    trained it is 0.
    """

    base: float = 1.0
    """The share from which steps have full size."""
    rule: Literal["sqrt", "linear"] = "sqrt"
    """`sqrt` for optimisers of Adam's kind, `linear` for plain gradient descent."""
    most: float = math.inf
    """The maximum weight; none by default, as in the paper. A maximum hides differences, since weights beyond it are
    equal."""

    def __post_init__(self) -> None:
        if not 0 < self.base <= 1 or self.most <= 0:
            raise ValueError(f"base={self.base}, most={self.most}: base must be a share in (0, 1], and weights above 0")

    def __call__(self, batch: TokenBatch, /) -> float:
        """See `LearningRate`."""
        own_T = batch.trained_T
        owner_N = batch.trajectory_T[own_T]
        log_R = sum_over((batch.column("now_T") - batch.logprob_T)[own_T], owner_N, batch.trajectories)
        acted_R = count_over(own_T, batch.trajectory_T, batch.trajectories) > 0
        share = effective_share(log_R[acted_R].clamp_max(math.log(self.most)))
        factor = min(1.0, share / self.base)
        return math.sqrt(factor) if self.rule == "sqrt" else factor


def effective_share(log_weight_R: Tensor) -> float:
    """(sum w)^2 / (n sum w^2) of weights w = exp(log weight): 1 if all are equal, 1 / n if only one is not 0.

    A common factor has no effect, so no weight can be too large.

    Args:
        log_weight_R: The logarithm of each trajectory's weight; -inf for a weight of 0.

    Returns:
        0 without weights, or if all are 0.
    """
    if not len(log_weight_R) or float(log_weight_R.max()) == -math.inf:
        return 0.0
    log_R = log_weight_R.double().clamp_max(_MOST)
    weight_R = (log_R - log_R.max()).exp()
    return min(1.0, float(weight_R.sum() ** 2 / (len(weight_R) * weight_R.square().sum())))
