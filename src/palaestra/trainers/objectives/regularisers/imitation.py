"""Imitation of successful trajectories. Axes: T tokens, N trained tokens, R trajectories."""

from dataclasses import dataclass

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.trust.region import Surrogate


@part(
    "regulariser",
    "positive-nll",
    formula="- coefficient logp, over the tokens of trajectories that passed",
    sources=("arXiv:2504.05118", "github.com/NVIDIA-NeMo/RL"),
    confidence="code",
    requires=("passed_R",),
    neutral={"coefficient": 0.0},
)
@dataclass(frozen=True, slots=True, kw_only=True)
class PositiveNll:
    """VAPO's imitation of trajectories that passed (arXiv:2504.05118), in addition to the surrogate.

    Its mean is over the tokens of trajectories that passed, `token-mean` in the paper; 0 if none did. Neutral with
    `coefficient` 0.
    """

    coefficient: float = 0.1
    """The coefficient."""

    def __post_init__(self) -> None:
        if self.coefficient < 0:
            raise ValueError(
                f"coefficient={self.coefficient}: below 0 it would unlearn what passed; leave the part out for none"
            )

    def pool(self, batch: TokenBatch) -> Tensor:
        """See `TokenPool`."""
        return (batch.column("passed_R") != 0)[batch.trajectory_T] & batch.trained_T

    def __call__(self, surrogate: Surrogate, /) -> Tensor:
        """See `Regulariser`."""
        return -self.coefficient * surrogate.logp_N
