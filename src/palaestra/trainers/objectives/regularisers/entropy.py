"""A bonus for the entropy of the policy. Axes: N trained tokens."""

from dataclasses import dataclass

from torch import Tensor

from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.trust.region import Surrogate


@part(
    "regulariser",
    "entropy",
    formula="- coefficient H",
    sources=("arXiv:1602.01783",),
    confidence="code",
    neutral={"coefficient": 0.0},
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Entropy:
    """A bonus for entropy (Mnih et al. 2016, arXiv:1602.01783), with its own gradient. Neutral with `coefficient` 0."""

    coefficient: float
    """The coefficient; below 0 it is a penalty. 0.001 in LUFFY."""

    def __call__(self, surrogate: Surrogate, /) -> Tensor:
        """See `Regulariser`."""
        return -self.coefficient * surrogate.entropy_N
