"""OAPL: log-ratios regressed on what a trajectory was worth. Axes: R trajectories."""

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
    """OAPL (arXiv:2602.19362): the log-ratio to the policy that drew a trajectory, regressed on R - V.

    There is no ratio, clip or correction: data may be stale, for the policy that drew them is part of the target. The
    loss is 0 where D = (R - V) / beta2. A group of equal returns has R - V = 0, and is pulled to D = 0.

    A trajectory is one unit, however many segments it has. KARL (arXiv:2603.05218) takes the loss of each segment by
    itself, with the trajectory's R - V; that is not offered.

    The paper tunes beta1 and beta2 apart, and its values are not known to us. A*-PO, a relative, has 0.5 and 1e-3 in
    TRL, with V from 8 trajectories that were drawn beforehand.
    """

    beta1: float
    """How soft the maximum is that V is: towards 0 the group's greatest return, infinite its mean."""
    beta2: float
    """How strongly a log-ratio is held to 0."""
    scaled: bool = False
    """Whether the loss is divided by 2 beta2, so that its gradient at D = 0 is that of REINFORCE with R - V. Ours, for
    learning rates that can be compared."""

    def __post_init__(self) -> None:
        if self.beta1 <= 0 or not 0 < self.beta2 < math.inf:
            raise ValueError(
                f"beta1={self.beta1}, beta2={self.beta2}: both are above 0, and beta2 is finite; "
                "for the group's mean as V, let beta1 be infinite"
            )

    def __call__(self, logp_R: Tensor, batch: TokenBatch, /) -> Tensor:
        """See `WholeLoss`."""
        # A token was drawn, so it had some chance, whatever an engine that cuts small ones off says of it.
        moved_R = logp_R - token_sum(batch.logprob_T.clamp_min(_RAREST), batch)
        better_R = batch.return_R - soft_best(batch.return_R, batch.group_R, beta=self.beta1)
        loss = trajectory_mean((self.beta2 * moved_R - better_R).square(), batch)
        return loss / (2 * self.beta2) if self.scaled else loss


def soft_best(return_R: Tensor, group_R: Tensor, *, beta: float) -> Tensor:
    """V = beta log mean_g exp(R / beta) of each trajectory's group, [R]: its mean for beta infinite, its maximum for 0.

    Args:
        return_R: Of each trajectory.
        group_R: Integers in any order.
        beta: Above 0, or infinite.
    """
    owner_R, groups = number_keys(group_R)
    if math.isinf(beta):
        return mean_over(return_R, owner_R, groups)[owner_R]
    best_R = greatest_over(return_R, owner_R, groups)[owner_R]
    # log1p of the mean of expm1: for a large beta the logarithm of a mean next to 1 would lose its digits.
    below_G = mean_over(((return_R - best_R) / beta).expm1(), owner_R, groups)
    return best_R + beta * below_G.log1p()[owner_R]
