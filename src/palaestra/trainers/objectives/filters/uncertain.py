"""Keeps groups with uncertain outcomes. Axes: R trajectories, G groups."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.segments import count_over, mean_over, number_keys, variance_over

Strategy: TypeAlias = Literal["top_fraction", "top_k", "top_p", "min_p"]
"""How many of the best groups are kept: a share, a number, as many as hold a share of the score, or all near the
best."""
_SLACK = 0.01
"""The share of the score that may be missing in `top_p`, as in RAGEN-2's code."""


@part(
    "filter",
    "uncertain",
    formula="the groups of the greatest std_g R: a share of them, so many, or until they hold a share of all",
    sources=("arXiv:2504.20073", "arXiv:2604.06268", "github.com/RAGEN-AI/RAGEN"),
    confidence="code",
    neutral={"strategy": "top_fraction", "amount": 1.0},
)
@dataclass(frozen=True, slots=True, kw_only=True)
class UncertainGroups:
    """StarPO-S's filter (RAGEN, arXiv:2504.20073), and its family in RAGEN-2 (arXiv:2604.06268).

    By default, it keeps the quarter of groups with the largest standard deviation of returns, the sample's.
    """

    score: Literal["std", "variance", "reward", "length"] = "std"
    """The score of groups: the spread of returns, their mean, or the mean number of trained tokens."""
    strategy: Strategy = "top_fraction"
    """How many are kept; see `Strategy`."""
    amount: float = 0.25
    """The share, or for `top_k` the number."""
    softmax: bool = False
    """Whether `top_p` adds up the softmax of scores instead of scores."""
    zeros: bool = True
    """Whether groups whose score is 0 may be kept."""

    def __post_init__(self) -> None:
        if self.strategy == "top_k":
            if self.amount < 1 or self.amount != int(self.amount):
                raise ValueError(f"amount={self.amount}: top_k keeps so many groups, 1 or more")
        elif not 0 < self.amount <= 1:
            raise ValueError(f"amount={self.amount}: {self.strategy} takes a share in (0, 1]; for a number take top_k")

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Filter`."""
        owner_R, groups = number_keys(batch.group_R)
        keep_G = keep_groups(
            self._score(batch, owner_R, groups),
            strategy=self.strategy,
            amount=self.amount,
            softmax=self.softmax,
            zeros=self.zeros,
        )
        return keep_G[owner_R]

    def _score(self, batch: TokenBatch, owner_R: Tensor, groups: int) -> Tensor:
        match self.score:
            case "std":
                return variance_over(batch.return_R, owner_R, groups).sqrt()
            case "variance":
                return variance_over(batch.return_R, owner_R, groups)
            case "reward":
                return mean_over(batch.return_R, owner_R, groups)
            case "length":
                length_R = count_over(batch.trained_T, batch.trajectory_T, batch.trajectories)
                return mean_over(length_R.to(batch.return_R.dtype), owner_R, groups)


def keep_groups(
    score_G: Tensor, *, strategy: Strategy, amount: float, softmax: bool = False, zeros: bool = True
) -> Tensor:
    """The groups with the highest scores, [G], booleans; on a tie the first.

    - `top_fraction`: `amount` of them, rounded down, but at least one.
    - `top_k`: `amount` of them.
    - `top_p`: as few as hold `amount` of the sum of scores, of which 0.01 may be missing; or of their softmax. With
      `amount` 1 all are kept.
    - `min_p`: those with at least `amount` of the highest score.

    Args:
        score_G: The score of each group.
        strategy: How many are kept.
        amount: The share, or the number.
        softmax: Whether `top_p` adds up the softmax of scores instead of scores.
        zeros: Whether groups whose score is 0 may be kept.
    """
    able_G = torch.ones_like(score_G, dtype=torch.bool) if zeros else score_G != 0
    place_G = able_G.nonzero()[:, 0]
    if not len(place_G):
        return able_G
    order_G = place_G[score_G[place_G].argsort(descending=True, stable=True)]
    sorted_G = score_G[order_G]
    match strategy:
        case "top_fraction":
            count = max(1, int(amount * len(order_G) + 1e-9))
        case "top_k":
            count = int(amount)
        case "top_p" if amount >= 1:
            count = len(order_G)
        case "top_p":
            held_G = sorted_G.softmax(0) if softmax else sorted_G
            wanted = amount if softmax else amount * float(held_G.sum()) - _SLACK
            count = int((held_G.cumsum(0) < wanted).sum()) + 1
        case "min_p":
            count = int((sorted_G >= amount * sorted_G[0]).sum())
    return torch.zeros_like(able_G).index_fill(0, order_G[:count], 1)
