"""REINFORCE++: advantages normalised over all trained tokens. Axes: T tokens, N trained tokens."""

from dataclasses import dataclass

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages.discounts import discount, refuse_beyond_one
from palaestra.trainers.objectives.advantages.group import group_advantages
from palaestra.trainers.objectives.advantages.rows import Rows
from palaestra.trainers.objectives.advantages.written import token_rewards
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.segments import centre, variance_over

_FLOOR = 1e-8
"""The constant that verl adds to a variance, so that values that differ only by rounding stay near 0."""

_TWICE = "the distance from the reference would be paid for twice"


@part(
    "advantage",
    "reinforce-pp",
    formula="A = whiten(sum_(k >= t) gamma^(k - t) r_k), k over trained tokens",
    sources=("arXiv:2501.03262", "github.com/OpenRLHF/OpenRLHF", "github.com/volcengine/verl"),
    confidence="code",
)
@dataclass(frozen=True, slots=True, kw_only=True)
class ReinforcePlus:
    """The future reward of each token, normalised over all trained tokens of the batch (REINFORCE++).

    Tokens that are not trained do not discount: the next trained token follows directly.
    """

    gamma: float = 1.0
    """Discount from one trained token to the next."""

    def __post_init__(self) -> None:
        refuse_beyond_one(gamma=self.gamma)

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Advantage`."""
        return whiten(returns_to_go(token_rewards(batch), batch, gamma=self.gamma), batch.trained_T)


@part(
    "advantage",
    "reinforce-pp-kl",
    formula="A = whiten(sum_(k >= t) gamma^(k - t) (r_k - beta (log old_k - log ref_k)))",
    sources=("arXiv:2501.03262", "github.com/OpenRLHF/OpenRLHF", "github.com/volcengine/verl"),
    confidence="code",
    requires=("old_T", "ref_T"),
    neutral={"beta": 0.0},
    conflicts={"regulariser/kl": _TWICE, "reward/kl-in-reward": _TWICE},
)
@dataclass(frozen=True, slots=True, kw_only=True)
class ReinforcePlusKl:
    """REINFORCE++ with a KL penalty to the reference policy at each token; neutral, it is `reinforce-pp`."""

    beta: float
    """The penalty per nat; papers' values differ, so there is no default."""
    gamma: float = 1.0
    """Discount from one trained token to the next."""

    def __post_init__(self) -> None:
        refuse_beyond_one(gamma=self.gamma)
        if self.beta < 0:
            raise ValueError(f"beta={self.beta}: leaving the reference policy would pay; give 0 or more")

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Advantage`."""
        far_T = (batch.column("old_T") - batch.column("ref_T")).masked_fill(~batch.trained_T, 0.0)
        reward_T = token_rewards(batch) - self.beta * far_T
        return whiten(returns_to_go(reward_T, batch, gamma=self.gamma), batch.trained_T)


@part(
    "advantage",
    "reinforce-pp-baseline",
    formula="A = whiten(R - mean_g R)",
    sources=("arXiv:2501.03262", "github.com/OpenRLHF/OpenRLHF", "github.com/volcengine/verl"),
    confidence="code",
)
def reinforce_plus_baseline(batch: TokenBatch, /) -> Tensor:
    """Returns minus the group's mean, then normalised over all trained tokens of the batch (REINFORCE++-baseline)."""
    advantage_R = group_advantages(batch.return_R, batch.group_R, scale="none")
    return whiten(advantage_R[batch.trajectory_T], batch.trained_T)


def returns_to_go(reward_T: Tensor, batch: TokenBatch, *, gamma: float) -> Tensor:
    """The discounted rewards of each trained token and later ones in its trajectory, [T]; 0 elsewhere.

    Args:
        reward_T: The reward of each token, read only at trained ones.
        batch: The batch, with trained tokens and their trajectories.
        gamma: Discount from one trained token to the next.
    """
    own_T = batch.trained_T
    rows = Rows.of(batch.trajectory_T[own_T], batch.trajectories)
    found_N = rows.gather(discount(rows.spread(reward_T[own_T]), gamma))
    return reward_T.new_zeros(len(reward_T)).masked_scatter(own_T, found_N)


def whiten(value_T: Tensor, own_T: Tensor) -> Tensor:
    """Values minus their mean, over their standard deviation (the sample's), [T].

    Exactly 0 if all are equal, or if there is only one.

    Args:
        value_T: The value of each token.
        own_T: The tokens to use; the result is 0 elsewhere.
    """
    value_N = value_T[own_T]
    whole_N = value_N.new_zeros(len(value_N)).long()
    off_N = centre(value_N, whole_N, 1) / (variance_over(value_N, whole_N, 1) + _FLOOR).sqrt()
    return value_T.new_zeros(len(value_T)).masked_scatter(own_T, off_N)
