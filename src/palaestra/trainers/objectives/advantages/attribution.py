"""Advantages from a judge's label of each turn. Axes: U turns, R trajectories, G groups."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages.turns import at_tokens, has_rivals, last, turn_returns
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.segments import (
    centre,
    greatest_over,
    least_over,
    mean_over,
    number_keys,
    sum_over,
    variance_over,
)

Scheme: TypeAlias = Literal["allocation", "decoupled"]
"""The outcome's sign distributed over turns by the judge's labels; or the judge's labels alone, whatever the
outcome."""


@part(
    "advantage",
    "adca",
    formula="A_t = sum_{k >= t} (alpha z_g(w_k) + [k last] z_g(R)), sum_k w_k = +-1, or w = +-base",
    sources=("arXiv:2511.10395", "github.com/modelscope/AgentEvolver"),
    confidence="code",
    requires=("label_U",),
    neutral={"alpha": 0.0, "outcome": "last"},
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Adca:
    """ADCA-GRPO (AgentEvolver): a judge labels each turn as good or not, given the outcome.

    With `allocation`, each turn gets a share of the outcome's sign, large if the judge's label fits the outcome and
    small otherwise, so that a trajectory's shares add up to +1 or -1. With `decoupled`, which the authors recommend, a
    good turn gets `base` and any other -`base`. These are normalised over the group, in which each trajectory has the
    same weight. The normalised return is added at the last turn, and the advantage of a turn is the sum from it on. A
    trajectory without rivals has advantage 0, unlike in the authors' code, which compares its turns with each other.
    Neutral, as GRPO with the population's standard deviation, with `alpha` 0 and the outcome at the last turn.
    """

    scheme: Scheme = "allocation"
    """How the judge's labels become rewards of turns."""
    alpha: float = 1.0
    """Weight of the judge's labels, beside the outcome."""
    base: float = 0.2
    """Reward of a good turn with `decoupled`."""
    consistent: float = 1.0
    """The share of a good turn in a success, and of a bad one in a failure."""
    inconsistent: float = 0.2
    """The share of other turns."""
    outcome: Literal["last", "all"] = "last"
    """Where the normalised return is added: at the last turn, or at each."""
    threshold: float = 0.5
    """A return above it is a success; only `allocation` uses it."""
    epsilon: float = 1e-8
    """Added to the variance of shares; also the deviation of returns up to which they are not scaled."""

    def __post_init__(self) -> None:
        if self.base <= 0:
            raise ValueError(f"base={self.base}: a good turn would be worth no more than a bad one; give more than 0")
        if self.consistent < 0 or self.inconsistent < 0 or self.consistent + self.inconsistent == 0:
            raise ValueError(
                f"consistent={self.consistent}, inconsistent={self.inconsistent}: "
                "shares are not negative, and not both 0"
            )

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Advantage`."""
        advantage_U = attributed_advantages(
            batch.column("label_U"),
            batch.return_R,
            batch.trajectory_U,
            batch.group_R,
            scheme=self.scheme,
            alpha=self.alpha,
            base=self.base,
            consistent=self.consistent,
            inconsistent=self.inconsistent,
            outcome=self.outcome,
            threshold=self.threshold,
            epsilon=self.epsilon,
        )
        return at_tokens(advantage_U, batch)


def attributed_advantages(
    label_U: Tensor,
    return_R: Tensor,
    trajectory_U: Tensor,
    group_R: Tensor,
    *,
    scheme: Scheme = "allocation",
    alpha: float = 1.0,
    base: float = 0.2,
    consistent: float = 1.0,
    inconsistent: float = 0.2,
    outcome: Literal["last", "all"] = "last",
    threshold: float = 0.5,
    epsilon: float = 1e-8,
) -> Tensor:
    """The advantage of each turn, [U].

    Args:
        label_U: Not 0 if the judge labels the turn as good.
        return_R: The return of each trajectory.
        trajectory_U: The trajectory of each turn, ascending.
        group_R: The group of each trajectory; members are compared.
        scheme: A setting of `Adca`, like all arguments below.
        alpha: Weight of the judge's labels.
        base: Reward of a good turn with `decoupled`.
        consistent: The share if label and outcome agree.
        inconsistent: The share otherwise.
        outcome: Where the normalised return is added.
        threshold: A return above it is a success.
        epsilon: Against small deviations.
    """
    trajectories = len(group_R)
    if scheme == "decoupled":
        share_U = torch.where(label_U != 0, base, -base).to(return_R.dtype)
    else:
        share_U = shares(
            label_U, return_R > threshold, trajectory_U, consistent=consistent, inconsistent=inconsistent
        ).to(return_R.dtype)
    step_U = alpha * _normalise(share_U, trajectory_U, group_R, epsilon=epsilon)
    owner_R, groups = number_keys(group_R)
    deviation_R = variance_over(return_R, owner_R, groups, ddof=0).sqrt()[owner_R]
    outcome_R = centre(return_R, owner_R, groups) / deviation_R.where(deviation_R > epsilon, 1.0)
    outcome_U = outcome_R[trajectory_U]
    if outcome == "last":
        outcome_U = outcome_U.masked_fill(~last(trajectory_U, trajectories), 0.0)
    advantage_U = turn_returns(step_U + outcome_U, trajectory_U, trajectories)
    return advantage_U.masked_fill(~has_rivals(group_R)[trajectory_U], 0.0)


def shares(
    label_U: Tensor, success_R: Tensor, trajectory_U: Tensor, *, consistent: float = 1.0, inconsistent: float = 0.2
) -> Tensor:
    """Each turn's share of the outcome's sign, [U], float64; those of a trajectory add up to +1 or -1.

    They add up to 0 if all its shares are 0.
    """
    success_U = success_R[trajectory_U]
    agrees_U = (label_U != 0) == success_U
    size_U = torch.full(agrees_U.shape, inconsistent, dtype=torch.float64, device=agrees_U.device)
    size_U = size_U.masked_fill(agrees_U, consistent)
    total_U = sum_over(size_U, trajectory_U, len(success_R))[trajectory_U]
    share_U = size_U / total_U.where(total_U > 0, 1.0)
    return torch.where(success_U, share_U, -share_U)


def _normalise(share_U: Tensor, trajectory_U: Tensor, group_R: Tensor, *, epsilon: float) -> Tensor:
    """Normalise by the mean and deviation of the group's turns, with equal weight for each trajectory."""
    trajectories = len(group_R)
    played_R = torch.bincount(trajectory_U, minlength=trajectories) > 0
    owner_R, groups = number_keys(group_R)
    owner_U, some_R = owner_R[trajectory_U], owner_R[played_R]
    mean_G = mean_over(mean_over(share_U, trajectory_U, trajectories)[played_R], some_R, groups)
    equal_G = least_over(share_U, owner_U, groups) == greatest_over(share_U, owner_U, groups)
    off_U = (share_U - mean_G[owner_U]).masked_fill(equal_G[owner_U], 0.0)
    variance_G = mean_over(mean_over(off_U.square(), trajectory_U, trajectories)[played_R], some_R, groups)
    return off_U / (variance_G + epsilon).sqrt()[owner_U]
