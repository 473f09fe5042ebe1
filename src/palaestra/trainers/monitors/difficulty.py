"""The difficulty of the tasks that a step learns from: hard, easy or between. Axes: T tokens, R trajectories."""

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.objective import Metrics
from palaestra.trainers.objectives.segments import mean_over, number_keys

SOLVED = "solved_R"
"""The column of `solve_rates`."""
_RANGES = ("0", "0-25", "25-50", "50-75", "75-100", "100")
"""Ranges of solve rates in percent; a range includes its upper bound, except that 100 is a range of its own."""


def solve_rates(batch: TokenBatch) -> Tensor:
    """The share of passed trajectories in each trajectory's group, [R].

    Args:
        batch: Whole groups as sampled, before any filter.
    """
    owner_R, groups = number_keys(batch.group_R)
    return mean_over(batch.column("passed_R").double(), owner_R, groups)[owner_R]


def difficulty_metrics(batch: TokenBatch) -> Metrics:
    """The share of a step's gradient weight by the solve rate of groups.

    The weight of a token is |weight * advantage|: the factor of its gradient before the trust region. With division by
    the group's deviation, a group with solve rate p has weight sqrt(p (1 - p)), without it p (1 - p)
    (arXiv:2602.14868), so that half-solved groups have the most.

    Args:
        batch: The batch of a prepared step, with `solved_R`.

    Returns:
        `gradient/solved/RANGE` for ranges of the solve rate in percent; the shares sum to 1. Empty if no token has
        weight, as in losses of whole trajectories.
    """
    weight_T = (batch.weight_T * batch.advantage_T).abs().double().masked_fill(~batch.trained_T, 0.0)
    whole = float(weight_T.sum())
    if not whole > 0:
        return {}
    rate_R = batch.column(SOLVED)
    bound_R = (rate_R * 4).ceil().long()
    range_R = torch.where(rate_R >= 1, len(_RANGES) - 1, bound_R.clamp_max(len(_RANGES) - 2))
    found = weight_T.new_zeros(len(_RANGES)).index_add(0, range_R[batch.trajectory_T], weight_T) / whole
    return {f"gradient/solved/{name}": share for name, share in zip(_RANGES, found.tolist(), strict=True)}
