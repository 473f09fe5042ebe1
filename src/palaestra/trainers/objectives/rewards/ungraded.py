"""Points without grades, in place of the rubric's price of acting. Axes: U turns, R trajectories, L layers."""

from dataclasses import dataclass

import torch
from torch import Tensor

from palaestra.records import LAYERS
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.limits import check_above_zero
from palaestra.trainers.objectives.part import part

_LOOKUPS = LAYERS.index("selection")
_ROUNDING = 1e-4
"""What a whole number of harms may be above itself once it was converted to the objective's unit."""


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
    """What expectations win, less one price of every harm, without the rubric's rules about ends.

    With the defaults look-ups win a fifth of a solved task together, in place of a twentieth; an episode that is
    unfinished or given up keeps what it has won; an admission wins nothing of its own, and messages keep their points
    without an outcome; work that was done before its look-ups wins nothing; and a harm costs as much as a solved task
    returns, however small it is and whether or not it is undone.

    Each turn is paid what changed in it. `l` is the share of the rubric's points that its look-ups are worth; where it
    is 0 or 1 there is nothing to weigh, and both factors are 1. What prohibitions took in a turn (`harm_U`) is rounded
    up to a multiple of the price, so a change and the slip that it is are one harm, as a rule; two small harms in one
    turn may be one as well.
    """

    lookups: float = 0.2
    """What share of a solved task's return all look-ups win together, where other work is expected too."""
    harm: float = 1.0
    """What a harm costs, in the objective's unit; above 0."""

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
        """What the points of each layer are multiplied with, [R, L]."""
        own_R = shares_RL[:, _LOOKUPS]
        has_both_R = (own_R > 0) & (own_R < 1)
        share_R = torch.where(has_both_R, own_R, 0.5)  # nothing is divided by 0
        lookups_R = torch.where(has_both_R, self.lookups / share_R, 1.0)
        work_R = torch.where(has_both_R, (1 - self.lookups) / (1 - share_R), 1.0)
        factor_RL = work_R[:, None].repeat(1, shares_RL.shape[1])
        factor_RL[:, _LOOKUPS] = lookups_R
        return factor_RL
