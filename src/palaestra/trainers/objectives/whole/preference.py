"""Losses of pairs: a better trajectory and a worse one of the same group. Axes: R trajectories, P pairs.

Delta is the sum of log-probabilities of a trajectory's trained tokens, minus the reference policy's; w is the better
trajectory of a pair and l the worse.
"""

import math
from dataclasses import dataclass

from torch import Tensor
from torch.nn.functional import logsigmoid

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages.unread import unread_rewards
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.whole.objective import lengths, token_sum
from palaestra.trainers.objectives.whole.pairs import best_and_worst, demonstration_pairs


@part(
    "whole",
    "dpo",
    formula="L = -log sigmoid(beta (Delta_w - Delta_l)), w and l the best and the worst of a group",
    sources=("arXiv:2305.18290", "github.com/huggingface/trl"),
    confidence="code",
    requires=("ref_T",),
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Dpo:
    """DPO (arXiv:2305.18290) on rollouts: the best of each group against the worst; equal returns give no pair.

    If the policy equals the reference, the loss is ln 2 and its gradient -beta/2 (grad w - grad l).
    """

    beta: float = 0.1
    """The strength of the constraint to the reference."""

    def __post_init__(self) -> None:
        _check_beta(self.beta)

    def __call__(self, logp_R: Tensor, batch: TokenBatch, /) -> Tensor:
        """See `WholeLoss`."""
        pairs = best_and_worst(batch.return_R, batch.group_R)
        return pairs.mean(-logsigmoid(self.beta * pairs.margin(reference_log_ratio(logp_R, batch))))


@part(
    "whole",
    "ipo",
    formula="L = (Delta_w - Delta_l - 1 / (2 beta))^2, w and l the best and the worst of a group",
    sources=("arXiv:2310.12036", "github.com/huggingface/trl"),
    confidence="code",
    requires=("ref_T",),
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Ipo:
    """IPO: the margin is regressed on 1 / (2 beta), so that certain preferences do not drive it to infinity."""

    beta: float = 0.1
    """The strength of the constraint to the reference."""
    normalised: bool = False
    """Whether Delta is the mean over tokens, as in TRL, and not the sum."""

    def __post_init__(self) -> None:
        _check_beta(self.beta)

    def __call__(self, logp_R: Tensor, batch: TokenBatch, /) -> Tensor:
        """See `WholeLoss`."""
        delta_R = reference_log_ratio(logp_R, batch)
        if self.normalised:
            delta_R = delta_R / lengths(batch).clamp_min(1)
        pairs = best_and_worst(batch.return_R, batch.group_R)
        return pairs.mean((pairs.margin(delta_R) - 1 / (2 * self.beta)).square())


@part(
    "whole",
    "spin",
    formula="L = -log sigmoid(beta (Delta_w - Delta_l)), w a demonstration and l the policy's own",
    sources=("arXiv:2401.01335",),
    confidence="code",
    requires=("ref_T", "chosen_R"),
    conflicts=unread_rewards("which trajectories are demonstrations"),
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Spin:
    """SPIN (arXiv:2401.01335): DPO of each demonstration against the policy's own answer to the same task.

    The reference is the policy of the previous iteration, which wrote the answer. If that policy writes like the
    demonstrations, nothing is left to learn: at the reference the expected gradient is 0. Rewards are not used.
    """

    beta: float = 0.1
    """The strength of the constraint to the reference; the paper's lambda."""

    def __post_init__(self) -> None:
        _check_beta(self.beta)

    def __call__(self, logp_R: Tensor, batch: TokenBatch, /) -> Tensor:
        """See `WholeLoss`."""
        pairs = demonstration_pairs(batch.column("chosen_R") != 0, batch.group_R)
        return pairs.mean(-logsigmoid(self.beta * pairs.margin(reference_log_ratio(logp_R, batch))))


def reference_log_ratio(logp_R: Tensor, batch: TokenBatch) -> Tensor:
    """Delta: the log-ratio of each trajectory to the reference, in nats, [R]."""
    return logp_R - token_sum(batch.column("ref_T"), batch)


def _check_beta(beta: float) -> None:
    if not 0 < beta < math.inf:
        raise ValueError(f"beta={beta}: what a log-ratio is multiplied with is above 0 and finite; often 0.1")
