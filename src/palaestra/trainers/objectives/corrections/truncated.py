"""Truncated importance sampling. Axes: T tokens, R trajectories."""

from dataclasses import dataclass

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.corrections.mismatch import MOST, conflicts_of, log_mismatch
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.segments import count_over, sum_over


def _check(cap: float) -> None:
    if cap < 1:
        raise ValueError(f"cap={cap}: tokens without a mismatch have weight 1; give 1 or more")


@part(
    "correction",
    "token-tis",
    formula="min(old / rollout, cap)",
    sources=("github.com/volcengine/verl", "Yao et al. 2025"),
    confidence="code",
    requires=("old_T",),
    conflicts={
        **conflicts_of("token-tis"),
        "ratio.granularity=sequence": "a ratio of sequences is corrected by sequence; take correction/sequence-tis",
    },
)
@dataclass(frozen=True, slots=True, kw_only=True)
class TokenTis:
    """Truncated importance sampling by token: the ratio of the old weights to the sampling distribution."""

    cap: float = 2.0
    """The maximum weight; 1.5 to 5 is usual."""
    normalised: bool = False
    """Whether weights are divided by their mean over the step's trained tokens."""

    def __post_init__(self) -> None:
        _check(self.cap)

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Correction`."""
        weight_T = log_mismatch(batch).exp().clamp_max(self.cap)
        return weight_T / _mean(weight_T[batch.trained_T]) if self.normalised else weight_T


@part(
    "correction",
    "sequence-tis",
    formula="min(product of old / rollout, cap)",
    sources=("github.com/volcengine/verl",),
    confidence="code",
    requires=("old_T",),
    conflicts=conflicts_of("sequence-tis"),
)
@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceTis:
    """Truncated importance sampling by trajectory: the product over its trained tokens, applied to each of them."""

    cap: float = 2.0
    """The maximum weight; 2 to 10 is usual."""
    normalised: bool = False
    """Whether weights are divided by their mean over the step's trajectories that have trained tokens."""

    def __post_init__(self) -> None:
        _check(self.cap)

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Correction`."""
        trajectory_T = batch.trajectory_T
        log_R = sum_over(log_mismatch(batch), trajectory_T, batch.trajectories).clamp(-MOST, MOST)
        weight_R = log_R.exp().clamp_max(self.cap)
        if self.normalised:
            tokens_R = count_over(batch.trained_T, trajectory_T, batch.trajectories)
            weight_R = weight_R / _mean(weight_R[tokens_R > 0])
        return weight_R[trajectory_T]


def _mean(weight_X: Tensor) -> Tensor:
    """Their mean, a scalar; 1 where there is none."""
    return weight_X.mean() if len(weight_X) else torch.ones_like(weight_X.sum())
