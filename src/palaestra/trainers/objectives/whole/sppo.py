"""SPPO: regression of log-ratios on win rates. Axes: R trajectories."""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.whole.objective import trajectory_mean
from palaestra.trainers.objectives.whole.pairs import best_and_worst
from palaestra.trainers.objectives.whole.preference import reference_log_ratio


@part(
    "whole",
    "sppo",
    formula="L = (Delta_w - 1 / (2 beta))^2 + (Delta_l + 1 / (2 beta))^2, or (Delta - (P - 1/2) / beta)^2",
    sources=("arXiv:2405.00675", "github.com/huggingface/trl"),
    confidence="code",
    requires=("ref_T",),
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Sppo:
    """SPPO (arXiv:2405.00675): each log-ratio is regressed on its own target, not only the margin of two.

    For two trajectories of different returns, `rates` is half of `hard`: a mean over two instead of their sum.
    """

    beta: float
    """The strength of the constraint of log-ratios to 0; targets lie within 1 / (2 beta) of it."""
    form: Literal["hard", "rates"] = "hard"
    """`hard`: the best of each group wins and the worst loses; others do not count, and equal returns give no pair.
    `rates`: P is the share of the group's other trajectories with a lower return, equal returns counting half.
    Computing P from returns, over the others only, is ours; the paper uses a judge."""

    def __post_init__(self) -> None:
        if not 0 < self.beta < math.inf:
            raise ValueError(f"beta={self.beta}: targets are divided by it; it is above 0 and finite")

    def __call__(self, logp_R: Tensor, batch: TokenBatch, /) -> Tensor:
        """See `WholeLoss`."""
        delta_R = reference_log_ratio(logp_R, batch)
        if self.form == "rates":
            target_R = (win_rates(batch.return_R, batch.group_R) - 0.5) / self.beta
            return trajectory_mean((delta_R - target_R).square(), batch)
        pairs = best_and_worst(batch.return_R, batch.group_R)
        target = 1 / (2 * self.beta)
        won_P, lost_P = delta_R[pairs.chosen_P], delta_R[pairs.rejected_P]
        return pairs.mean((won_P - target).square() + (lost_P + target).square())


def win_rates(return_R: Tensor, group_R: Tensor) -> Tensor:
    """The share of the group's others that each trajectory beats, equal returns by half, [R]; 1/2 in a group of one.

    Args:
        return_R: The return of each trajectory.
        group_R: The group of each trajectory, integers in any order.
    """
    same_RR = (group_R[:, None] == group_R[None, :]) & ~torch.eye(len(group_R), dtype=torch.bool, device=group_R.device)
    won_RR = (return_R[:, None] - return_R[None, :]).sign() / 2 + 0.5
    others_R = same_RR.sum(1)
    rate_R = (won_RR * same_RR).sum(1) / others_R.clamp_min(1)
    return rate_R.masked_fill(others_R == 0, 0.5)
