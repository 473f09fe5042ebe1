"""Advantages with a critic: GAE and VAPO. Axes: T tokens, R trajectories, O owners, L places in a row.

All run over trained tokens only: tokens of others between them neither discount nor have rewards. The end of a
trajectory has value 0, even if it was cut short, since the critic does not predict what would have followed.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages.discounts import discount, following, refuse_beyond_one
from palaestra.trainers.objectives.advantages.rows import Rows
from palaestra.trainers.objectives.advantages.whitened import whiten
from palaestra.trainers.objectives.advantages.written import token_rewards
from palaestra.trainers.objectives.part import part


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimates:
    """Advantages and the critic's targets; 0 for tokens that are not trained."""

    advantage_T: Tensor
    """Advantages before any whitening."""
    target_T: Tensor
    """The critic's targets."""


class ValueAdvantage(ABC):
    """An advantage that reads one value of each trained token; see `ValueReader`."""

    __slots__ = ()

    @abstractmethod
    def estimates(self, batch: TokenBatch) -> Estimates:
        """Advantages before whitening, and the critic's targets."""

    @property
    def column(self) -> str:
        """See `ValueReader`."""
        return "value_T"

    @property
    def heads(self) -> int:
        """See `ValueReader`."""
        return 1

    def targets(self, batch: TokenBatch) -> Tensor:
        """See `ValueReader`."""
        return self.estimates(batch).target_T


def gae(reward_OL: Tensor, value_OL: Tensor, *, gamma: float, lam: float | Tensor) -> Tensor:
    """Generalised advantages (arXiv:1506.02438, eq. 16), [O, L]; with the values added, the critic's targets.

    delta(l) = r(l) + gamma V(l + 1) - V(l) and A(l) = delta(l) + gamma lam A(l + 1), both 0 after the last.

    Args:
        reward_OL: The reward at each place; 0 after each row's last.
        value_OL: The critic's value at each place; 0 after each row's last.
        gamma: Discount from place to place.
        lam: Lambda of GAE; one, or one for each row, [O, 1].
    """
    return discount(reward_OL + gamma * following(value_OL) - value_OL, gamma * lam)


def gae_estimates(batch: TokenBatch, *, gamma: float, lam: float | Tensor) -> Estimates:
    """GAE over tokens.

    Args:
        batch: The batch, with the critic's `value_T`.
        gamma: Discount from one trained token to the next.
        lam: Lambda of GAE; one, or one for each trajectory, [R, 1].
    """
    own_T = batch.trained_T
    rows = Rows.of(batch.trajectory_T[own_T], batch.trajectories)
    value_T = batch.column("value_T")
    reward_OL = rows.spread(token_rewards(batch)[own_T].to(value_T.dtype))
    value_OL = rows.spread(value_T[own_T])
    advantage_OL = gae(reward_OL, value_OL, gamma=gamma, lam=lam)
    zero_T = torch.zeros_like(value_T)
    return Estimates(
        advantage_T=zero_T.masked_scatter(own_T, rows.gather(advantage_OL)),
        target_T=zero_T.masked_scatter(own_T, rows.gather(advantage_OL + value_OL)),
    )


@part(
    "advantage",
    "gae",
    formula="A = whiten(sum_k (gamma lam)^k delta_(t + k)), delta = r + gamma V' - V",
    sources=("arXiv:1506.02438", "arXiv:1707.06347", "github.com/volcengine/verl"),
    confidence="code",
    requires=("value_T",),
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Gae(ValueAdvantage):
    """Generalised advantage estimation (PPO). With lam = gamma = 1 it is the future return minus the critic's value."""

    gamma: float = 1.0
    """Discount from one trained token to the next."""
    lam: float = 1.0
    """Lambda of GAE: from 0 for one token to 1 for the whole trajectory."""
    whiten: bool = True
    """Whether advantages are normalised to mean 0 and deviation 1 over all trained tokens."""

    def __post_init__(self) -> None:
        refuse_beyond_one(gamma=self.gamma, lam=self.lam)

    def estimates(self, batch: TokenBatch) -> Estimates:
        """See `ValueAdvantage`."""
        return gae_estimates(batch, gamma=self.gamma, lam=self.lam)

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Advantage`."""
        advantage_T = self.estimates(batch).advantage_T
        return whiten(advantage_T, batch.trained_T) if self.whiten else advantage_T


@part(
    "advantage",
    "vapo",
    formula="gae with lam = max(0, 1 - 1 / (alpha T)); the critic's targets with lam = 1",
    sources=("arXiv:2504.05118", "github.com/NVIDIA-NeMo/RL"),
    confidence="code",
    requires=("value_T",),
    neutral={"alpha": float("inf")},
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Vapo(ValueAdvantage):
    """GAE with a larger lambda for longer trajectories (VAPO); neutral, it is GAE with lam = 1.

    The paper's other parts are elsewhere: a critic trained before the policy, `token-mean`, bounds of 0.2 and 0.28, and
    0.1 times the negative log-likelihood of tokens of solved tasks.
    """

    alpha: float = 0.05
    """The horizon as a share of the trained tokens: with T of them, lam is 1 - 1 / (alpha T), at least 0."""
    critic_lam: float = 1.0
    """Lambda of the critic's targets."""
    gamma: float = 1.0
    """Discount from one trained token to the next."""
    whiten: bool = True
    """Whether advantages are normalised to mean 0 and deviation 1 over all trained tokens, as in PPO."""

    def __post_init__(self) -> None:
        refuse_beyond_one(gamma=self.gamma, critic_lam=self.critic_lam)
        if self.alpha <= 0:
            raise ValueError(f"alpha={self.alpha}: lam is 1 - 1 / (alpha T); give a number above 0")

    def lam(self, tokens_R: Tensor) -> Tensor:
        """Lambda of trajectories with these numbers of trained tokens, [R]."""
        return (1 - 1 / (self.alpha * tokens_R.clamp_min(1))).clamp_min(0)

    def estimates(self, batch: TokenBatch) -> Estimates:
        """Advantages before whitening, and the critic's targets, each with its own lambda."""
        tokens_R = torch.bincount(batch.trajectory_T[batch.trained_T], minlength=batch.trajectories)
        lam_R = self.lam(tokens_R.to(batch.column("value_T").dtype))
        policy = gae_estimates(batch, gamma=self.gamma, lam=lam_R[:, None])
        critic = gae_estimates(batch, gamma=self.gamma, lam=self.critic_lam)
        return Estimates(advantage_T=policy.advantage_T, target_T=critic.target_T)

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Advantage`."""
        advantage_T = self.estimates(batch).advantage_T
        return whiten(advantage_T, batch.trained_T) if self.whiten else advantage_T
