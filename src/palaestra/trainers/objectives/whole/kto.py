"""KTO: each trajectory is good or bad by itself, without pairs. Axes: R trajectories."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages.unread import unread_rewards
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.whole.objective import trajectory_mean
from palaestra.trainers.objectives.whole.preference import reference_log_ratio


@part(
    "whole",
    "kto",
    formula="L = w_d (1 - sigmoid(beta (Delta - z))) where passed, else w_u (1 - sigmoid(beta (z - Delta)))",
    sources=("arXiv:2402.01306", "github.com/huggingface/trl"),
    confidence="code",
    requires=("ref_T", "passed_R"),
    conflicts=unread_rewards("which trajectories passed"),
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Kto:
    """KTO (arXiv:2402.01306): passed trajectories become likelier than z, failed ones less likely; there are no pairs.

    z estimates KL(policy || reference), is never below 0 and has no gradient.
    """

    beta: float = 0.1
    """The strength of the constraint to the reference."""
    desirable: float = 1.0
    """The weight of a passed trajectory. The paper recommends desirable * passed to be 1 to 4/3 of undesirable *
    failed, counted over the data."""
    undesirable: float = 1.0
    """The weight of a failed trajectory."""
    drift: Literal["own", "mismatched"] = "own"
    """The values whose mean is z. `own`: Delta of the step's trajectories, which estimates the KL if the policy sampled
    them; ours, for rollouts. `mismatched`: the same for prompts with answers to other prompts, as in the paper, whose
    data others wrote; a filler provides it as the column `mismatched_R`."""

    def __post_init__(self) -> None:
        if self.beta <= 0 or self.desirable < 0 or self.undesirable < 0:
            raise ValueError(
                f"beta={self.beta}, desirable={self.desirable}, undesirable={self.undesirable}: "
                "beta is above 0, and weights are not negative"
            )

    @property
    def requires(self) -> frozenset[str]:
        """The columns that it reads with these settings."""
        return frozenset({"ref_T", "passed_R"} | ({"mismatched_R"} if self.drift == "mismatched" else set()))

    def __call__(self, logp_R: Tensor, batch: TokenBatch, /) -> Tensor:
        """See `WholeLoss`."""
        delta_R = reference_log_ratio(logp_R, batch)
        drift_R = delta_R if self.drift == "own" else batch.column("mismatched_R")
        z = trajectory_mean(drift_R.detach(), batch).clamp_min(0)
        passed_R = batch.column("passed_R") != 0
        gain_R = torch.where(passed_R, delta_R - z, z - delta_R)
        weight_R = torch.full_like(gain_R, self.undesirable).masked_fill(passed_R, self.desirable)
        return trajectory_mean(weight_R * (1 - (self.beta * gain_R).sigmoid()), batch)
