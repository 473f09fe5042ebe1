"""Replaces the worst rollout by a rephrased solution if most fail. Axes: R trajectories, G groups."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.filters.places import ranks
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.segments import count_over, number_keys


@part(
    "filter",
    "repo",
    formula="where #{R < failure} >= share G the rephrased solution in place of the least R; elsewhere without it",
    sources=("arXiv:2602.10819",),
    confidence="secondary",
    requires=("rephrased_R",),
    neutral={"share": math.inf},
    needs={
        "ratio.anchor=old": "a rephrased solution was drawn under another prompt, and has no ratio to what drew it",
    },
    conflicts={
        "schedule=turns": "log-probabilities under the plain prompt are needed before the first step",
        "refill": "a group that fails would be replaced before its solution joins it",
    },
)
@dataclass(frozen=True, slots=True, kw_only=True)
class RephrasedSolutions:
    """RePO (arXiv:2602.10819): groups that mostly fail learn from a solution in the policy's own words.

    A group whose share of failures reaches `share` loses the first of its rollouts with the lowest return and keeps the
    rephrased solution; all other groups lose the rephrased solution, so every group keeps its size. The rephrased one
    keeps its real return, whatever it is. Its log-probabilities, including those used as the rollout's, are the
    policy's under the plain prompt before the batch's first step (`old_T`), so that corrections for the rollout are
    exactly 1 there. The paper states neither number; both are ours. Neutral, GRPO, with `share` above 1.
    """

    failure: float = 0.5
    """The return, in the objective's unit, below which a rollout failed."""
    share: float = 0.75
    """The share of a group's own rollouts that must have failed; above 1 no group reaches it."""

    def __post_init__(self) -> None:
        if not math.isfinite(self.failure):
            raise ValueError(f"failure={self.failure}: the return below which a rollout failed is a finite number")
        if not self.share > 0:
            raise ValueError(f"share={self.share}: at 0 every group would lose a rollout; give a number above 0")

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Filter`."""
        rephrased_R = batch.column("rephrased_R") != 0
        own_R = ~rephrased_R
        owner_R, groups = number_keys(batch.group_R)
        failed_G = count_over(own_R & (batch.return_R < self.failure), owner_R, groups)
        uses_G = failed_G >= self.share * count_over(own_R, owner_R, groups)
        uses_G = uses_G & (count_over(rephrased_R, owner_R, groups) > 0)
        worst_R = own_R & (ranks(batch.return_R.masked_fill(rephrased_R, torch.inf), owner_R) == 0)
        return torch.where(uses_G[owner_R], ~worst_R, own_R)
