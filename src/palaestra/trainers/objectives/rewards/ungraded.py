"""The points of expectations minus a fixed penalty of harm. Axes: U turns, R trajectories, L layers."""

from dataclasses import dataclass

import torch
from torch import Tensor

from palaestra.records import LAYERS
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.limits import check_above_zero
from palaestra.trainers.objectives.part import part

_LOOKUPS = LAYERS.index("selection")
_ROUNDING = 1e-4
"""The tolerance by which a whole number of harms may exceed itself after the conversion to the objective's unit."""


@part(
    "reward",
    "ungraded",
    formula="r_u = a lookups_u + b work_u - harm ceil(harm_u+ / harm); a = lookups / l, b = (1 - lookups) / (1 - l)",
    requires=("won_UL", "shares_RL", "harm_U"),
    conflicts={
        "reward/solved": "each pays something else in place of the rubric's points, and only the last would count",
        "reward/flipped": "what a wrong verdict takes or gives is in the rubric's points, which are not paid",
        "reward/harm-scale": "each sets the price of harm",
    },
)
@dataclass(frozen=True, slots=True, kw_only=True)
class PayUngraded:
    """The points that expectations win, minus one penalty for every harm, without the rubric's rules about ends.

    With the defaults, look-ups win a fifth of a solved task's return together, instead of a twentieth. An episode that
    is unfinished or given up keeps what it has won. An admission wins nothing itself, and messages keep their points
    without an outcome. Work before its look-ups wins nothing. A harm costs the return of a solved task, whatever its
    size and even if it is undone.

    Each turn gets the changes of that turn. `l` is the share of the rubric's points for look-ups; if it is 0 or 1, both
    factors are 1. The points that prohibitions took in a turn (`harm_U`) are rounded up to a multiple of the penalty.
    So a wrong change that breaks two prohibitions usually counts as one harm; two small harms in one turn may count as
    one as well.
    """

    lookups: float = 0.2
    """The share of a solved task's return that all look-ups win together, if other work is expected too."""
    harm: float = 1.0
    """The penalty of a harm, in the objective's unit; above 0."""

    def __post_init__(self) -> None:
        if not 0 <= self.lookups <= 1:
            raise ValueError(f"lookups={self.lookups}: a share of what a solved task returns lies between 0 and 1")
        check_above_zero(harm=self.harm)

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Reward`."""
        won_UL = batch.column("won_UL").to(batch.reward_U.dtype)
        factor_UL = self._factors(batch.column("shares_RL").to(won_UL.dtype))[batch.trajectory_U]
        harms_U = (batch.column("harm_U").to(won_UL.dtype).clamp_min(0.0) / self.harm - _ROUNDING).ceil()
        return (factor_UL * won_UL).sum(1) - self.harm * harms_U

    def _factors(self, shares_RL: Tensor) -> Tensor:
        """The factor for the points of each layer, [R, L]."""
        own_R = shares_RL[:, _LOOKUPS]
        has_both_R = (own_R > 0) & (own_R < 1)
        share_R = torch.where(has_both_R, own_R, 0.5)  # avoids a division by 0
        lookups_R = torch.where(has_both_R, self.lookups / share_R, 1.0)
        work_R = torch.where(has_both_R, (1 - self.lookups) / (1 - share_R), 1.0)
        factor_RL = work_R[:, None].repeat(1, shares_RL.shape[1])
        factor_RL[:, _LOOKUPS] = lookups_R
        return factor_RL
