"""Writing what demonstrations wrote. Axes: T tokens."""

from dataclasses import dataclass

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.objective import Metrics, Totals


@dataclass(frozen=True, slots=True, kw_only=True)
class Supervised:
    """Mean cross-entropy over the trained tokens of the step."""

    def advantages(self, batch: TokenBatch) -> Tensor:
        """There is nothing to compare: 1 at each trained token, [T]."""
        return batch.trained_T.to(batch.advantage_T.dtype)

    def loss(self, logp_T: Tensor, entropy_T: Tensor, batch: TokenBatch, totals: Totals) -> tuple[Tensor, Metrics]:
        """See `Objective.loss`; advantages are not looked at."""
        del entropy_T
        return -logp_T.masked_fill(~batch.trained_T, 0.0).sum() / totals.tokens, {}
