"""Group relative policy optimisation (Shao et al. 2024, arXiv:2402.03300), without the KL term (beta = 0).

Nothing has to hold the policy near a reference where the reward is a program's. Axes: T tokens, R trajectories,
G groups, N trained tokens.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.objective import Metrics, Totals
from palaestra.trainers.objectives.trust import Clip, Surrogate

_LOG_RATIO = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Grpo:
    """PPO's clipped surrogate, weighed by how much better each trajectory is than its group.

    The loss (eq. 3 of the paper) is the mean over trajectories of the mean over each one's trained tokens.
    """

    clip_low: float = 0.2
    """How far below 1 the ratio may fall before a loss is cut off."""
    clip_high: float = 0.2
    """How far above 1 the ratio may rise before a gain is cut off."""
    epsilon: float = 1e-6
    """Keeps a group of nearly equal returns finite."""

    def advantages(self, batch: TokenBatch) -> Tensor:
        """Each trajectory's `group_advantages`, at each of its trained tokens, [T]."""
        advantage_R = group_advantages(batch.return_R, batch.group_R, epsilon=self.epsilon)
        return advantage_R[batch.trajectory_T].masked_fill(~batch.trained_T, 0.0)

    def loss(self, logp_T: Tensor, entropy_T: Tensor, batch: TokenBatch, totals: Totals) -> tuple[Tensor, Metrics]:
        """See `Objective.loss`; `clip_fraction` is the share of trained tokens whose gradient the clip cuts off."""
        del entropy_T
        # What is masked may be anything, infinities too: it is out before it meets any arithmetic.
        own_T = batch.trained_T
        logp_N, anchor_N = logp_T[own_T], batch.logprob_T.detach()[own_T]
        log_ratio_N = (logp_N - anchor_N).clamp(-_LOG_RATIO, _LOG_RATIO)
        advantage_N = batch.advantage_T.detach()[own_T]
        clip = Clip(low=self.clip_low, high=self.clip_high)
        loss_N = clip(Surrogate(logp_N=logp_N, log_ratio_N=log_ratio_N, anchor_N=anchor_N, advantage_N=advantage_N))
        loss = trajectory_means(loss_N, batch).sum() / totals.trajectories
        ratio_N = log_ratio_N.detach().exp()
        clipped_N = ((advantage_N > 0) & (ratio_N > 1 + clip.high)) | ((advantage_N < 0) & (ratio_N < 1 - clip.low))
        return loss, {"clip_fraction": clipped_N.sum().item() / totals.tokens}


def group_advantages(return_R: Tensor, group_R: Tensor, *, epsilon: float = 1e-6) -> Tensor:
    """How much better each trajectory is than its group: (R - mean) / (std + epsilon).

    Args:
        return_R: Of each trajectory.
        group_R: Integers in any order; trajectories that are compared have the same.
        epsilon: Keeps a group of nearly equal returns finite.

    Returns:
        [R]. Exactly 0 for a group of equal returns and for a group of one. The standard deviation is the sample's
        (n - 1).
    """
    assert return_R.shape == group_R.shape, f"returns {return_R.shape}, groups {group_R.shape}"
    _, place_R, count_G = group_R.unique(return_inverse=True, return_counts=True)
    zero_G = return_R.new_zeros(len(count_G))
    off_R = return_R - (zero_G.index_add(0, place_R, return_R) / count_G)[place_R]
    variance_G = zero_G.index_add(0, place_R, off_R.square()) / (count_G - 1).clamp_min(1)
    least_G = zero_G.scatter_reduce(0, place_R, return_R, "amin", include_self=False)
    most_G = zero_G.scatter_reduce(0, place_R, return_R, "amax", include_self=False)
    advantage_R: Tensor = off_R / (variance_G.sqrt() + epsilon)[place_R]
    return advantage_R.masked_fill((least_G == most_G)[place_R], 0.0)


def trajectory_means(value_N: Tensor, batch: TokenBatch) -> Tensor:
    """The mean over each trajectory's trained tokens, of a value of each of them, [R]; 0 for one that has none."""
    place_N = batch.trajectory_T[batch.trained_T]
    zero_R = value_N.new_zeros(batch.trajectories)
    sum_R = zero_R.index_add(0, place_N, value_N)
    count_R = zero_R.index_add(0, place_N, torch.ones_like(place_N, dtype=value_N.dtype))
    return sum_R / count_R.clamp_min(1)
