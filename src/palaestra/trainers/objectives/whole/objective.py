"""Objectives of whole trajectories, computed in micro-batches. Axes: T tokens, R trajectories.

A loss may combine trajectories in any way, such as pairs and groups, and still be computed in micro-batches of any
size. Its derivative by each trajectory's log-probability is computed once, at the current weights, and micro-batches
add up derivative times log-probability. By the chain rule the gradient is the same.

Groups are compared within a step, so each step must have whole groups.
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
    """A loss with learnt numbers of its own."""

    def learn(self, logp_R: Tensor, batch: TokenBatch) -> None:
        """Take a step of its own, once for each step of the policy; the call of the loss itself changes nothing.

        Args:
            logp_R: The log-probabilities that the loss read; without gradient.
            batch: The batch that the loss read.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeTrajectoryObjective:
    """A loss of whole trajectories as an objective; it needs the log-probabilities before each step, `now_T`."""

    loss: WholeLoss
    terms: tuple[Term, ...] = ()
    aggregation: Aggregation = field(default_factory=Aggregation)
    """The aggregation of the terms."""
    requires: frozenset[str] = frozenset({"now_T"})

    @property
    def joins(self) -> bool:
        """See `Objective`."""
        return True

    def advantages(self, batch: TokenBatch) -> TokenBatch:
        """Set the advantage of each trained token to 1, so that none is left out; the loss reads returns itself."""
        return replace(batch, advantage_T=batch.trained_T.to(batch.advantage_T.dtype))

    def prepare(self, batch: TokenBatch) -> PreparedStep:
        """See `Objective`; leaves out trajectories without a gradient.

        A loss that learns takes its step here, after its derivative has been computed.
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
        # The loss is one number, divided over the tokens of the step, so that the micro-batches add up to it.
        shown_T = own_T & kept_R[batch.trajectory_T]
        share_T = shown_T.to(batch.weight_T.dtype) / shown_T.sum().clamp_min(1)
        prepared = replace(batch, weight_T=share_T).with_columns({_SLOPE: slope_R, **terms})
        return PreparedStep(
            batch=prepared.select(kept_R.nonzero()[:, 0].tolist()), loss=partial(self._loss, float(loss.detach()))
        )

    def _loss(self, value: float, logp_T: Tensor, entropy_T: Tensor, batch: TokenBatch) -> tuple[Tensor, Metrics]:
        """See `Loss`. The value is the batch's share of the loss by tokens; the gradient is its trajectories'."""
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
    """The mean over trajectories with trained tokens, a scalar; 0 if there are none."""
    acted_R = lengths(batch) > 0
    return value_R[acted_R].sum() / acted_R.sum().clamp_min(1)


def lengths(batch: TokenBatch) -> Tensor:
    """The number of trained tokens of each trajectory, [R]."""
    return count_over(batch.trained_T, batch.trajectory_T, batch.trajectories)
