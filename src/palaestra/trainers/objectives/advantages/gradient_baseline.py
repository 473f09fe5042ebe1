"""OPOB, the baseline with the least variance of an off-policy gradient. Axes: T tokens, R trajectories, O owners."""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages.token_baseline import squared_logit_gradient
from palaestra.trainers.objectives.advantages.weighted import off_weighted_mean
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.segments import greatest_over, number_keys, sum_over, variance_over

_MOST = 20.0
Mode: TypeAlias = Literal["mean", "median", "winsorised"]
"""The weighted mean; the weighted median; or the weighted mean of returns clipped to the 5th and the 95th percentile of
their owner's (each counted once: the paper does not say)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opob:
    """The common settings of both."""

    mode: Mode = "mean"
    """How returns become a baseline."""
    scope: Literal["group", "batch"] = "group"
    """The set of returns that share a baseline."""
    most: float = math.inf
    """The maximum importance weight; the authors' script truncates at 8."""
    double_weight: bool = False
    """Whether importance weights enter in the fourth power, as in the authors' code, whose gradient norms already
    include them; the paper's formula has the second power."""
    scale: Literal["none", "owner"] = "none"
    """The divisor of advantages: 1, or the population's standard deviation of the returns of their group or the
    batch."""
    epsilon: float = 1e-8
    """Keeps nearly equal returns finite."""

    def __post_init__(self) -> None:
        if self.most <= 0:
            raise ValueError(f"most={self.most}: no trajectory would count in a baseline; give a number above 0")

    def _advantages(self, batch: TokenBatch, norm_R: Tensor) -> Tensor:
        key_R = batch.group_R if self.scope == "group" else torch.zeros_like(batch.group_R)
        owner_R, owners = number_keys(key_R)
        log_R = importance(batch).clamp_max(math.log(self.most))
        # Only relative weights matter; with a maximum of 1, none can overflow.
        log_R = log_R - greatest_over(log_R, owner_R, owners)[owner_R]
        weight_R = ((4 if self.double_weight else 2) * log_R).exp() * norm_R
        return_R = batch.return_R.to(weight_R.dtype)
        advantage_R = off_optimal_baseline(return_R, weight_R, owner_R, owners, mode=self.mode)
        if self.scale == "owner":
            advantage_R = (
                advantage_R / (variance_over(return_R, owner_R, owners, ddof=0).sqrt() + self.epsilon)[owner_R]
            )
        return advantage_R[batch.trajectory_T]


@part(
    "advantage",
    "opob",
    formula="A = R - sum_g w^2 |grad log p|^2 R / sum_g w^2 |grad log p|^2",
    sources=("arXiv:2602.17616", "github.com/mit-han-lab/vcpo"),
    confidence="code",
    requires=("old_T", "norm_R"),
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Opob(_Opob):
    """Returns minus the optimal off-policy baseline (VCPO).

    The baseline minimises the variance of sum w (R - b) grad log p. Use it with importance weights of whole
    trajectories. With equal weights and norms the baseline is the group's mean; if all weights are 0 it is 0.
    """

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Advantage`."""
        return self._advantages(batch, batch.column("norm_R"))


@part(
    "advantage",
    "opob-proxy",
    formula="opob with |grad log p|^2 = sum_t (1 - 2 p + sum_v p_v^2)",
    sources=("arXiv:2602.17616", "arXiv:2602.07078"),
    confidence="derived",
    requires=("old_T", "square_T"),
)
@dataclass(frozen=True, slots=True, kw_only=True)
class OpobProxy(_Opob):
    """OPOB without backward passes. Experimental: that OTB's forward statistic stands in for gradient norms is ours."""

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Advantage`."""
        own_T = batch.trained_T
        norm_R = sum_over(squared_logit_gradient(batch)[own_T], batch.trajectory_T[own_T], batch.trajectories)
        return self._advantages(batch, norm_R)


def importance(batch: TokenBatch) -> Tensor:
    """The logarithm of each trajectory's ratio to the weights that drew it, within +-20, [R]."""
    own_T = batch.trained_T
    off_N = (batch.column("old_T") - batch.logprob_T)[own_T].clamp(-_MOST, _MOST)
    return sum_over(off_N, batch.trajectory_T[own_T], batch.trajectories).clamp(-_MOST, _MOST)


def off_optimal_baseline(
    return_R: Tensor, weight_R: Tensor, owner_R: Tensor, owners: int, *, mode: Mode = "mean"
) -> Tensor:
    """Each return minus its owner's baseline, [R]; an owner whose weights are all 0 has baseline 0.

    Args:
        return_R: The return of each trajectory.
        weight_R: The weight of each, 0 or more.
        owner_R: The owner of each, below `owners`.
        owners: The number of owners.
        mode: How returns become a baseline.
    """
    if mode == "mean":
        return off_weighted_mean(return_R, weight_R, owner_R, owners)
    baseline_O = return_R.new_zeros(owners)
    for owner in range(owners):
        of_X = return_R[owner_R == owner]
        weight_X = weight_R[owner_R == owner]
        if weight_X.sum() > 0:
            baseline_O[owner] = _median(of_X, weight_X) if mode == "median" else _winsorise(of_X, weight_X)
    return return_R - baseline_O[owner_R]


def _median(value_X: Tensor, weight_X: Tensor) -> Tensor:
    """The least value up to which half of the weight lies."""
    value_X, order_X = value_X.sort()
    below_X = weight_X[order_X].cumsum(0)
    return value_X[int((below_X < below_X[-1] / 2).sum())]


def _winsorise(value_X: Tensor, weight_X: Tensor) -> Tensor:
    low, high = value_X.quantile(0.05), value_X.quantile(0.95)
    inside_X = value_X.clamp(low, high)
    # Of equal returns the mean is theirs exactly, which a sum that is rounded may miss.
    return low + (weight_X * (inside_X - low)).sum() / weight_X.sum()
