"""Tokens with the most attention to observations. Axes: T tokens, N trained tokens, R trajectories."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.segments import count_over, greatest_over


@part(
    "mask",
    "anchors",
    formula="keep the share of each trajectory's tokens with the greatest attention to observations",
    sources=("arXiv:2602.11455",),
    confidence="derived",
    requires=("attention_T",),
    neutral={"share": 1.0},
    denominator="survivors",
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Anchors:
    """Anchor tokens (after AT-RL, arXiv:2602.11455): trains only the tokens with the most attention to observations.

    Experimental: the paper clusters the attention from text to image tokens, and neither its layers nor its weights are
    published. Attention to observations, the ranking within each trajectory, and the weight 0 of the other tokens are
    derived. Means are over the kept tokens, so that weights add up as before. Neutral with `share` 1.
    """

    share: float = 0.15
    """The share of each trajectory's trained tokens to keep, rounded up; ties with the last are kept. The paper found
    15 % to be anchors."""

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise ValueError(f"share={self.share}: a share of the tokens, above 0 and not above 1, is kept")

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Mask`."""
        own_T = batch.trained_T
        keep_T = torch.zeros_like(own_T)
        keep_T[own_T] = greatest_share(
            batch.column("attention_T")[own_T], batch.trajectory_T[own_T], batch.trajectories, share=self.share
        )
        return keep_T


def greatest_share(value_N: Tensor, owner_N: Tensor, owners: int, *, share: float) -> Tensor:
    """Which values are among the greatest `share` of their owner's, ties included, [N].

    Args:
        value_N: The value of each thing.
        owner_N: The owner of each thing.
        owners: The number of owners.
        share: The share, rounded up to whole things.
    """
    count_O = count_over(torch.ones_like(owner_N, dtype=torch.bool), owner_N, owners)
    # 15 % of 20 things is 3, though the product of floats may be slightly more.
    wanted_O = (count_O * share - 1e-9).ceil().long().clamp_min(1)
    by_value = value_N.argsort(descending=True, stable=True)
    order = by_value[owner_N[by_value].argsort(stable=True)]
    rank_N = torch.empty_like(owner_N)
    rank_N[order] = torch.arange(len(order), device=order.device) - (count_O.cumsum(0) - count_O)[owner_N[order]]
    beyond_N = rank_N >= wanted_O[owner_N]
    least_O = -greatest_over((-value_N).masked_fill(beyond_N, -math.inf), owner_N, owners)
    return value_N >= least_O[owner_N]
