"""Advantages from a checklist whose criteria pay once.

Axes: C criteria, X things, U turns, R trajectories.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages.turns import at_tokens, places
from palaestra.trainers.objectives.advantages.unread import unread_rewards
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.segments import centre, mean_over, number_keys, sum_over

Assignment: TypeAlias = Literal["trajectory", "turn", "step"]
"""Where a criterion is credited: to the whole trajectory, the turn that met it first, or every turn up to that one."""


@part(
    "advantage",
    "cm2",
    formula="A = (sum_c w_c [c met for the first time] - mean_g) / F, of a trajectory, of turn t, or of each criterion",
    sources=("arXiv:2602.12268", "github.com/namezhenzhang/CM2-RLCR-Tool-Agent"),
    confidence="code",
    requires=("met_UC", "points_RC", "open_UC"),
    conflicts=unread_rewards("criteria"),
    neutral={"assignment": "trajectory", "least": 1},
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Cm2:
    """CM2 (arXiv:2602.12268): a checklist that pays each criterion once, when it is first met.

    `trajectory`: the points of all criteria, compared with the group. `turn`: the points of a turn's criteria, compared
    with the group's turns at the same place. `step`: each eligible criterion, met then or later, compared with the
    share of the group that ever met it,

        A_ts = sum over c in E of w_c (r~_tsc - b_tc) / (F sum over c in E of w_c),

    where E, the eligible set, holds the criteria that were not met before the step and all of whose dependencies were.
    A turn here is both the paper's turn and its step. Neutral, as Dr.GRPO on the checklist's points, with the
    assignment `trajectory`.
    """

    assignment: Assignment = "trajectory"
    """The authors found that a finer assignment learns faster and collapses sooner."""
    divisor: float = 1.0
    """F; the authors' recipe has no scale."""
    least: int = 2
    """The minimum number to compare: trajectories of a group, or for `turn` those with a turn at that place; with
    fewer, the advantage is 0. Ours; the authors' code requires 5, in groups of 48."""

    def __post_init__(self) -> None:
        if self.divisor <= 0:
            raise ValueError(f"divisor={self.divisor}: advantages are divided by it; give a number above 0")
        if self.least < 1:
            raise ValueError(f"least={self.least}: a comparison has at least 1; give 1 for no rule")

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Advantage`."""
        advantage_U = checklist_advantages(
            batch.column("met_UC"),
            batch.column("points_RC").to(batch.reward_U.dtype),
            batch.trajectory_U,
            batch.group_R,
            assignment=self.assignment,
            divisor=self.divisor,
            least=self.least,
            open_UC=batch.column("open_UC"),
        )
        return at_tokens(advantage_U, batch)


def checklist_advantages(
    met_UC: Tensor,
    points_RC: Tensor,
    trajectory_U: Tensor,
    group_R: Tensor,
    *,
    assignment: Assignment = "trajectory",
    divisor: float = 1.0,
    least: int = 2,
    open_UC: Tensor | None = None,
) -> Tensor:
    """The advantage of each turn, [U].

    Args:
        met_UC: Not 0 if a criterion held after a turn.
        points_RC: Each criterion's share of all points, equal within a group.
        trajectory_U: The trajectory of each turn, ascending.
        group_R: The group of each trajectory; members are compared.
        assignment: Where a criterion is credited.
        divisor: The divisor of differences.
        least: The minimum number to compare.
        open_UC: Not 0 if all dependencies of a criterion held before the turn. Default: everywhere.
    """
    trajectories = len(group_R)
    first_UC, before_UC = first_satisfaction(met_UC, trajectory_U, trajectories)
    open_UC = torch.ones_like(first_UC) if open_UC is None else open_UC != 0
    weight_UC = points_RC[trajectory_U]
    paid_UC = weight_UC * (first_UC & open_UC).to(weight_UC.dtype)
    owner_R, groups = number_keys(group_R)
    match assignment:
        case "trajectory":
            return_R = sum_over(paid_UC.sum(1), trajectory_U, trajectories)
            off_R = centre(return_R, owner_R, groups) / divisor
            return off_R.masked_fill(_few(owner_R, least), 0.0)[trajectory_U]
        case "turn":
            owner_U, owners = number_keys(torch.stack([owner_R[trajectory_U], places(trajectory_U, trajectories)], 1))
            off_U = centre(paid_UC.sum(1), owner_U, owners) / divisor
            return off_U.masked_fill(_few(owner_U, least), 0.0)
        case "step":
            earned_RC = sum_over((first_UC & open_UC).to(weight_UC.dtype), trajectory_U, trajectories)
            base_UC = mean_over(earned_RC, owner_R, groups)[owner_R][trajectory_U]
            met_RC = sum_over(first_UC.long(), trajectory_U, trajectories)
            eligible_UC = open_UC & ~before_UC
            later_UC = (met_RC[trajectory_U] > 0).to(weight_UC.dtype)
            weight_UC = weight_UC * eligible_UC.to(weight_UC.dtype)
            total_U = weight_UC.sum(1)
            off_U = (weight_UC * (later_UC - base_UC)).sum(1) / total_U.where(total_U > 0, 1.0) / divisor
            return off_U.masked_fill(_few(owner_R, least)[trajectory_U], 0.0)


def first_satisfaction(met_UC: Tensor, trajectory_U: Tensor, trajectories: int) -> tuple[Tensor, Tensor]:
    """Whether each criterion first held at a turn, and whether it had held before the turn, [U, C] each, booleans.

    A criterion that no longer holds still counts as having held: it pays once. None has held before the first turn.
    """
    now_UC = met_UC != 0
    earlier_UC = now_UC.long().cumsum(0) - now_UC.long()
    place_U = places(trajectory_U, trajectories)
    start_U = torch.arange(len(place_U), device=place_U.device) - place_U
    # Criteria met before the turn, minus those met before its trajectory.
    before_UC = earlier_UC > earlier_UC[start_U]
    return now_UC & ~before_UC, before_UC


def _few(owner_X: Tensor, least: int) -> Tensor:
    """Whether fewer than `least` have the same owner, [X], booleans."""
    return torch.bincount(owner_X)[owner_X] < least
