"""REINFORCE++: advantages over the mean of all trained tokens, in its deviations. Axes: T tokens, N trained tokens."""

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
"""What verl adds to a variance: what is equal but for rounding stays next to 0."""

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
    """What each token is still followed by, against all trained tokens of the batch (REINFORCE++).

    Tokens that nobody trains on do not discount: the next trained one follows at once.
    """

    gamma: float = 1.0
    """What the next trained token's return is worth."""

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
    """REINFORCE++ with a price, at each token, on leaving the reference policy; neutral, it is `reinforce-pp`."""

    beta: float
    """What a nat costs; papers' values differ, so there is no default."""
    gamma: float = 1.0
    """What the next trained token's return is worth."""

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
    """Over the group's mean, then against all trained tokens of the batch (REINFORCE++-baseline)."""
    advantage_R = group_advantages(batch.return_R, batch.group_R, scale="none")
    return whiten(advantage_R[batch.trajectory_T], batch.trained_T)


def returns_to_go(reward_T: Tensor, batch: TokenBatch, *, gamma: float) -> Tensor:
    """What each trained token and those behind it in its trajectory were paid, [T]; 0 elsewhere.

    Args:
        reward_T: Of each token; read at trained ones.
        batch: Which are, and whose.
        gamma: What the next trained token's is worth.
    """
    own_T = batch.trained_T
    rows = Rows.of(batch.trajectory_T[own_T], batch.trajectories)
    found_N = rows.gather(discount(rows.spread(reward_T[own_T]), gamma))
    return reward_T.new_zeros(len(reward_T)).masked_scatter(own_T, found_N)


def whiten(value_T: Tensor, own_T: Tensor) -> Tensor:
    """Values less their mean, over their standard deviation (the sample's), [T].

    Exactly 0 where all are equal, and where there is only one.

    Args:
        value_T: Of each token.
        own_T: The tokens that this is about; 0 elsewhere.
    """
    value_N = value_T[own_T]
    whole_N = value_N.new_zeros(len(value_N)).long()
    off_N = centre(value_N, whole_N, 1) / (variance_over(value_N, whole_N, 1) + _FLOOR).sqrt()
    return value_T.new_zeros(len(value_T)).masked_scatter(own_T, off_N)
