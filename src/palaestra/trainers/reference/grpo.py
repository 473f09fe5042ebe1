"""Group relative policy optimisation (Shao et al. 2024, arXiv:2402.03300), as pure functions.

The KL term is left out (beta = 0), as is usual if a program computes the reward: only a learnt reward model needs a
policy near a reference. Axes: B sequences, T tokens.
"""

import torch
from torch import Tensor

_LOG_RATIO = 20.0


def group_advantages(returns: Tensor, groups: Tensor, *, epsilon: float = 1e-6) -> Tensor:
    """The advantage of each episode in its group: (R - mean) / (std + epsilon).

    Args:
        returns: Episode returns, [B].
        groups: The group of each episode, [B], integers in any order.
        epsilon: Keeps a group of nearly equal returns finite.

    Returns:
        The advantages, [B]; exactly 0 for a group of equal returns and for a group of one. The standard deviation is
        the sample's (n - 1).
    """
    assert returns.shape == groups.shape, f"returns {returns.shape}, groups {groups.shape}"
    advantages = torch.zeros_like(returns)
    for group in sorted(set(groups.tolist())):
        inside = groups == group
        own = returns[inside]
        if len(own) > 1 and not bool((own == own[0]).all()):
            advantages[inside] = (own - own.mean()) / (own.std() + epsilon)
    return advantages


def clipped_surrogate(logp_BT: Tensor, old_logp_BT: Tensor, advantage_B: Tensor, *, clip: float) -> Tensor:
    """PPO's clipped objective for each token, negated: -min(r A, clamp(r, 1 - clip, 1 + clip) A), r = exp(logp - old).

    Returns:
        A loss to be minimised, [B, T]. Its gradient is 0 where the clip is active. Log-ratios are clamped to +-20, so
        that no ratio overflows.
    """
    ratio_BT = (logp_BT - old_logp_BT).clamp(-_LOG_RATIO, _LOG_RATIO).exp()
    advantage_B1 = advantage_B[:, None]
    return -torch.minimum(ratio_BT * advantage_B1, ratio_BT.clamp(1 - clip, 1 + clip) * advantage_B1)


def sequence_mean(loss_BT: Tensor, trained_BT: Tensor) -> Tensor:
    """The sum over sequences of the mean loss of each one's trained tokens: GRPO's aggregation without its 1/B.

    The caller divides by the number of sequences of the whole step, so that micro-batches add up to the same gradient.
    A sequence without a trained token adds 0.
    """
    kept_BT = loss_BT.masked_fill(~trained_BT, 0.0)
    return (kept_BT.sum(-1) / trained_BT.sum(-1).clamp_min(1)).sum()


def grpo_loss(
    logp_BT: Tensor, old_logp_BT: Tensor, advantage_B: Tensor, trained_BT: Tensor, *, clip: float = 0.2
) -> Tensor:
    """The GRPO loss of these sequences (eq. 3 of the paper with beta = 0), summed over sequences.

    Args:
        logp_BT: Log-probabilities of the tokens under the trained policy.
        old_logp_BT: Recorded log-probabilities under the policy that sampled them; no gradient flows into it.
        advantage_B: The advantage of each sequence; no gradient flows into it.
        trained_BT: Whether a token is the policy's own; all others get a gradient of exactly 0.
        clip: How far the ratio may move from 1 before the gain is clipped.
    """
    # Masked values may be anything, even infinite, so they are removed before any arithmetic.
    logp_BT = logp_BT.masked_fill(~trained_BT, 0.0)
    old_logp_BT = old_logp_BT.detach().masked_fill(~trained_BT, 0.0)
    loss_BT = clipped_surrogate(logp_BT, old_logp_BT, advantage_B.detach(), clip=clip)
    return sequence_mean(loss_BT, trained_BT)
