"""A policy that is a table with one row of logits per state of a toy. Axes: T, N tokens, X states, A actions.

It implements `TrainableModel`, so that toys run through the same update code as models.
"""

from bisect import bisect_right
from collections.abc import Collection, Sequence
from itertools import accumulate
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from palaestra.seeding import Stream
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.learner.statistics import TokenStatistic, statistics
from palaestra.trainers.objectives import Metrics, PreparedStep

OptimiserName: TypeAlias = Literal["sgd", "adam"]
_OUT = -1e9
"""The logit of an action that a state does not have: its probability is 0, and products with the logit stay finite."""
_KEPT, _KEPT_SQUARES, _EPSILON = 0.9, 0.999, 1e-8
_TWO_64 = float(1 << 64)


class PolicyTable:
    """A softmax over a row of logits for each state, initially 0; float64.

    Args:
        sizes: The number of actions of each state.
        lr: The learning rate.
        optimiser: Plain gradient descent ("sgd"), or Adam (arXiv:1412.6980) with its usual settings.
    """

    def __init__(self, sizes: Sequence[int], *, lr: float, optimiser: OptimiserName = "adam") -> None:
        self.sizes = tuple(sizes)
        self.width = max(sizes)
        there_XA = torch.arange(self.width) < torch.tensor(sizes)[:, None]
        self._out_XA = torch.zeros(there_XA.shape, dtype=torch.float64).masked_fill(~there_XA, _OUT)
        self.logits_XA = torch.zeros_like(self._out_XA)
        self._lr = lr
        self._optimiser: OptimiserName = optimiser
        self._mean_XA, self._square_XA = torch.zeros_like(self.logits_XA), torch.zeros_like(self.logits_XA)
        self._steps = 0

    def copy(self) -> "PolicyTable":
        """A table with the same logits and a fresh optimiser state."""
        other = object.__new__(PolicyTable)
        other = PolicyTable(self.sizes, lr=self._lr, optimiser=self._optimiser)
        other.logits_XA = self.logits_XA.clone()
        return other

    def logprobs(self) -> Tensor:
        """The log-probabilities of all actions in all states, [X, A]."""
        return (self.logits_XA + self._out_XA).log_softmax(-1)

    def encode(self, states: Sequence[int], actions: Sequence[int]) -> list[int]:
        """Token ids; each encodes an action and the state in which it was sampled."""
        return [state * self.width + action for state, action in zip(states, actions, strict=True)]

    def step(self, prepared: PreparedStep, *, lr: float | None = None, temperature: float = 1.0) -> Metrics:
        """See `TrainableModel`."""
        batch = prepared.batch
        own_T = batch.trained_T
        id_N = batch.ids_T[own_T]
        logits_XA = self.logits_XA.detach().requires_grad_()
        logp_XA = ((logits_XA + self._out_XA) / temperature).log_softmax(-1)
        entropy_X = -(logp_XA.exp() * logp_XA).sum(-1)
        zero_T = logits_XA.new_zeros(len(own_T))
        logp_T = zero_T.masked_scatter(own_T, logp_XA.view(-1)[id_N])
        entropy_T = zero_T.masked_scatter(own_T, entropy_X[id_N // self.width])
        loss, shares = prepared.loss(logp_T, entropy_T, batch)
        (gradient_XA,) = torch.autograd.grad(loss, logits_XA)
        self._move(gradient_XA, (self._lr if lr is None else lr) * prepared.rate)
        return prepared.metrics | shares | {"loss": float(loss.detach())}

    def columns(
        self, batch: TokenBatch, wanted: Collection[TokenStatistic], *, temperature: float = 1.0
    ) -> dict[TokenStatistic, Tensor]:
        """See `TrainableModel`."""
        own_T = batch.trained_T
        id_N = batch.ids_T[own_T]
        # The table acts as an output layer, with its rows as hidden states.
        row_NA = (self.logits_XA + self._out_XA)[id_N // self.width]
        eye_AA = torch.eye(self.width, dtype=torch.float64)
        found = statistics(
            row_NA, eye_AA, id_N % self.width, wanted=wanted, temperature=temperature, chunk=max(1, len(id_N))
        )
        zero_T = row_NA.new_zeros(len(own_T))
        return {name: zero_T.masked_scatter(own_T, value_N) for name, value_N in found.items()}

    def gradient_norms(self, batch: TokenBatch, *, temperature: float = 1.0) -> Tensor:
        """See `TrainableModel`. Computed in closed form: the gradient of log p(a | x) by row x is e_a - p."""
        own_T = batch.trained_T
        id_N, owner_N = batch.ids_T[own_T], batch.trajectory_T[own_T]
        state_N = id_N // self.width
        p_XA = ((self.logits_XA + self._out_XA) / temperature).softmax(-1)
        slope_NA = -p_XA[state_N]
        slope_NA[torch.arange(len(id_N)), id_N % self.width] += 1.0
        whole_RXA = p_XA.new_zeros(batch.trajectories, *p_XA.shape)
        whole_RXA.index_put_((owner_N, state_N), slope_NA / temperature, accumulate=True)
        return whole_RXA.square().sum((1, 2))

    def _move(self, gradient_XA: Tensor, lr: float) -> None:
        if self._optimiser == "sgd":
            self.logits_XA = self.logits_XA - lr * gradient_XA
            return
        self._steps += 1
        self._mean_XA = _KEPT * self._mean_XA + (1 - _KEPT) * gradient_XA
        self._square_XA = _KEPT_SQUARES * self._square_XA + (1 - _KEPT_SQUARES) * gradient_XA.square()
        mean_XA = self._mean_XA / (1 - _KEPT**self._steps)
        square_XA = self._square_XA / (1 - _KEPT_SQUARES**self._steps)
        self.logits_XA = self.logits_XA - lr * mean_XA / (square_XA.sqrt() + _EPSILON)


class ActionSampler:
    """Samples actions from a table as it was when the sampler was made.

    Args:
        table: The policy.
        stream: Random stream; each sample takes one word.
    """

    def __init__(self, table: PolicyTable, stream: Stream) -> None:
        self._stream = stream
        p_XA: list[list[float]] = table.logprobs().exp().tolist()
        # The last bound of a row is left out: the rounding error above it belongs to the last action.
        self._bounds = [list(accumulate(row[: size - 1])) for row, size in zip(p_XA, table.sizes, strict=True)]

    def __call__(self, state: int) -> int:
        """See `Choose`."""
        return bisect_right(self._bounds[state], self._stream.word() / _TWO_64)


class Greedy:
    """Takes the most likely action of each state; of equally likely actions, the first."""

    def __init__(self, table: PolicyTable) -> None:
        self._best: list[int] = table.logprobs().argmax(-1).tolist()

    def __call__(self, state: int) -> int:
        """See `Choose`."""
        return self._best[state]
