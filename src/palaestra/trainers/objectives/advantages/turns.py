"""Numbers of turns: their places, what followed them, and how tokens get theirs.

A trajectory's turns stand in order, one behind the other, as batches have them.

Axes: T tokens, U turns, R trajectories, K places in a trajectory.
"""

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.segments import numbered


def places(trajectory_U: Tensor, trajectories: int) -> Tensor:
    """The place of each turn in its trajectory, from 0, [U]."""
    count_R = torch.bincount(trajectory_U, minlength=trajectories)
    first_R = count_R.cumsum(0) - count_R
    return torch.arange(len(trajectory_U), device=trajectory_U.device) - first_R[trajectory_U]


def last(trajectory_U: Tensor, trajectories: int) -> Tensor:
    """Which turns are the last of their trajectory, [U], booleans."""
    count_R = torch.bincount(trajectory_U, minlength=trajectories)
    return places(trajectory_U, trajectories) == count_R[trajectory_U] - 1


def in_rows(value_U: Tensor, trajectory_U: Tensor, trajectories: int) -> Tensor:
    """Each trajectory's turns in a row of their own, [R, K, ...], padded with 0; `[trajectory_U, places]` reads it."""
    place_U = places(trajectory_U, trajectories)
    longest = int(place_U.max()) + 1 if len(place_U) else 0
    value_RK = value_U.new_zeros(trajectories, longest, *value_U.shape[1:])
    return value_RK.index_put((trajectory_U, place_U), value_U)


def turn_returns(reward_U: Tensor, trajectory_U: Tensor, trajectories: int, *, gamma: float = 1.0) -> Tensor:
    """What was paid from each turn on, discounted: G_t = r_t + gamma G_{t+1}, [U]."""
    value_RK = in_rows(reward_U, trajectory_U, trajectories)
    follows_R = value_RK.new_zeros(trajectories)
    found: list[Tensor] = []
    for value_R in reversed(value_RK.unbind(1)):
        follows_R = value_R + gamma * follows_R
        found.append(follows_R)
    if not found:
        return reward_U.clone()
    return torch.stack(found[::-1], 1)[trajectory_U, places(trajectory_U, trajectories)]


def before(value_U: Tensor, first_R: Tensor, trajectory_U: Tensor) -> Tensor:
    """The value that stood before each turn: the turn's before it, or its trajectory's first, [U].

    Args:
        value_U: After each turn.
        first_R: Before the first turn of each trajectory.
        trajectory_U: Whose each turn is.
    """
    at_start_U = places(trajectory_U, len(first_R)) == 0
    return torch.where(at_start_U, first_R[trajectory_U], value_U.roll(1))


def at_tokens(value_U: Tensor, batch: TokenBatch) -> Tensor:
    """The number of each token's turn, [T]; 0 where no turn wrote the token."""
    # `NO_TURN` is the last place.
    return torch.cat([value_U, value_U.new_zeros(1)])[batch.turn_T]


def has_rivals(group_R: Tensor) -> Tensor:
    """Which trajectories are compared with another, [R], booleans."""
    owner_R, groups = numbered(group_R)
    return torch.bincount(owner_R, minlength=groups)[owner_R] > 1
