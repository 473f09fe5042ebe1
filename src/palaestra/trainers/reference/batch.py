"""Sequences as aligned arrays with padding.

Axes: B sequences, T tokens.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from palaestra.trajectory import Tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class PaddedBatch:
    """Sequences padded on the right to one length."""

    ids_BT: Tensor
    """Token ids; 0 in the padding."""
    trained_BT: Tensor
    """Whether each token has a loss: only the policy's own tokens do, and never the first of a sequence."""
    logprob_BT: Tensor
    """The log-probability of each trained token when it was sampled; 0 elsewhere."""
    advantage_B: Tensor
    """The advantage of each sequence; 1 if there is nothing to compare."""

    def to(self, device: torch.device) -> "PaddedBatch":
        """The batch on another device."""
        return PaddedBatch(
            ids_BT=self.ids_BT.to(device),
            trained_BT=self.trained_BT.to(device),
            logprob_BT=self.logprob_BT.to(device),
            advantage_B=self.advantage_B.to(device),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One sequence to be trained on."""

    tokens: Tokens
    advantage: float = 1.0


def pad_batch(samples: Sequence[Sample]) -> PaddedBatch:
    """Pad `samples` to the longest; tokens after the last trained one of each are left out, as nothing reads them."""
    lengths = [max((i + 1 for i, own in enumerate(s.tokens.sampled) if own), default=1) for s in samples]
    shape = (len(samples), max(lengths))
    ids = torch.zeros(shape, dtype=torch.long)
    trained = torch.zeros(shape, dtype=torch.bool)
    logprob = torch.zeros(shape)
    for row, (sample, n) in enumerate(zip(samples, lengths, strict=True)):
        ids[row, :n] = torch.tensor(sample.tokens.ids[:n])
        trained[row, :n] = torch.tensor(sample.tokens.sampled[:n])
        logprob[row, :n] = torch.tensor(sample.tokens.logprobs[:n])
    trained[:, 0] = False  # no token before it predicts it
    return PaddedBatch(
        ids_BT=ids,
        trained_BT=trained,
        logprob_BT=logprob.masked_fill(~trained, 0.0),
        advantage_B=torch.tensor([s.advantage for s in samples]),
    )


def by_length(samples: Iterable[Sample], *, tokens: int) -> Iterator[list[Sample]]:
    """Yield micro-batches of similar length, each with at most `tokens` tokens, padding included, or one sequence."""
    group: list[Sample] = []
    for sample in sorted(samples, key=lambda s: len(s.tokens.ids)):
        if group and (len(group) + 1) * len(sample.tokens.ids) > tokens:
            yield group
            group = []
        group.append(sample)
    if group:
        yield group
