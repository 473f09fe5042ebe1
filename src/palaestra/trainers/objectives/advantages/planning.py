"""Rewards of a planner's turns in addition to those of the world. Axes: U turns, R trajectories."""

from typing import Literal, TypeAlias

import torch
from torch import Tensor

from palaestra.trainers.objectives.advantages.turns import places
from palaestra.trainers.objectives.segments import count_over

KeepMode: TypeAlias = Literal["fixed", "normalised"]
"""For each turn that keeps its subgoal, or for the share of such turns in the episode."""


def shaped_rewards(
    reward_U: Tensor,
    switch_U: Tensor,
    goal_U: Tensor,
    invalid_U: Tensor,
    trajectory_U: Tensor,
    trajectories: int,
    *,
    keep: float = 0.0,
    keep_mode: KeepMode = "fixed",
    inconsistent: float = 0.0,
    invalid: float = 0.0,
) -> Tensor:
    """Rewards with HiPER's shaping (arXiv:2602.16165) added, [U].

    Args:
        reward_U: The world's rewards.
        switch_U: Not 0 if a turn begins a new subgoal.
        goal_U: The turn's subgoal, as a number; 0 for none.
        invalid_U: Not 0 if the turn is invalid.
        trajectory_U: The trajectory of each turn, ascending.
        trajectories: The number of trajectories.
        keep: Reward for keeping a subgoal.
        keep_mode: `fixed` pays it for each such turn; `normalised` pays `keep` times their share in the episode, spread
            over them, and nothing in an episode of one turn.
        inconsistent: Reward if the subgoal is kept but differs from that of the previous turn, and both exist.
        invalid: Reward of an invalid turn.
    """
    kept_U = switch_U == 0
    fee_U = keep * kept_U.to(reward_U.dtype)
    if keep_mode == "normalised":
        turns_R = count_over(torch.ones_like(kept_U), trajectory_U, trajectories)
        turns_U = turns_R[trajectory_U]
        fee_U = (fee_U / turns_U).masked_fill(turns_U == 1, 0.0)
    earlier_U = goal_U.roll(1)
    follows_U = (places(trajectory_U, trajectories) > 0) & (goal_U != 0) & (earlier_U != 0)
    changed_U = kept_U & follows_U & (goal_U != earlier_U)
    return (
        reward_U + fee_U + inconsistent * changed_U.to(reward_U.dtype) + invalid * (invalid_U != 0).to(reward_U.dtype)
    )
