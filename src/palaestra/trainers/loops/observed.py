"""An objective that is looked at while it is trained towards: the figures cost no pass of their own. Axes: T tokens."""

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch, concatenate
from palaestra.trainers.monitors import policy_metrics
from palaestra.trainers.objectives import Metrics, Objective, Totals


class Observed:
    """Another objective, which remembers what it was shown.

    Args:
        objective: What is trained towards.
    """

    def __init__(self, objective: Objective) -> None:
        self._objective = objective
        self._seen: list[tuple[TokenBatch, Tensor, Tensor]] = []

    def advantages(self, batch: TokenBatch) -> Tensor:
        """See `Objective`."""
        return self._objective.advantages(batch)

    def loss(self, logp_T: Tensor, entropy_T: Tensor, batch: TokenBatch, totals: Totals) -> tuple[Tensor, Metrics]:
        """See `Objective`."""
        self._seen.append((batch, logp_T.detach(), entropy_T.detach()))
        return self._objective.loss(logp_T, entropy_T, batch, totals)

    def metrics(self, *, version: int) -> Metrics:
        """How far the weights, of this version, were from those that drew the tokens; see `policy_metrics`."""
        if not self._seen:
            return {}
        batches, logps, entropies = zip(*self._seen, strict=True)
        return policy_metrics(concatenate(batches), torch.cat(logps), torch.cat(entropies), version=version)
