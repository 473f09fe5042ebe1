"""Weights that are dropped if they are too far from 1. Axes: T tokens."""

import math
from dataclasses import dataclass

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.corrections.mismatch import conflicts_of, log_mismatch
from palaestra.trainers.objectives.part import part


@part(
    "correction",
    "icepop",
    formula="old / rollout, 0 outside [low, high]",
    sources=("github.com/volcengine/verl", "github.com/NVIDIA-NeMo/RL"),
    confidence="code",
    requires=("old_T",),
    neutral={"low": 0.0, "high": math.inf},
    conflicts={
        **conflicts_of("icepop"),
        "ratio.granularity=sequence": "a ratio of sequences is corrected by sequence; take correction/sequence-tis",
    },
)
@dataclass(frozen=True, slots=True, kw_only=True)
class IcePop:
    """IcePop: importance weights by token, without training on tokens that are too far off.

    Means stay over all tokens. Neutral, as importance sampling without a bound, with `low` 0 and `high` infinite.
    """

    low: float = 0.5
    """The minimum weight that is kept."""
    high: float = 5.0
    """The maximum weight that is kept."""

    def __post_init__(self) -> None:
        if not 0 <= self.low <= 1 <= self.high:
            raise ValueError(
                f"low={self.low}, high={self.high}: 1, the weight without a mismatch, must be between them"
            )

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Correction`."""
        weight_T = log_mismatch(batch).exp()
        return weight_T.masked_fill((weight_T < self.low) | (weight_T > self.high), 0.0)
