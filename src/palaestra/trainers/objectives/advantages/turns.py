"""Values of turns: places, later rewards, and their distribution to tokens.

The turns of a trajectory are consecutive and in order, as in batches.

Axes: T tokens, U turns, R trajectories.
"""

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages.discounts import discount
from palaestra.trainers.objectives.advantages.rows import Rows
from palaestra.trainers.objectives.segments import number_keys


def places(trajectory_U: Tensor, trajectories: int) -> Tensor:
    """The place of each turn in its trajectory, counted from 0, [U]."""
    return Rows.of(trajectory_U, trajectories).place_X


def last(trajectory_U: Tensor, trajectories: int) -> Tensor:
    """Which turns are the last of their trajectory, [U], booleans."""
    count_R = torch.bincount(trajectory_U, minlength=trajectories)
    return places(trajectory_U, trajectories) == count_R[trajectory_U] - 1


def turn_returns(reward_U: Tensor, trajectory_U: Tensor, trajectories: int, *, gamma: float = 1.0) -> Tensor:
    """The discounted return from each turn on: G_t = r_t + gamma G_{t+1}, [U]."""
    rows = Rows.of(trajectory_U, trajectories)
    return rows.gather(discount(rows.spread(reward_U), gamma))


def before(value_U: Tensor, first_R: Tensor, trajectory_U: Tensor) -> Tensor:
    """The value before each turn: that of the previous turn, or the first of its trajectory, [U].

    Args:
        value_U: The value after each turn.
        first_R: The value before the first turn of each trajectory.
        trajectory_U: The trajectory of each turn.
    """
    at_start_U = places(trajectory_U, len(first_R)) == 0
    return torch.where(at_start_U, first_R[trajectory_U], value_U.roll(1))


def at_tokens(value_U: Tensor, batch: TokenBatch) -> Tensor:
    """The value of each token's turn, [T]; 0 if no turn wrote the token."""
    # `NO_TURN` is the last place.
    return torch.cat([value_U, value_U.new_zeros(1)])[batch.turn_T]


def has_rivals(group_R: Tensor) -> Tensor:
    """Which trajectories are compared with another, [R], booleans."""
    owner_R, groups = number_keys(group_R)
    return torch.bincount(owner_R, minlength=groups)[owner_R] > 1
