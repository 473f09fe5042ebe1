"""Masks for tokens of stale rollouts. Axes: T tokens, N trained tokens, R trajectories."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.corrections.mismatch import MOST, log_mismatch
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.segments import count_over, sum_over


@part(
    "mask",
    "m2po",
    formula="drop the greatest (log old - log rollout)^2 until the mean of the others is below tau",
    sources=("arXiv:2510.01161", "github.com/inclusionAI/AReaL"),
    confidence="code",
    requires=("old_T",),
    neutral={"tau": math.inf},
)
@dataclass(frozen=True, slots=True, kw_only=True)
class M2po:
    """M2PO (arXiv:2510.01161): leaves out as few tokens as needed to bound the second moment of the mismatch.

    The moment is over the whole step. Tokens with equal mismatch are left out together. Means stay over all tokens,
    which is our choice. Neutral with `tau` infinite.
    """

    tau: float = 0.04
    """The bound of the mean of (log old - log rollout)^2."""

    def __post_init__(self) -> None:
        if self.tau <= 0:
            raise ValueError(f"tau={self.tau}: no mean of squares is below it; give a number above 0")

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Mask`."""
        square_T = log_mismatch(batch).square()
        ordered_N = square_T[batch.trained_T].sort().values
        number_N = torch.arange(1, len(ordered_N) + 1, device=ordered_N.device)
        kept = int((ordered_N.double().cumsum(0) / number_N < self.tau).sum())
        if kept == len(ordered_N):
            return torch.ones_like(batch.trained_T)
        return square_T < ordered_N[kept]


@part(
    "mask",
    "opsm",
    formula="drop where A < 0 and mean_t (log rollout - log now) > delta",
    sources=("arXiv:2512.02556", "github.com/huggingface/trl", "github.com/THUDM/slime"),
    confidence="code",
    requires=("now_T",),
    neutral={"delta": math.inf},
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Opsm:
    """Off-policy sequence masking (DeepSeek-V3.2): leaves out bad trajectories that the policy has moved away from.

    It leaves out tokens of negative advantage in trajectories whose mean log-probability has fallen by more than
    `delta` since they were drawn. Means stay over all tokens, as in the formula; ms-swift takes them over the kept
    tokens, the denominator `survivors`. Neutral with `delta` infinite.
    """

    delta: float
    """How far the mean may fall; no value was published."""

    def __post_init__(self) -> None:
        if self.delta < 0:
            raise ValueError(f"delta={self.delta}: it would leave out tokens of the current weights; give 0 or more")

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Mask`."""
        own_T, trajectory_T = batch.trained_T, batch.trajectory_T
        fall_T = (batch.logprob_T - batch.column("now_T")).nan_to_num(nan=0.0).clamp(-MOST, MOST)
        tokens_R = count_over(own_T, trajectory_T, batch.trajectories).clamp_min(1)
        fall_R = sum_over(fall_T.masked_fill(~own_T, 0.0), trajectory_T, batch.trajectories) / tokens_R
        return ~((batch.advantage_T < 0) & (fall_R > self.delta)[trajectory_T])
