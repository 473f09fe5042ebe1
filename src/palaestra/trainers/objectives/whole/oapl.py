"""OAPL: regression of log-ratios on returns minus a value. Axes: R trajectories."""

import math
from dataclasses import dataclass

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.segments import greatest_over, mean_over, number_keys
from palaestra.trainers.objectives.whole.objective import token_sum, trajectory_mean

_RAREST = -20.0


@part(
    "whole",
    "oapl",
    formula="L = mean (beta2 D - (R - V))^2, D = sum(logp - logprob), V = beta1 log mean_g exp(R / beta1)",
    sources=("arXiv:2602.19362", "arXiv:2603.05218"),
    confidence="secondary",
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Oapl:
    """OAPL (arXiv:2602.19362): regresses the log-ratio to the policy that sampled a trajectory on R - V.

    There is no ratio, clip or correction: data may be stale, because the policy that sampled them is part of the
    target. The loss is 0 where D = (R - V) / beta2. A group of equal returns has R - V = 0, and its target is D = 0.

    A trajectory is one unit, whatever its number of segments. KARL (arXiv:2603.05218) takes the loss of each segment
    separately, with the trajectory's R - V; this is not available.

    The paper tunes beta1 and beta2 separately, and its values are not known to us. A*-PO, a relative, has 0.5 and 1e-3
    in TRL, with V from 8 trajectories sampled beforehand.
    """

    beta1: float
    """The softness of the maximum V: near 0 it is the group's maximum return, infinite its mean."""
    beta2: float
    """The strength of the constraint of log-ratios to 0."""
    scaled: bool = False
    """Whether the loss is divided by 2 beta2, so that its gradient at D = 0 is that of REINFORCE with R - V. Ours, to
    make learning rates comparable."""

    def __post_init__(self) -> None:
        if self.beta1 <= 0 or not 0 < self.beta2 < math.inf:
            raise ValueError(
                f"beta1={self.beta1}, beta2={self.beta2}: both are above 0, and beta2 is finite; "
                "for the group's mean as V, let beta1 be infinite"
            )

    def __call__(self, logp_R: Tensor, batch: TokenBatch, /) -> Tensor:
        """See `WholeLoss`."""
        # A sampled token has a positive probability, whatever an engine that drops small probabilities reports.
        moved_R = logp_R - token_sum(batch.logprob_T.clamp_min(_RAREST), batch)
        better_R = batch.return_R - soft_best(batch.return_R, batch.group_R, beta=self.beta1)
        loss = trajectory_mean((self.beta2 * moved_R - better_R).square(), batch)
        return loss / (2 * self.beta2) if self.scaled else loss


def soft_best(return_R: Tensor, group_R: Tensor, *, beta: float) -> Tensor:
    """V = beta log mean_g exp(R / beta) of each trajectory's group, [R]: its mean for beta infinite, its maximum for 0.

    Args:
        return_R: The return of each trajectory.
        group_R: The group of each trajectory, integers in any order.
        beta: Above 0, or infinite.
    """
    owner_R, groups = number_keys(group_R)
    if math.isinf(beta):
        return mean_over(return_R, owner_R, groups)[owner_R]
    best_R = greatest_over(return_R, owner_R, groups)[owner_R]
    # log1p of the mean of expm1: for a large beta, the logarithm of a mean near 1 would lose precision.
    below_G = mean_over(((return_R - best_R) / beta).expm1(), owner_R, groups)
    return best_R + beta * below_G.log1p()[owner_R]
