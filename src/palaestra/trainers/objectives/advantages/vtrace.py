"""V-trace: advantages with a critic for turns that other weights sampled.

Axes: T tokens, W turns with trained tokens, O owners, L places in a row.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages.critic import Estimates, ValueAdvantage
from palaestra.trainers.objectives.advantages.discounts import discount, following, refuse_beyond_one
from palaestra.trainers.objectives.advantages.rows import Rows
from palaestra.trainers.objectives.advantages.written import trained_turns
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.segments import sum_over

_MOST = 20.0
_TWICE = "advantages carry the ratio to the weights that drew the tokens already"


@dataclass(frozen=True, slots=True, kw_only=True)
class VTraceValues:
    """The results of V-trace in rows."""

    advantage_OL: Tensor
    target_OL: Tensor
    """The critic's targets."""


def vtrace(
    reward_OL: Tensor,
    value_OL: Tensor,
    ratio_OL: Tensor,
    *,
    gamma: float = 1.0,
    lam: float = 1.0,
    most: float = 1.0,
    most_gradient: float = 1.0,
) -> VTraceValues:
    """V-trace (arXiv:1802.01561, section 4.1).

    acc(l) = min(most, ratio) (r + gamma V(l + 1) - V) + gamma lam min(1, ratio) acc(l + 1), targets V + acc, and
    A = min(most_gradient, ratio) (r + gamma (lam target(l + 1) + (1 - lam) V(l + 1)) - V).

    Args:
        reward_OL: The reward at each place; 0 after each row's last.
        value_OL: The critic's value at each place; 0 after each row's last.
        ratio_OL: The probability under the current weights over that under the sampling weights.
        gamma: Discount from place to place.
        lam: Lambda of V-trace.
        most: The maximum ratio in a difference.
        most_gradient: The maximum ratio in an advantage.
    """
    next_OL = following(value_OL)
    delta_OL = ratio_OL.clamp_max(most) * (reward_OL + gamma * next_OL - value_OL)
    target_OL = value_OL + discount(delta_OL, gamma * lam * ratio_OL.clamp_max(1.0))
    ahead_OL = lam * following(target_OL) + (1 - lam) * next_OL
    advantage_OL = ratio_OL.clamp_max(most_gradient) * (reward_OL + gamma * ahead_OL - value_OL)
    return VTraceValues(advantage_OL=advantage_OL, target_OL=target_OL)


@part(
    "advantage",
    "v-trace",
    formula="A = min(c, rho) (r + gamma (lam v' + (1 - lam) V') - V), v = V + acc, turn by turn",
    sources=("arXiv:1802.01561", "github.com/google-deepmind/rlax"),
    confidence="code",
    requires=("value_T", "old_T"),
    conflicts={"ratio.anchor=rollout": f"{_TWICE}; take ratio.anchor old or none", "correction/*": _TWICE},
)
@dataclass(frozen=True, slots=True, kw_only=True)
class VTrace(ValueAdvantage):
    """V-trace over turns: a turn's ratio is the product over its tokens, its value that of its first trained token.

    All tokens of a turn have its advantage. If all ratios are 1, the targets are GAE's.
    """

    gamma: float = 1.0
    """Discount from turn to turn."""
    lam: float = 1.0
    """Lambda of V-trace."""
    most: float = 1.0
    """The maximum ratio in a difference; if finite, the critic's values are those of a policy between the two."""
    most_gradient: float = 1.0
    """The maximum ratio in an advantage."""

    def __post_init__(self) -> None:
        refuse_beyond_one(gamma=self.gamma, lam=self.lam)
        for name, value in (("most", self.most), ("most_gradient", self.most_gradient)):
            if value <= 0:
                raise ValueError(f"{name}={value}: no turn would teach anything; give a number above 0")

    def estimates(self, batch: TokenBatch) -> Estimates:
        """Advantages and the critic's targets, at every token of a turn those of its start."""
        own_T, value_T = batch.trained_T, batch.column("value_T")
        turns = trained_turns(batch)
        off_N = (batch.column("old_T") - batch.logprob_T)[own_T].to(value_T.dtype)
        ratio_W = sum_over(off_N, turns.turn_N, turns.turns).clamp(-_MOST, _MOST).exp()
        rows = Rows.of(turns.trajectory_W, batch.trajectories)
        traced = vtrace(
            rows.spread(turns.reward_W.to(value_T.dtype)),
            rows.spread(value_T[own_T][turns.first_W]),
            rows.spread(ratio_W),
            gamma=self.gamma,
            lam=self.lam,
            most=self.most,
            most_gradient=self.most_gradient,
        )
        zero_T = torch.zeros_like(value_T)
        return Estimates(
            advantage_T=zero_T.masked_scatter(own_T, rows.gather(traced.advantage_OL)[turns.turn_N]),
            target_T=zero_T.masked_scatter(own_T, rows.gather(traced.target_OL)[turns.turn_N]),
        )

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Advantage`."""
        return self.estimates(batch).advantage_T
