"""A second stream of credit in addition to the first, each normalised separately. Axes: T tokens, N trained tokens."""

from dataclasses import dataclass

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages.checklist import Assignment, Cm2
from palaestra.trainers.objectives.part import part


@part(
    "transform",
    "checklist-stream",
    formula="A <- A / rms(A) + weight B / rms(B), B that of cm2; rms over trained tokens",
    sources=("arXiv:2602.12268", "arXiv:2602.16165"),
    confidence="derived",
    requires=("met_UC", "points_RC", "open_UC"),
    neutral={"weight": 0.0},
    conflicts={"advantage/cm2": "the checklist would be both streams; take another advantage, or leave the stream out"},
)
@dataclass(frozen=True, slots=True, kw_only=True)
class ChecklistStream:
    """CM2's checklist as a second stream of advantages. Experimental: the sum is ours, its two terms are published.

    Turn-level estimators are alternatives, and can be combined only as a sum of separately normalised streams: then
    neither the number of criteria nor the size of returns decides their influence. Each is divided by its root mean
    square over the trained tokens, so that advantages of 0 stay 0; a stream that is 0 everywhere adds nothing. With
    `weight` 0 the advantages do not change, nor does their scale.
    """

    weight: float = 1.0
    """The weight of the checklist; the other stream has weight 1."""
    assignment: Assignment = "trajectory"
    """See `cm2`."""
    least: int = 2
    """See `cm2`."""

    def __post_init__(self) -> None:
        if not self.weight >= 0:
            raise ValueError(f"weight={self.weight}: criteria that are met would be unlearnt; give 0 or more")
        Cm2(assignment=self.assignment, least=self.least)  # checks its settings

    def __call__(self, advantage_T: Tensor, batch: TokenBatch, /) -> Tensor:
        """See `Transform`."""
        if self.weight == 0:
            return advantage_T
        checklist_T = Cm2(assignment=self.assignment, least=self.least)(batch).to(advantage_T.dtype)
        own_T = batch.trained_T
        return normalised_stream(advantage_T, own_T) + self.weight * normalised_stream(checklist_T, own_T)


def normalised_stream(advantage_T: Tensor, own_T: Tensor) -> Tensor:
    """Advantages divided by their root mean square, [T]; 0 if all are 0.

    Args:
        advantage_T: The advantage of each token.
        own_T: The tokens of the mean.
    """
    own_N = advantage_T[own_T].double()
    square = float(own_N.square().mean()) if len(own_N) else 0.0
    return advantage_T / square**0.5 if square > 0 else advantage_T.masked_fill(own_T, 0.0)
