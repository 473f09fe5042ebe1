"""Metrics of a training step, taken from its own forward pass. Axes: T tokens."""

from dataclasses import replace

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch, concatenate
from palaestra.trainers.fillers.inputs import DEMONSTRATION
from palaestra.trainers.monitors import difficulty_metrics, policy_metrics
from palaestra.trainers.objectives import Metrics, PreparedStep


class ObservedStep:
    """Records the batches, log-probabilities and entropies that a prepared step passes to its loss.

    Args:
        prepared: The step.
    """

    def __init__(self, prepared: PreparedStep) -> None:
        self._loss = prepared.loss
        self._seen: list[tuple[TokenBatch, Tensor, Tensor]] = []
        self.prepared = replace(prepared, loss=self._look)
        """The same step, with a loss that records its inputs."""

    def _look(self, logp_T: Tensor, entropy_T: Tensor, batch: TokenBatch) -> tuple[Tensor, Metrics]:
        self._seen.append((batch, logp_T.detach(), entropy_T.detach()))
        return self._loss(logp_T, entropy_T, batch)

    def metrics(self, *, version: int) -> Metrics:
        """Policy metrics of the recorded batches, and difficulty metrics of the groups.

        The policy metrics compare the weights of this version with those that sampled the tokens. See `policy_metrics`
        and `difficulty_metrics`.
        """
        if not self._seen:
            return {}
        batches, logps, entropies = zip(*self._seen, strict=True)
        batch = concatenate(batches)
        if (demonstration_R := batch.columns.get(DEMONSTRATION)) is not None:  # no weights sampled these
            batch = replace(batch, trained_T=batch.trained_T & ~demonstration_R[batch.trajectory_T])
        found = policy_metrics(batch, torch.cat(logps), torch.cat(entropies), version=version)
        return found | difficulty_metrics(self.prepared.batch)
