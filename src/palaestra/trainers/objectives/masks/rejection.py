"""Tokens and trajectories that are too far from the sampling distribution. Axes: T tokens, R trajectories."""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.corrections.mismatch import MOST, log_mismatch
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.segments import count_over, greatest_over, sum_over

RejectionLevel: TypeAlias = Literal["token", "sequence-sum", "sequence-mean", "sequence-max"]
"""Each token separately; or whole trajectories, by the sum, the mean or the maximum over their trained tokens."""
RejectionStatistic: TypeAlias = Literal["k1", "k2", "k3"]
"""Of d = log old - log rollout: d, compared as the ratio exp d; d^2 / 2; exp d - d - 1."""


@part(
    "mask",
    "reject",
    formula="keep low <= exp(level d) <= high (k1), level k2 or k3 <= high; d = log old - log rollout",
    sources=("github.com/volcengine/verl",),
    confidence="code",
    requires=("old_T",),
    neutral={"level": "token", "low": 0.0, "high": math.inf},
    denominator="survivors",
)
@dataclass(frozen=True, slots=True, kw_only=True)
class RejectTokens:
    """Leaves out tokens or trajectories that are too far from the sampling distribution.

    Masked importance sampling by sequence is `sequence-sum` of k1 within 0.5 and 2, together with the correction
    `sequence-tis`. Geometric rejection is `sequence-mean` of k1 within 0.999 and 1.001. Neutral with `low` 0 and `high`
    infinite.
    """

    level: RejectionLevel
    """The unit that is kept or left out."""
    statistic: RejectionStatistic = "k1"
    """The measure of the distance."""
    low: float = 0.0
    """The minimum ratio that is kept; only for k1, since the others are 0 without a difference."""
    high: float
    """The maximum that is kept: the ratio for k1, otherwise the statistic itself."""

    def __post_init__(self) -> None:
        told = f"level={self.level}, statistic={self.statistic}, low={self.low}, high={self.high}"
        if self.statistic == "k1":
            if self.level == "sequence-max":
                raise ValueError(f"{told}: the maximum of ratios ignores small ones; take k2 or k3")
            if not self.low <= 1 <= self.high:
                raise ValueError(f"{told}: 1, the ratio without a mismatch, must be between them")
        elif self.low != 0 or self.high < 0:
            raise ValueError(f"{told}: {self.statistic} is 0 without a mismatch; give only `high`, not negative")

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Mask`."""
        off_T = log_mismatch(batch)
        match self.statistic:
            case "k1":
                far_T = off_T
            case "k2":
                far_T = off_T.square() / 2
            case "k3":
                far_T = off_T.expm1() - off_T
        far_T = _level(far_T, batch, self.level)
        if self.statistic != "k1":
            return far_T <= self.high
        ratio_T = far_T.clamp(-MOST, MOST).exp()
        return (ratio_T >= self.low) & (ratio_T <= self.high)


def _level(value_T: Tensor, batch: TokenBatch, level: RejectionLevel) -> Tensor:
    """The level of each token or of its trajectory, [T]; untrained tokens have 0."""
    if level == "token":
        return value_T
    trajectory_T, trajectories = batch.trajectory_T, batch.trajectories
    if level == "sequence-max":
        return greatest_over(value_T, trajectory_T, trajectories)[trajectory_T]
    sum_R = sum_over(value_T, trajectory_T, trajectories)
    if level == "sequence-mean":
        sum_R = sum_R / count_over(batch.trained_T, trajectory_T, trajectories).clamp_min(1)
    return sum_R[trajectory_T]
