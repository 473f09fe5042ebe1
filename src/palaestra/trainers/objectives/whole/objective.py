"""Objectives of whole trajectories, put through a model in pieces. Axes: T tokens, R trajectories.

A loss may join trajectories in any way, pairs and groups too, and still go through in micro-batches of any size: its
slope in each trajectory's log-probability is worked out once, at the weights as they are, and a micro-batch adds up
slope times log-probability. By the chain rule the gradient is the same.

Groups are compared within a step, so that a step has to hold whole groups.
"""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.aggregation import Aggregation
from palaestra.trainers.objectives.composed import surrogate_of
from palaestra.trainers.objectives.objective import Metrics, PreparedStep
from palaestra.trainers.objectives.parts import WholeLoss
from palaestra.trainers.objectives.ratio import RatioConfig
from palaestra.trainers.objectives.segments import count_over, sum_over
from palaestra.trainers.objectives.term import Term, term_losses, term_weights

_SLOPE = "slope_R"


@runtime_checkable
class LearnableLoss(Protocol):
    """A loss that has something to learn itself, beside the policy."""

    def learn(self, logp_R: Tensor, batch: TokenBatch) -> None:
        """Take a step of its own, once for each step of the policy's; the loss's call itself changes nothing.

        Args:
            logp_R: As the loss saw it; without gradient.
            batch: As the loss saw it.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeTrajectoryObjective:
    """A loss of whole trajectories as an objective; it needs the log-probabilities before each step, `now_T`."""

    loss: WholeLoss
    terms: tuple[Term, ...] = ()
    aggregation: Aggregation = field(default_factory=Aggregation)
    """Of the terms."""
    requires: frozenset[str] = frozenset({"now_T"})

    @property
    def joins(self) -> bool:
        """See `Objective`."""
        return True

    def advantages(self, batch: TokenBatch) -> TokenBatch:
        """It reads returns itself: 1 at each trained token, so that none is left out."""
        return replace(batch, advantage_T=batch.trained_T.to(batch.advantage_T.dtype))

    def prepare(self, batch: TokenBatch) -> PreparedStep:
        """See `Objective`; trajectories that have no gradient are left out.

        A loss that learns takes its step here, after the slope was taken.
        """
        own_T = batch.trained_T
        logp_R = token_sum(batch.column("now_T"), batch).detach().requires_grad_()
        with torch.enable_grad():
            loss = self.loss(logp_R, batch)
            (slope_R,) = torch.autograd.grad(loss, logp_R, allow_unused=True, materialize_grads=True)
        if isinstance(self.loss, LearnableLoss):
            self.loss.learn(logp_R.detach(), batch)
        terms = term_weights(self.terms, batch, own_T, otherwise=self.aggregation)
        moved_T = own_T & (slope_R != 0)[batch.trajectory_T]
        for weight_T in terms.values():
            moved_T |= weight_T != 0
        kept_R = count_over(moved_T, batch.trajectory_T, batch.trajectories) > 0
        # The loss is one number; tokens that are put through the model share it, so that the parts add up to it.
        shown_T = own_T & kept_R[batch.trajectory_T]
        share_T = shown_T.to(batch.weight_T.dtype) / shown_T.sum().clamp_min(1)
        prepared = replace(batch, weight_T=share_T).with_columns({_SLOPE: slope_R, **terms})
        return PreparedStep(
            batch=prepared.select(kept_R.nonzero()[:, 0].tolist()), loss=partial(self._loss, float(loss.detach()))
        )

    def _loss(self, value: float, logp_T: Tensor, entropy_T: Tensor, batch: TokenBatch) -> tuple[Tensor, Metrics]:
        """See `Loss`. Its value is the whole loss, shared out by tokens; its gradient that of the trajectories."""
        own_T = batch.trained_T
        logp_N = logp_T[own_T]
        slope_N = batch.column(_SLOPE)[batch.trajectory_T[own_T]]
        loss = (slope_N * (logp_N - logp_N.detach())).sum() + value * batch.weight_T[own_T].sum()
        if not self.terms:
            return loss, {}
        surrogate = surrogate_of(logp_T, entropy_T, batch, ratio=RatioConfig(), requires=self.requires)
        return loss + term_losses(self.terms, surrogate, batch), {}


def token_sum(value_T: Tensor, batch: TokenBatch) -> Tensor:
    """The sum over each trajectory's trained tokens, [R]."""
    own_T = batch.trained_T
    return sum_over(value_T[own_T], batch.trajectory_T[own_T], batch.trajectories)


def trajectory_mean(value_R: Tensor, batch: TokenBatch) -> Tensor:
    """The mean over trajectories that have a trained token, a scalar; 0 where none has."""
    acted_R = lengths(batch) > 0
    return value_R[acted_R].sum() / acted_R.sum().clamp_min(1)


def lengths(batch: TokenBatch) -> Tensor:
    """How many trained tokens each trajectory has, [R]."""
    return count_over(batch.trained_T, batch.trajectory_T, batch.trajectories)
