"""The supervised objective: cross-entropy on the tokens of demonstrations. Axes: T tokens."""

from dataclasses import dataclass, replace

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.aggregation import Aggregation
from palaestra.trainers.objectives.objective import Metrics, PreparedStep


@dataclass(frozen=True, slots=True, kw_only=True)
class SupervisedObjective:
    """Mean cross-entropy over the trained tokens of the step."""

    requires: frozenset[str] = frozenset()

    @property
    def joins(self) -> bool:
        """See `Objective`."""
        return False

    def advantages(self, batch: TokenBatch) -> TokenBatch:
        """Set the advantage of each trained token to 1; nothing is compared."""
        return replace(batch, advantage_T=batch.trained_T.to(batch.advantage_T.dtype))

    def prepare(self, batch: TokenBatch) -> PreparedStep:
        """See `Objective`."""
        weight_T = Aggregation(name="token-mean").weights(batch, batch.trained_T)
        return PreparedStep(batch=replace(batch, weight_T=weight_T), loss=cross_entropy)


def cross_entropy(logp_T: Tensor, entropy_T: Tensor, batch: TokenBatch) -> tuple[Tensor, Metrics]:
    """See `Loss`: the negative log-probabilities, weighted by token."""
    del entropy_T
    own_T = batch.trained_T
    return -(batch.weight_T[own_T] * logp_T[own_T]).sum(), {}
