"""Rewards that replace the rubric's points in training; scores and reports remain those of the rubric.

Axes: U turns, R trajectories.
"""

from dataclasses import dataclass, replace
from math import isfinite, isnan

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.rewards.last import pay_at_end
from palaestra.trainers.objectives.segments import sum_over


@part(
    "reward",
    "solved",
    formula="R = amount where passed, else 0",
    requires=("passed_R",),
    conflicts={
        "reward/bounded": "a return that is the amount or 0 needs no bounds",
        "reward/harm-scale": "nothing is taken for harm, so giving a part of it back would pay for harm",
    },
)
@dataclass(frozen=True, slots=True, kw_only=True)
class PaySolved:
    """The outcome alone, at the last turn: points, harm and look-ups have no reward."""

    amount: float = 1.0
    """The return of a solved task; equal to the objective's unit, if it has one."""

    def __post_init__(self) -> None:
        if not (isfinite(self.amount) and self.amount > 0):
            raise ValueError(f"amount={self.amount}: what a solved task returns is a finite number above 0")

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Reward`."""
        earned_R = self.amount * (batch.column("passed_R") > 0).to(batch.reward_U.dtype)
        unpaid = replace(batch, reward_U=batch.reward_U.new_zeros(batch.reward_U.shape))
        return pay_at_end(earned_R, unpaid)


@part(
    "reward",
    "bounded",
    formula="R = min(max(R, least), most)",
    neutral={"least": None, "most": None},
)
@dataclass(frozen=True, slots=True, kw_only=True)
class PayBounded:
    """Limits returns to bounds, in the objective's unit; the last turn gets the difference.

    With only a floor of 0, episodes that never end are as good as harmful ones, and policies stall. Reward an end, or
    add `unfinished`.
    """

    least: float | None = 0.0
    """The minimum return; `None` for no bound."""
    most: float | None = None
    """The maximum return; `None` for no bound."""

    def __post_init__(self) -> None:
        _check_bounds(least=self.least, most=self.most)
        if self.least is not None and self.most is not None and not self.least < self.most:
            raise ValueError(f"least={self.least}, most={self.most}: least must be below most")

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Reward`."""
        if self.least is None and self.most is None:
            return batch.reward_U
        paid_R = _returns(batch)
        return pay_at_end(paid_R.clamp(self.least, self.most) - paid_R, batch)


@part(
    "reward",
    "harm-scale",
    formula="r_u - (factor - 1) harm_u",
    requires=("harm_U",),
    neutral={"factor": 1.0},
)
@dataclass(frozen=True, slots=True, kw_only=True)
class PayHarmScale:
    """Another penalty of harm: `factor` times the points that prohibitions took."""

    factor: float
    """0 for no penalty, 1 for the rubric's."""

    def __post_init__(self) -> None:
        if not (isfinite(self.factor) and self.factor >= 0):
            raise ValueError(f"factor={self.factor}: a price of harm is a finite number that is not negative")

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Reward`."""
        return batch.reward_U - (self.factor - 1) * batch.column("harm_U").to(batch.reward_U.dtype)


@part(
    "reward",
    "unfinished",
    formula="R = min(R, most) where the episode is unfinished",
    requires=("unfinished_R",),
    neutral={"most": None},
)
@dataclass(frozen=True, slots=True, kw_only=True)
class PayUnfinished:
    """An upper bound on the returns of unfinished episodes; the last turn gets the difference."""

    most: float | None = 0.0
    """The maximum return of an unfinished episode, in the objective's unit; `None` for no bound."""

    def __post_init__(self) -> None:
        _check_bounds(most=self.most)

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Reward`."""
        if self.most is None:
            return batch.reward_U
        paid_R = _returns(batch)
        change_R = (paid_R.clamp_max(self.most) - paid_R).masked_fill(batch.column("unfinished_R") == 0, 0.0)
        return pay_at_end(change_R, batch)


def _check_bounds(**bounds: float | None) -> None:
    for name, bound in bounds.items():
        if bound is not None and isnan(bound):
            raise ValueError(f"{name}={bound}: every return would become NaN; give a number")


def _returns(batch: TokenBatch) -> Tensor:
    """The return of each trajectory, [R]."""
    return sum_over(batch.reward_U, batch.trajectory_U, batch.trajectories)
