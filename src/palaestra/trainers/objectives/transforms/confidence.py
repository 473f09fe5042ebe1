"""Advantages that favour less confident answers. Axes: T tokens, N trained tokens, R trajectories, G groups."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages.rows import Rows
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.segments import greatest_over, least_over, mean_over, number_keys


@part(
    "transform",
    "arm",
    formula="A <- A + alpha (c(q) - c(o)), c(o) = exp(mean of the least 20% of log p)",
    sources=("arXiv:2602.05281",),
    confidence="secondary",
    requires=("old_T", "prompt_R"),
    neutral={"alpha": 0.0},
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """Advantage re-weighting by confidence (ProGRPO): of two answers with equal returns, the less confident gains more.

    A~ = A + alpha (c(q) - c(o | q)) in groups whose returns differ (arXiv:2602.05281, the equation of ARM). Groups of
    equal returns do not change; one transcription says so only of groups without any reward, another also of groups
    that all passed. c(q) is exp(`prompt_R`), the geometric mean of the prompt's probabilities. Both confidences are the
    policy's before the batch's first step, and constants; this is our reading of the paper. Its loss is clipped at 0.8
    and 1.28, with the mean over tokens.
    """

    alpha: float
    """The effect of a confidence of 1; the paper's value is not known to us, so there is no default."""
    share: float = 0.2
    """The share of least likely trained tokens that make up an answer's confidence; rounded up, at least one."""

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise ValueError(f"share={self.share}: a confidence is the mean over some tokens; give above 0, at most 1")

    def __call__(self, advantage_T: Tensor, batch: TokenBatch, /) -> Tensor:
        """See `Transform`."""
        sure_R = confidences(batch.column("old_T"), batch, share=self.share)
        bonus_R = self.alpha * (batch.column("prompt_R").exp() - sure_R)
        owner_R, groups = number_keys(batch.group_R)
        equal_G = least_over(batch.return_R, owner_R, groups) == greatest_over(batch.return_R, owner_R, groups)
        return advantage_T + bonus_R.masked_fill(equal_G[owner_R], 0.0)[batch.trajectory_T].to(advantage_T.dtype)


def confidences(logp_T: Tensor, batch: TokenBatch, *, share: float) -> Tensor:
    """The geometric mean of the probabilities of each trajectory's least likely trained tokens, [R].

    Args:
        logp_T: The log-probability of each token.
        batch: The batch, with its trained tokens.
        share: The share of tokens to use, at least one; the result is 1 for a trajectory without any.
    """
    trajectory_N = batch.trajectory_T[batch.trained_T]
    logp_N, order_N = logp_T[batch.trained_T].sort()
    trajectory_N, within_N = trajectory_N[order_N].sort(stable=True)
    logp_N = logp_N[within_N]
    tokens_R = torch.bincount(trajectory_N, minlength=batch.trajectories).tolist()
    # 0.1 of 30 tokens is 3, though 0.1 as a float is slightly more than a tenth.
    many_R = trajectory_N.new_tensor([max(1, math.ceil(share * count - 1e-9)) for count in tokens_R])
    least_N = Rows.of(trajectory_N, batch.trajectories).place_X < many_R[trajectory_N]
    return mean_over(logp_N[least_N], trajectory_N[least_N], batch.trajectories).exp()
