"""Turns with trained tokens, and their rewards. Axes: T tokens, N trained tokens, U turns, W such turns.

A turn without trained tokens has no token for its reward. Its reward goes to the previous turn, which may have caused
it; if there is no previous turn, the reward is dropped.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedTurns:
    """The turns with trained tokens, in order."""

    first_W: Tensor
    """The place of each one's first trained token among all trained tokens."""
    last_W: Tensor
    """The same for its last trained token."""
    trajectory_W: Tensor
    reward_W: Tensor
    turn_N: Tensor
    """The turn of each trained token, as an index into these turns."""

    @property
    def turns(self) -> int:
        """The number of these turns."""
        return len(self.first_W)


def trained_turns(batch: TokenBatch) -> TrainedTurns:
    """The turns of a batch with trained tokens."""
    turn_W, turn_N, count_W = batch.turn_T[batch.trained_T].unique_consecutive(return_inverse=True, return_counts=True)
    end_W = count_W.cumsum(0)
    trajectory_W = batch.trajectory_U[turn_W]
    return TrainedTurns(
        first_W=end_W - count_W,
        last_W=end_W - 1,
        trajectory_W=trajectory_W,
        reward_W=_pay(batch, turn_W, trajectory_W),
        turn_N=turn_N,
    )


def token_rewards(batch: TokenBatch) -> Tensor:
    """The reward of each token, [T]: its turn's reward at the turn's last trained token, 0 elsewhere."""
    turns = trained_turns(batch)
    place_N = batch.trained_T.nonzero()[:, 0]
    reward_T = batch.reward_U.new_zeros(len(batch.ids_T))
    return reward_T.index_put((place_N[turns.last_W],), turns.reward_W)


def _pay(batch: TokenBatch, turn_W: Tensor, trajectory_W: Tensor) -> Tensor:
    """The reward of each turn, including the following turns without trained tokens, [W]."""
    if not len(turn_W):
        return batch.reward_U.new_zeros(0)
    turns_U = torch.arange(len(batch.reward_U), device=turn_W.device)
    before_U = torch.searchsorted(turn_W, turns_U, right=True) - 1
    own_U = (before_U >= 0) & (trajectory_W[before_U.clamp_min(0)] == batch.trajectory_U)
    return batch.reward_U.new_zeros(len(turn_W)).index_add(0, before_U[own_U], batch.reward_U[own_U])
