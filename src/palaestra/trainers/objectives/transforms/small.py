"""Advantages too small to be worth a step. Axes: T tokens."""

from dataclasses import dataclass

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.part import part


@part(
    "transform",
    "drop-small",
    formula="A <- 0 where |A| < below",
    sources=("arXiv:2502.01600", "github.com/apple/ml-loop"),
    confidence="code",
    neutral={"below": 0.0},
)
@dataclass(frozen=True, slots=True, kw_only=True)
class DropSmall:
    """Nothing is learnt from what was about as good as expected (LOOP)."""

    below: float = 0.01
    """The least advantage, either way, that stays."""

    def __post_init__(self) -> None:
        if not self.below >= 0:
            raise ValueError(f"below={self.below}: no advantage is smaller than 0 either way; give 0 or more")

    def __call__(self, advantage_T: Tensor, batch: TokenBatch, /) -> Tensor:
        """See `Transform`."""
        return advantage_T.masked_fill(advantage_T.abs() < self.below, 0.0)
