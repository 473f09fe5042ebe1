"""Advantages within groups of turns that began in the same state. Axes: X things, U turns, R trajectories."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages.discounts import refuse_beyond_one
from palaestra.trainers.objectives.advantages.turns import at_tokens, turn_returns
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.segments import centre, number_keys, variance_over


@part(
    "advantage",
    "gigpo",
    formula="A = (R - mean_g R) + w (G_t - mean_{g, anchor} G), each over std + epsilon with scale mean-std",
    sources=("arXiv:2505.10978", "github.com/langfengQ/verl-agent"),
    confidence="code",
    requires=("anchor_U",),
    neutral={"weight": 0.0, "cross_steps": False},
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Gigpo:
    """GiGPO (arXiv:2505.10978): compares a trajectory with its group, and a turn with those that began in its state.

    Turns are compared if their group is the same and the world showed the same before them, at any place, even in the
    same trajectory; G_t is the discounted reward from the turn on. Neutral, as GRPO (scale `mean-std`) or Dr.GRPO
    (scale `mean`), with `weight` 0 and without `cross_steps`.
    """

    weight: float = 1.0
    """Weight of the comparison of turns."""
    gamma: float = 0.95
    """The discount of rewards after a turn; below 1, it makes a loop worse than leaving at once."""
    scale: Literal["mean", "mean-std"] = "mean"
    """Whether differences are divided by the sample's standard deviation (n - 1)."""
    cross_steps: bool = True
    """Whether a trajectory counts in its group's mean once for each of its turns, as in the authors' code, or once."""
    alone: Literal["zero", "raw"] = "zero"
    """The advantage in a group of one return: 0, or the return itself, as in the authors' code."""
    epsilon: float = 1e-6
    """Keeps a group of nearly equal returns finite."""

    def __post_init__(self) -> None:
        refuse_beyond_one(gamma=self.gamma)

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Advantage`."""
        advantage_U = gigpo_advantages(
            batch.return_R,
            batch.reward_U,
            batch.trajectory_U,
            batch.group_R,
            batch.column("anchor_U"),
            weight=self.weight,
            gamma=self.gamma,
            scale=self.scale,
            cross_steps=self.cross_steps,
            alone=self.alone,
            epsilon=self.epsilon,
        )
        return at_tokens(advantage_U, batch)


def gigpo_advantages(
    return_R: Tensor,
    reward_U: Tensor,
    trajectory_U: Tensor,
    group_R: Tensor,
    anchor_U: Tensor,
    *,
    weight: float = 1.0,
    gamma: float = 0.95,
    scale: Literal["mean", "mean-std"] = "mean",
    cross_steps: bool = True,
    alone: Literal["zero", "raw"] = "zero",
    epsilon: float = 1e-6,
) -> Tensor:
    """The advantage of each turn, [U].

    Args:
        return_R: The return of each trajectory.
        reward_U: The reward of each turn.
        trajectory_U: The trajectory of each turn, ascending.
        group_R: The group of each trajectory; members are compared.
        anchor_U: Integers, equal for turns that began in the same state.
        weight: A setting of `Gigpo`, like all arguments below.
        gamma: The discount of later rewards.
        scale: Whether to divide by the standard deviation.
        cross_steps: Whether long trajectories have more weight in the mean.
        alone: The advantage in a group of one return.
        epsilon: Added to the standard deviation.
    """
    group_U = group_R[trajectory_U]
    if cross_steps:
        episode_U = _compare(return_R[trajectory_U], group_U, scale=scale, alone=alone, epsilon=epsilon)
    else:
        episode_U = _compare(return_R, group_R, scale=scale, alone=alone, epsilon=epsilon)[trajectory_U]
    follows_U = turn_returns(reward_U, trajectory_U, len(group_R), gamma=gamma)
    # Numbered first, so that stacking cannot change the type of large numbers.
    state_U = torch.stack([number_keys(group_U)[0], number_keys(anchor_U)[0]], 1)
    return episode_U + weight * _compare(follows_U, state_U, scale=scale, alone="zero", epsilon=epsilon)


def _compare(
    value_X: Tensor, key_X: Tensor, *, scale: Literal["mean", "mean-std"], alone: Literal["zero", "raw"], epsilon: float
) -> Tensor:
    owner_X, owners = number_keys(key_X)
    off_X = centre(value_X, owner_X, owners)
    if scale == "mean-std":
        off_X = off_X / (variance_over(value_X, owner_X, owners).sqrt() + epsilon)[owner_X]
    if alone == "zero":
        return off_X
    single_X = torch.bincount(owner_X, minlength=owners)[owner_X] == 1
    # Divided by 1 + epsilon, as in their code, which takes 1 for the deviation of a single value.
    raw_X = value_X / (1 + epsilon) if scale == "mean-std" else value_X
    return torch.where(single_X, raw_X, off_X)
