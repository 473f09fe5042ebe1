"""Advantages of the turns before the last one, in addition to those of the outcome. Axes: U turns, R trajectories."""

from dataclasses import dataclass

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages.group import group_advantages
from palaestra.trainers.objectives.advantages.turns import at_tokens, last
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.segments import sum_over


@part(
    "advantage",
    "mt-grpo",
    formula="A = z_g(outcome) + c z_g(turn) before the last turn, A = z_g(outcome) in it",
    sources=("arXiv:2505.11821", "github.com/SiliangZeng/Multi-Turn-RL-Agent"),
    confidence="code",
    neutral={"weight": 0.0},
)
@dataclass(frozen=True, slots=True, kw_only=True)
class MtGrpo:
    """MT-GRPO (arXiv:2505.11821): the outcome for every token, plus earlier rewards for tokens before the last turn.

    The paper has one tool call and one answer. The mapping to more turns is ours: the outcome is the reward of the last
    turn, and the turn reward is the sum of all earlier rewards, for the tokens of those turns; a trajectory of a single
    turn has both at every token. Neutral, as GRPO on the last turn's reward, with `weight` 0.
    """

    weight: float = 1.0
    """Weight of the turn reward."""
    epsilon: float = 1e-4
    """Keeps a group of nearly equal rewards finite."""

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Advantage`."""
        trajectory_U, trajectories = batch.trajectory_U, batch.trajectories
        last_U = last(trajectory_U, trajectories)
        outcome_R = sum_over(batch.reward_U.masked_fill(~last_U, 0.0), trajectory_U, trajectories)
        turn_R = sum_over(batch.reward_U.masked_fill(last_U, 0.0), trajectory_U, trajectories)
        early_R, late_R = mtgrpo_advantages(outcome_R, turn_R, batch.group_R, weight=self.weight, epsilon=self.epsilon)
        single_R = torch.bincount(trajectory_U, minlength=trajectories) == 1
        early_U = ~last_U | single_R[trajectory_U]
        return at_tokens(torch.where(early_U, early_R[trajectory_U], late_R[trajectory_U]), batch)


def mtgrpo_advantages(
    outcome_R: Tensor, turn_R: Tensor, group_R: Tensor, *, weight: float = 1.0, epsilon: float = 1e-4
) -> tuple[Tensor, Tensor]:
    """The advantage of each trajectory's tokens before the tool's result, and of those after it, [R] each.

    Args:
        outcome_R: The reward of the outcome.
        turn_R: The sum of earlier rewards.
        group_R: The group of each trajectory; members are compared.
        weight: Weight of the earlier rewards.
        epsilon: Added to the standard deviation, the sample's (n - 1).
    """
    late_R = group_advantages(outcome_R, group_R, epsilon=epsilon)
    return late_R + weight * group_advantages(turn_R, group_R, epsilon=epsilon), late_R
