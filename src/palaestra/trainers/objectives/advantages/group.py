"""Advantages over a group's mean: GRPO, and variants with other divisors. Axes: T tokens, R trajectories."""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.segments import centre, number_keys, variance_over


@part(
    "advantage",
    "group",
    formula="A = (R - mean_g R) / (std_g R + epsilon)",
    sources=("arXiv:2402.03300", "arXiv:2503.20783"),
    confidence="code",
    neutral={"scale": "none"},
)
@dataclass(frozen=True, slots=True, kw_only=True)
class GroupAdvantage:
    """Each return compared with its group (GRPO); without a scale, Dr.GRPO's.

    A group of equal returns, and a group of one, have advantage exactly 0.
    """

    scale: Literal["group", "batch", "none"] = "group"
    """The standard deviation to divide by: the sample's (n - 1) of the group or the batch, or none."""
    epsilon: float = 1e-6
    """Keeps a group of nearly equal returns finite."""

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Advantage`."""
        advantage_R = group_advantages(batch.return_R, batch.group_R, scale=self.scale, epsilon=self.epsilon)
        return advantage_R[batch.trajectory_T]


def group_advantages(
    return_R: Tensor,
    group_R: Tensor,
    *,
    scale: Literal["group", "batch", "none"] = "group",
    epsilon: float = 1e-6,
) -> Tensor:
    """Each return compared with its group: (R - mean) / (std + epsilon), or R - mean.

    Args:
        return_R: The return of each trajectory.
        group_R: The group of each trajectory, integers in any order; members are compared.
        scale: The standard deviation to divide by.
        epsilon: Keeps a group of nearly equal returns finite.

    Returns:
        [R]. Exactly 0 for a group of equal returns and for a group of one. The standard deviation is the sample's
        (n - 1).
    """
    assert return_R.shape == group_R.shape, f"returns {return_R.shape}, groups {group_R.shape}"
    owner_R, groups = number_keys(group_R)
    off_R = centre(return_R, owner_R, groups)
    match scale:
        case "none":
            return off_R
        case "batch":
            # Over the whole batch, as in TRL: the deviation of the returns, not of their differences to the mean.
            whole_R = owner_R.new_zeros(len(owner_R))
            return off_R / (variance_over(return_R, whole_R, 1).sqrt() + epsilon)
        case "group":
            return off_R / (variance_over(return_R, owner_R, groups).sqrt() + epsilon)[owner_R]
