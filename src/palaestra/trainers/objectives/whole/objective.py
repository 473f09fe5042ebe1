"""Objectives of whole trajectories, put through a model in pieces. Axes: T tokens, R trajectories.

A loss may join trajectories in any way, pairs and groups too, and still go through in micro-batches of any size: its
slope in each trajectory's log-probability is worked out once, at the weights as they are, and a micro-batch adds up
slope times log-probability. By the chain rule the gradient is the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.aggregation import Aggregation
from palaestra.trainers.objectives.composed import surrogate_of
from palaestra.trainers.objectives.objective import Metrics, Prepared
from palaestra.trainers.objectives.parts import Stateful, WholeLoss
from palaestra.trainers.objectives.ratio import Ratio
from palaestra.trainers.objectives.segments import sum_over
from palaestra.trainers.objectives.term import Term, term_losses, term_weights

_SLOPE = "slope_R"


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """A loss of whole trajectories as an objective; it needs the log-probabilities before each step, `now_T`."""

    loss: WholeLoss
    terms: tuple[Term, ...] = ()
    aggregation: Aggregation = field(default_factory=Aggregation)
    """Of the terms."""
    requires: frozenset[str] = frozenset({"now_T"})

    def advantages(self, batch: TokenBatch) -> TokenBatch:
        """It reads returns itself: 1 at each trained token, so that none is left out."""
        return replace(batch, advantage_T=batch.trained_T.to(batch.advantage_T.dtype))

    def prepare(self, batch: TokenBatch) -> Prepared:
        """See `Objective`."""
        own_T = batch.trained_T
        logp_R = sum_trained(batch.column("now_T"), batch).detach().requires_grad_()
        with torch.enable_grad():
            loss = self.loss(logp_R, batch)
            (slope_R,) = torch.autograd.grad(loss, logp_R, allow_unused=True, materialize_grads=True)
        terms = term_weights(self.terms, batch, own_T, otherwise=self.aggregation)
        share_T = own_T.to(batch.weight_T.dtype) / own_T.sum().clamp_min(1)
        prepared = replace(batch, weight_T=share_T).with_columns({_SLOPE: slope_R, **terms})
        return Prepared(batch=prepared, loss=partial(self._loss, float(loss.detach())))

    def state(self) -> dict[str, object]:
        """See `Objective`."""
        return self.loss.state() if isinstance(self.loss, Stateful) else {}

    def restore(self, state: Mapping[str, object]) -> None:
        """See `Objective`."""
        if isinstance(self.loss, Stateful):
            self.loss.restore(dict(state))

    def _loss(self, value: float, logp_T: Tensor, entropy_T: Tensor, batch: TokenBatch) -> tuple[Tensor, Metrics]:
        """See `Loss`. Its value is the whole loss, shared out by tokens; its gradient that of the trajectories."""
        own_T = batch.trained_T
        logp_N = logp_T[own_T]
        slope_N = batch.column(_SLOPE)[batch.trajectory_T[own_T]]
        loss = (slope_N * (logp_N - logp_N.detach())).sum() + value * batch.weight_T[own_T].sum()
        if not self.terms:
            return loss, {}
        surrogate = surrogate_of(logp_T, entropy_T, batch, ratio=Ratio(), requires=self.requires)
        return loss + term_losses(self.terms, surrogate, batch), {}


def sum_trained(value_T: Tensor, batch: TokenBatch) -> Tensor:
    """The sum over each trajectory's trained tokens, [R]."""
    own_T = batch.trained_T
    return sum_over(value_T[own_T], batch.trajectory_T[own_T], batch.trajectories)
