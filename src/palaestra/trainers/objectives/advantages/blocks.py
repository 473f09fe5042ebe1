"""Advantages of blocks, each with its own reward and baseline. Axes: X blocks, U turns, R trajectories."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages.turns import at_tokens, places, turn_returns
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.segments import centre, count_over, number_keys, sum_over

Baseline: TypeAlias = Literal["none", "batch", "group", "outcome"]
"""The baseline of a later block's reward: none, the mean of that block over the batch or over its group, or over those
of its group whose earlier blocks had equal outcomes."""


@part(
    "advantage",
    "blockwise",
    formula="A_k = r_k - mean_{g, o_<k} r_k",
    sources=("arXiv:2602.10231",),
    confidence="paper",
    neutral={"baseline": "group", "balanced": False},
)
@dataclass(frozen=True, slots=True, kw_only=True)
class BlockwiseAdvantage:
    """Blockwise advantages (arXiv:2602.10231): every block is credited with its own reward only, without a scale.

    The paper's blocks are an answer and the confidence in it. The mapping is ours: a block is a turn with its own
    reward, and prefixes have equal outcomes if the rewards before the turn are equal. So a turn gets no credit for what
    follows it. Neutral, as each turn's reward minus the group's mean at that place (Dr.GRPO for a single turn), with
    baseline `group` and not balanced.
    """

    baseline: Baseline = "outcome"
    """The baseline of all turns except the first, whose baseline is its group's mean."""
    balanced: bool = True
    """Whether each block has the same weight whatever its length, as in the paper: for an aggregation that takes the
    mean over a trajectory's tokens, which this turns into the sum of the means over its blocks."""

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Advantage`."""
        trajectory_U, trajectories = batch.trajectory_U, batch.trajectories
        block_U = places(trajectory_U, trajectories)
        reward_U = batch.reward_U.double()
        paid_R = sum_over(reward_U, trajectory_U, trajectories)
        # To 4 decimals: sums that differ only in rounding are the same.
        paid_U = (1e4 * (paid_R[trajectory_U] - turn_returns(reward_U, trajectory_U, trajectories))).round()
        advantage_U = block_advantages(
            batch.reward_U, block_U, batch.group_R[trajectory_U], paid_U, baseline=self.baseline
        )
        if self.balanced:
            own_T = batch.trained_T
            tokens_U = count_over(own_T & (batch.turn_T >= 0), batch.turn_T, len(block_U))
            tokens_R = count_over(own_T, batch.trajectory_T, trajectories)
            advantage_U = advantage_U * tokens_R[trajectory_U] / tokens_U.clamp_min(1)
        return at_tokens(advantage_U, batch)


def block_advantages(
    reward_X: Tensor, block_X: Tensor, group_X: Tensor, outcome_X: Tensor, *, baseline: Baseline = "outcome"
) -> Tensor:
    """Each block's reward minus its baseline, [X].

    Args:
        reward_X: The reward of each block of each trajectory.
        block_X: The number of the block; 0 for the first, whose baseline is its group's mean.
        group_X: The group; blocks of trajectories that are compared share it.
        outcome_X: The outcome of the blocks before it, as a number.
        baseline: The baseline of all blocks except the first. If no other member of the group has the outcome,
            `outcome` takes the mean over all of the batch that have it; if there are none, the advantage is 0.
    """
    grouped_X = _over(reward_X, block_X, group_X)
    match baseline:
        case "none":
            later_X = reward_X
        case "batch":
            later_X = _over(reward_X, block_X)
        case "group":
            later_X = grouped_X
        case "outcome":
            owner_X, owners = _number(block_X, group_X, outcome_X)
            single_X = torch.bincount(owner_X, minlength=owners)[owner_X] == 1
            later_X = torch.where(single_X, _over(reward_X, block_X, outcome_X), centre(reward_X, owner_X, owners))
    return torch.where(block_X == 0, grouped_X, later_X)


def _over(reward_X: Tensor, *keys: Tensor) -> Tensor:
    """Each reward minus the mean of those with equal keys."""
    return centre(reward_X, *_number(*keys))


def _number(*keys: Tensor) -> tuple[Tensor, int]:
    """See `number_keys`; of keys of any type."""
    return number_keys(torch.stack([number_keys(key_X)[0] for key_X in keys], 1))
