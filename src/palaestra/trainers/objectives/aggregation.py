"""How the losses of tokens become the loss of a step: the weight of each token. Axes: T tokens, R trajectories.

Denominators cover the whole step, over all micro-batches and processes, so that splitting a batch changes nothing.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.segments import count_over

AggregationName: TypeAlias = Literal[
    "seq-mean-token-mean", "token-mean", "seq-mean-token-sum", "token-sum", "prompt-mean", "sum-token-mean", "luspo"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregation:
    """The weights of tokens.

    - `seq-mean-token-mean`: the mean over trajectories of the mean over each one's tokens (GRPO, GSPO, SAPO).
    - `token-mean`: the mean over all tokens (DAPO): long trajectories have more weight.
    - `seq-mean-token-sum`: the mean over trajectories of the sum over each one's tokens, divided by `length` (Dr.GRPO,
      arXiv:2503.20783, with the maximum length).
    - `token-sum`: the sum.
    - `prompt-mean`: the mean over groups of the mean over all tokens of each (SkyRL).
    - `sum-token-mean`: the sum over trajectories of the mean over each one's tokens (DCPO's OTM, arXiv:2509.02333): the
      step grows with the batch.
    - `luspo`: `seq-mean-token-mean` times the trajectory's tokens (LUSPO, arXiv:2602.05261).

    Trajectories and groups without counted tokens are in no mean.
    """

    name: AggregationName = "seq-mean-token-mean"
    length: float = 1.0
    """The divisor of `seq-mean-token-sum`."""

    def __post_init__(self) -> None:
        if self.length <= 0:
            raise ValueError(f"length={self.length}: sums over tokens are divided by it; give a number above 0")

    def weights(self, batch: TokenBatch, counted_T: Tensor) -> Tensor:
        """The weight of each token in the step's loss, [T]; 0 if it does not count.

        Args:
            batch: The whole step.
            counted_T: The tokens over which means are taken.
        """
        trajectory_T = batch.trajectory_T
        tokens_R = count_over(counted_T, trajectory_T, batch.trajectories)
        trajectories = (tokens_R > 0).sum().clamp_min(1)
        ones_T = counted_T.to(batch.advantage_T.dtype)
        match self.name:
            case "seq-mean-token-mean":
                return ones_T / (tokens_R.clamp_min(1)[trajectory_T] * trajectories)
            case "sum-token-mean":
                return ones_T / tokens_R.clamp_min(1)[trajectory_T]
            case "token-mean":
                return ones_T / counted_T.sum().clamp_min(1)
            case "seq-mean-token-sum":
                return ones_T / (trajectories * self.length)
            case "token-sum":
                return ones_T
            case "luspo":
                return ones_T / trajectories
            case "prompt-mean":
                _, group_R = batch.group_R.unique(return_inverse=True)
                tokens_G = torch.zeros_like(tokens_R).index_add(0, group_R, tokens_R)
                groups = (tokens_G > 0).sum().clamp_min(1)
                return ones_T / (tokens_G.clamp_min(1)[group_R][trajectory_T] * groups)
