"""How the losses of tokens become the loss of a step: what each of them weighs. Axes: N trained tokens, R trajectories.

Denominators are of the whole step, over all micro-batches and processes, so that splitting a batch changes nothing.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.objective import Totals

AggregationName: TypeAlias = Literal["seq-mean-token-mean", "token-mean", "seq-mean-token-sum", "token-sum"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregation:
    """What a token weighs.

    - `seq-mean-token-mean`: the mean over trajectories of the mean over each one's tokens (GRPO, GSPO, SAPO).
    - `token-mean`: the mean over all tokens (DAPO): long trajectories weigh more.
    - `seq-mean-token-sum`: the mean over trajectories of the sum over each one's tokens, over `length` (Dr.GRPO,
      arXiv:2503.20783, with the greatest length that there may be).
    - `token-sum`: the sum.
    """

    name: AggregationName = "seq-mean-token-mean"
    length: float = 1.0
    """What `seq-mean-token-sum` is divided by."""

    def __post_init__(self) -> None:
        if self.length <= 0:
            raise ValueError(f"length={self.length}: sums over tokens are divided by it; give a number above 0")

    def weights(self, batch: TokenBatch, totals: Totals) -> Tensor:
        """What each trained token of these weighs in the step's loss, [N].

        Args:
            batch: Whole trajectories of the step.
            totals: Of the whole step.
        """
        place_N = batch.trajectory_T[batch.trained_T]
        ones_N = torch.ones_like(place_N, dtype=batch.advantage_T.dtype)
        match self.name:
            case "seq-mean-token-mean":
                tokens_R = ones_N.new_zeros(batch.trajectories).index_add(0, place_N, ones_N)
                return 1 / (tokens_R[place_N] * totals.trajectories)
            case "token-mean":
                return ones_N / totals.tokens
            case "seq-mean-token-sum":
                return ones_N / (totals.trajectories * self.length)
            case "token-sum":
                return ones_N
