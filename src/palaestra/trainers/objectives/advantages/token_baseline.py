"""A group baseline for every token: OTB. Axes: T tokens, N trained tokens, R trajectories, P places in groups."""

from dataclasses import dataclass

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages.rows import Rows
from palaestra.trainers.objectives.advantages.weighted import off_weighted_mean
from palaestra.trainers.objectives.advantages.whitened import returns_to_go
from palaestra.trainers.objectives.advantages.written import token_rewards
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.segments import number_keys


@part(
    "advantage",
    "otb",
    formula="A = G - sum_g G W / sum_g W at the t-th trained token, W = sum_(j <= t) (1 - 2 p + sum_v p_v^2) k^2",
    sources=("arXiv:2602.07078", "github.com/volcengine/verl"),
    confidence="code",
    requires=("old_T", "square_T"),
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Otb:
    """Future rewards minus the group's optimal baseline at each token (OTB), from forward passes only.

    The t-th trained tokens of a group's trajectories are compared. Each is weighted by the sum of its logits' gradients
    so far, as a proxy for the gradient of its log-probability. A trajectory that is alone in its group has baseline 0:
    its advantage is its future reward.
    """

    zero_tail: bool = True
    """Whether the baseline is 0 after the end of the second-longest trajectory, where the longest is alone; otherwise
    the longest is its own baseline there, and has advantage 0."""
    most: float | None = None
    """The maximum of k, the ratio to the weights that drew the token. Default: k = 1."""

    def __post_init__(self) -> None:
        if self.most is not None and self.most <= 0:
            raise ValueError(f"most={self.most}: no token would count in a baseline; give a number above 0, or none")

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Advantage`."""
        own_T = batch.trained_T
        to_go_T = returns_to_go(token_rewards(batch), batch, gamma=1.0)
        rows = Rows.of(batch.trajectory_T[own_T], batch.trajectories)
        weight_N = rows.gather(rows.spread(self._energy(batch)[own_T]).cumsum(1))
        advantage_N = token_baseline(
            to_go_T[own_T].to(weight_N.dtype),
            weight_N,
            batch.group_R[rows.owner_X],
            rows.place_X,
            zero_tail=self.zero_tail,
        )
        return advantage_N.new_zeros(len(own_T)).masked_scatter(own_T, advantage_N)

    def _energy(self, batch: TokenBatch) -> Tensor:
        energy_T = squared_logit_gradient(batch)
        if self.most is None:
            return energy_T
        return energy_T * (batch.column("old_T") - batch.logprob_T).exp().clamp_max(self.most).square()


def squared_logit_gradient(batch: TokenBatch) -> Tensor:
    """The squared norm of the gradient of each token's log-probability in its logits, [T]: 1 - 2 p + sum_v p_v^2."""
    # It is a square: below 0 is rounding.
    return (1 - 2 * batch.column("old_T").exp() + batch.column("square_T")).clamp_min(0)


def token_baseline(
    to_go_N: Tensor, weight_N: Tensor, group_N: Tensor, place_N: Tensor, *, zero_tail: bool = True
) -> Tensor:
    """The future reward of each token minus the weighted mean over the tokens at its place in its group, [N].

    Args:
        to_go_N: The rewards of the token and later ones.
        weight_N: The token's weight in the mean.
        group_N: The group of its trajectory.
        place_N: The number of trained tokens before it in its trajectory.
        zero_tail: Whether a token that is alone at its place has baseline 0; otherwise its advantage is 0. The only
            trajectory of a group always has baseline 0.
    """
    owner_N, owners = number_keys(torch.stack([group_N, place_N], 1))
    group_of_N, groups = number_keys(group_N)
    begun_G = torch.bincount(group_of_N[place_N == 0], minlength=groups)
    alone_N = (torch.bincount(owner_N, minlength=owners) == 1)[owner_N]
    bare_N = alone_N if zero_tail else alone_N & (begun_G == 1)[group_of_N]
    return off_weighted_mean(to_go_N, weight_N, owner_N, owners).where(~bare_N, to_go_N)
