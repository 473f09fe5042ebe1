"""Normalisation of advantages over the whole batch. Axes: T tokens, R trajectories."""

import math
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages.weighted import exact_mean_over
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.segments import count_over, variance_over

_LEAST = 1e-6


@part(
    "transform",
    "batch-norm",
    formula="A <- clamp((A - mean_B A) / std_B A, +-clamp)",
    sources=("arXiv:2602.06554", "github.com/modelscope/AgentEvolver"),
    confidence="code",
)
@dataclass(frozen=True, slots=True, kw_only=True)
class BatchNorm:
    """Subtracts the batch's mean and divides by its standard deviation (the sample's) if that is above 1e-6 (SeeUPO).

    If all advantages are equal they become 0: only the mean is subtracted.
    """

    over: Literal["trajectories", "tokens"] = "trajectories"
    """The elements of mean and deviation: trajectories, each once with the mean of its trained tokens (SeeUPO), or all
    trained tokens (REINFORCE++). Trajectories without trained tokens are in neither."""
    clamp: float = 3.0
    """The maximum magnitude of an advantage."""

    def __post_init__(self) -> None:
        if not self.clamp > 0:
            raise ValueError(f"clamp={self.clamp}: all advantages would be 0; give a number above 0, infinity for none")

    def __call__(self, advantage_T: Tensor, batch: TokenBatch, /) -> Tensor:
        """See `Transform`."""
        own_T = batch.trained_T
        value_X = advantage_T[own_T]
        if self.over == "trajectories":
            trajectory_N = batch.trajectory_T[own_T]
            used_R = count_over(own_T, batch.trajectory_T, batch.trajectories) > 0
            value_X = exact_mean_over(value_X, trajectory_N, batch.trajectories)[used_R]
        whole_X = value_X.new_zeros(len(value_X)).long()
        off_T = advantage_T - exact_mean_over(value_X, whole_X, 1)
        std = math.sqrt(variance_over(value_X, whole_X, 1).item())
        return (off_T / std if std > _LEAST else off_T).clamp(-self.clamp, self.clamp)
