"""Pairs of trajectories for losses of preferences. Axes: R trajectories, P pairs."""

from dataclasses import dataclass

import torch
from torch import Tensor

from palaestra.trainers.objectives.segments import greatest_over, least_over, number_keys


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Pairs of trajectories of the same group, a better and a worse one."""

    chosen_P: Tensor
    """Indices of the better ones."""
    rejected_P: Tensor
    """Indices of the worse ones."""

    def margin(self, value_R: Tensor) -> Tensor:
        """The value of the better one minus that of the worse one, [P]."""
        return value_R[self.chosen_P] - value_R[self.rejected_P]

    def mean(self, value_P: Tensor) -> Tensor:
        """The mean over pairs, a scalar; 0 without pairs."""
        return value_P.sum() / max(1, len(self.chosen_P))


def best_and_worst(return_R: Tensor, group_R: Tensor) -> Pairs:
    """The best of each group against the worst; a group of equal returns gives no pair.

    On a tie the first is taken.

    Args:
        return_R: The return of each trajectory.
        group_R: The group of each trajectory, integers in any order.
    """
    owner_R, groups = number_keys(group_R)
    best_G = greatest_over(return_R, owner_R, groups)
    worst_G = least_over(return_R, owner_R, groups)
    differ_G = best_G > worst_G
    return Pairs(
        chosen_P=_first(return_R == best_G[owner_R], owner_R, groups)[differ_G],
        rejected_P=_first(return_R == worst_G[owner_R], owner_R, groups)[differ_G],
    )


def demonstration_pairs(chosen_R: Tensor, group_R: Tensor) -> Pairs:
    """Each demonstration against every other trajectory of its group.

    Args:
        chosen_R: Which trajectories are demonstrations, booleans.
        group_R: The group of each trajectory, integers in any order.
    """
    same_RR = group_R[:, None] == group_R[None, :]
    pairs_P2 = (same_RR & chosen_R[:, None] & ~chosen_R[None, :]).nonzero()
    return Pairs(chosen_P=pairs_P2[:, 0], rejected_P=pairs_P2[:, 1])


def _first(inside_R: Tensor, owner_R: Tensor, groups: int) -> Tensor:
    """The first index of each group with `inside_R`, [G]; every group must have one."""
    place_R = torch.arange(len(owner_R), device=owner_R.device)
    return least_over(place_R[inside_R], owner_R[inside_R], groups)
