"""The learner: a policy and its optimiser, which trains on samples.

Axes: B sequences, T tokens, N trained tokens of a micro-batch, D hidden, V vocabulary.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from palaestra.trainers.reference.batch import PaddedBatch, Sample, by_length, pad_batch
from palaestra.trainers.reference.grpo import grpo_loss
from palaestra.trainers.reference.policy import ReferencePolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimiserConfig:
    """The settings of AdamW, and the size of a micro-batch."""

    lr: float
    betas: tuple[float, float] = (0.9, 0.95)
    weight_decay: float = 0.01
    max_norm: float = 1.0
    """The maximum norm of the gradient; a larger one is scaled down to it."""
    micro_tokens: int = 16_384
    """The maximum tokens of a micro-batch, padding included; memory depends on it, the result does not."""


class ReferenceLearner:
    """A policy under training."""

    def __init__(self, policy: ReferencePolicy, config: OptimiserConfig) -> None:
        self.policy = policy
        self._config = config
        self.optimiser = torch.optim.AdamW(
            policy.model.parameters(), lr=config.lr, betas=config.betas, weight_decay=config.weight_decay
        )

    def supervised_step(self, samples: Sequence[Sample], *, lr: float) -> dict[str, float]:
        """Take one supervised step on demonstrations: the mean cross-entropy over their trained tokens."""
        total = sum(sum(sample.tokens.sampled) for sample in samples)

        def loss(batch: PaddedBatch) -> Tensor:
            return cross_entropy(self._logits(batch), _targets(batch), reduction="sum") / total

        return self._step(samples, loss, lr=lr)

    def grpo_step(
        self, samples: Sequence[Sample], *, lr: float, clip: float, temperature: float, sequences: int
    ) -> dict[str, float]:
        """Take one step of GRPO.

        Args:
            samples: Samples with their advantages; those with advantage 0 may be left out, since they have no gradient.
            lr: The learning rate of this step.
            clip: See `grpo_loss`.
            temperature: The temperature at which the samples were drawn.
            sequences: The number of sequences of the mean, left-out ones included.
        """

        def loss(batch: PaddedBatch) -> Tensor:
            logp_BT = self.logprobs(batch, temperature=temperature)
            return grpo_loss(logp_BT, batch.logprob_BT, batch.advantage_B, batch.trained_BT, clip=clip) / sequences

        return self._step(samples, loss, lr=lr)

    def logprobs(self, batch: PaddedBatch, *, temperature: float = 1.0) -> Tensor:
        """The log-probability of each trained token under the current policy, [B, T]; 0 elsewhere."""
        logits_NV = self._logits(batch).float() / temperature
        logp_N = -cross_entropy(logits_NV, _targets(batch), reduction="none")
        return torch.zeros_like(batch.logprob_BT).masked_scatter(batch.trained_BT, logp_N)

    def _logits(self, batch: PaddedBatch) -> Tensor:
        """The logits for the trained tokens only, [N, V]: the vocabulary is large, and most tokens are not trained."""
        hidden_BTD = self.policy.hidden_states(batch.ids_BT, use_cache=False)
        return self.policy.logits(hidden_BTD[:, :-1][batch.trained_BT[:, 1:]])

    def _step(
        self, samples: Sequence[Sample], loss_of: Callable[[PaddedBatch], Tensor], *, lr: float
    ) -> dict[str, float]:
        self.policy.model.train()
        total = 0.0
        for group in by_length(samples, tokens=self._config.micro_tokens):
            loss = loss_of(pad_batch(group).to(self.policy.model.device))
            loss.backward()
            total += loss.item()
        norm = torch.nn.utils.clip_grad_norm_(self.policy.model.parameters(), self._config.max_norm)
        for parameters in self.optimiser.param_groups:
            parameters["lr"] = lr
        self.optimiser.step()
        self.optimiser.zero_grad()
        self.policy.model.eval()
        return {"loss": total, "gradient_norm": norm.item()}


def _targets(batch: PaddedBatch) -> Tensor:
    return batch.ids_BT[:, 1:][batch.trained_BT[:, 1:]]
