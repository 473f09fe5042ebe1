"""Rewards of whole trajectories, paid at the last turn. Axes: U turns, R trajectories."""

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch


def pay_at_end(change_R: Tensor, batch: TokenBatch) -> Tensor:
    """The reward of each turn, with a change added at the last turn of its trajectory, [U].

    Args:
        change_R: The change for each trajectory.
        batch: The batch, with turns in order.
    """
    owner_U = batch.trajectory_U
    last_U = torch.ones_like(owner_U, dtype=torch.bool)
    last_U[:-1] = owner_U[1:] != owner_U[:-1]
    return batch.reward_U + change_R[owner_U].to(batch.reward_U.dtype).masked_fill(~last_U, 0.0)
