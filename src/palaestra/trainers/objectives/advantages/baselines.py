"""Advantages with other baselines of the group than its mean, or other scales than its deviation.

Axes: T tokens, R trajectories.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages.group import group_advantages
from palaestra.trainers.objectives.advantages.unread import changed_rewards
from palaestra.trainers.objectives.advantages.weighted import off_weighted_mean
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.segments import (
    centre,
    count_over,
    greatest_over,
    least_over,
    mean_over,
    number_keys,
    variance_over,
)


@part(
    "advantage",
    "rloo",
    formula="A = R - mean_(j != i) R_j = G / (G - 1) (R - mean_g R)",
    sources=("arXiv:2402.14740", "arXiv:2502.01600"),
    confidence="code",
)
def rloo(batch: TokenBatch, /) -> Tensor:
    """Each return minus the mean of the others in its group (RLOO); LOOP uses it too.

    A group of one has advantage 0, since there is nothing to compare it with.
    """
    return leave_one_out(batch.return_R, batch.group_R)[batch.trajectory_T]


def leave_one_out(return_R: Tensor, group_R: Tensor) -> Tensor:
    """Each return minus the mean of the others in its group, [R]; 0 for a group of one."""
    owner_R, groups = number_keys(group_R)
    count_R = torch.bincount(owner_R, minlength=groups)[owner_R]
    return centre(return_R, owner_R, groups) * count_R / (count_R - 1).clamp_min(1)


@part(
    "advantage",
    "opo",
    formula="A = R - sum_g T R / sum_g T",
    sources=("arXiv:2505.23585", "github.com/volcengine/verl"),
    confidence="code",
)
def opo(batch: TokenBatch, /) -> Tensor:
    """Returns minus the mean weighted by trained tokens (OPO): optimal if squared gradient norms grow with length.

    The paper takes one step on each batch, without a clip, a KL or an entropy term. If all trajectories of a group have
    equal length, the baseline is the group's mean. If a group has no trained token, it is 0.
    """
    owner_R, groups = number_keys(batch.group_R)
    tokens_R = count_over(batch.trained_T, batch.trajectory_T, batch.trajectories).to(batch.return_R.dtype)
    return off_weighted_mean(batch.return_R, tokens_R, owner_R, groups)[batch.trajectory_T]


@part(
    "advantage",
    "gpg",
    formula="A = B / (B - M) (R - mean_g R) / F, M of B trajectories in groups of equal returns",
    sources=("arXiv:2504.02546", "github.com/AMAP-ML/GPG"),
    confidence="code",
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Gpg:
    """Returns minus the group's mean, scaled up to compensate for groups without differences (GPG).

    Without such groups it is the group's mean baseline. If all groups are such, all advantages are 0. The paper uses it
    with `trust/reinforce`, and collects more prompts if fewer than 60 % of trajectories have an advantage.
    """

    scale: Literal["none", "group"] = "none"
    """F: 1, or the group's standard deviation (the sample's)."""
    epsilon: float = 1e-6
    """Keeps a group of nearly equal returns finite."""

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Advantage`."""
        advantage_R = group_advantages(batch.return_R, batch.group_R, scale=self.scale, epsilon=self.epsilon)
        return (gpg_factor(batch.return_R, batch.group_R) * advantage_R)[batch.trajectory_T]


def gpg_factor(return_R: Tensor, group_R: Tensor) -> float:
    """The number of all trajectories divided by those of groups whose returns differ; 1 if none do."""
    owner_R, groups = number_keys(group_R)
    alike_O = least_over(return_R, owner_R, groups) == greatest_over(return_R, owner_R, groups)
    different = int((~alike_O)[owner_R].sum())
    return len(return_R) / different if different else 1.0


@part(
    "advantage",
    "remax",
    formula="A = R - R of the rollout without chance",
    sources=("arXiv:2310.10505", "github.com/volcengine/verl"),
    confidence="code",
    requires=("greedy_R",),
    conflicts=changed_rewards(
        "its baseline, the greedy rollout, has the world's pay, so the two would be paid differently"
    ),
)
def remax(batch: TokenBatch, /) -> Tensor:
    """Returns minus that of a greedy rollout of the same task (ReMax)."""
    return (batch.return_R - batch.column("greedy_R"))[batch.trajectory_T]


@part(
    "advantage",
    "pass-at-k",
    formula="A = max_g R - second_g R for the best of its group, else 0",
    sources=("arXiv:2503.19595", "github.com/volcengine/verl"),
    confidence="code",
)
@dataclass(frozen=True, slots=True, kw_only=True)
class PassAtK:
    """Only the best of a group has an advantage: its lead over the second.

    If several are best, none has an advantage; neither has a group of one.
    """

    scale: Literal["none", "group"] = "none"
    """The divisor: 1, or the group's standard deviation (the sample's), which verl uses by default."""
    epsilon: float = 1e-6
    """Keeps a group of nearly equal returns finite."""

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Advantage`."""
        owner_R, groups = number_keys(batch.group_R)
        lead_R = leads(batch.return_R, owner_R, groups)
        if self.scale == "group":
            lead_R = lead_R / (variance_over(batch.return_R, owner_R, groups).sqrt() + self.epsilon)[owner_R]
        return lead_R[batch.trajectory_T]


def leads(return_R: Tensor, owner_R: Tensor, groups: int) -> Tensor:
    """The lead of the best of each group over the second, [R]; 0 for all others."""
    best_R = return_R == greatest_over(return_R, owner_R, groups)[owner_R]
    others_O = count_over(~best_R, owner_R, groups)
    second_O = greatest_over(return_R[~best_R], owner_R[~best_R], groups)
    alone_R = best_R & ((count_over(best_R, owner_R, groups) == 1) & (others_O > 0))[owner_R]
    return (return_R - second_O[owner_R]).masked_fill(~alone_R, 0.0)


@part(
    "advantage",
    "maxrl",
    formula="A = (R - mean_g R) / mean_g R where the mean is above 0, else 0",
    sources=("arXiv:2602.02710",),
    confidence="code",
)
def maxrl(batch: TokenBatch, /) -> Tensor:
    """Returns minus the group's mean, divided by that mean (MaxRL): the scale of a gradient of the log-likelihood."""
    owner_R, groups = number_keys(batch.group_R)
    mean_R = mean_over(batch.return_R, owner_R, groups)[owner_R]
    share_R = centre(batch.return_R, owner_R, groups) / mean_R.masked_fill(mean_R <= 0, 1.0)
    return share_R.masked_fill(mean_R <= 0, 0.0)[batch.trajectory_T]
