"""Drops small advantages. Axes: T tokens."""

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
    """Sets small advantages to 0, so that outcomes about as good as expected are not trained on (LOOP)."""

    below: float = 0.01
    """The minimum magnitude of an advantage that is kept."""

    def __post_init__(self) -> None:
        if not self.below >= 0:
            raise ValueError(f"below={self.below}: magnitudes are not below 0; give 0 or more")

    def __call__(self, advantage_T: Tensor, batch: TokenBatch, /) -> Tensor:
        """See `Transform`."""
        return advantage_T.masked_fill(advantage_T.abs() < self.below, 0.0)
