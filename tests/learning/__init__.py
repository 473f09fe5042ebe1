"""Sequences of unlike lengths, as the learner reads them and as the reference does."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

import torch
from torch import Tensor

from palaestra.seeding import Stream
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.data.flatten import flatten_tokens
from palaestra.trainers.reference.batch import Sample
from palaestra.trajectory import Span, Tokens

ADVANTAGES = (1.0, -0.5, 0.25, -1.0, 2.0, 0.0, -1.5)


def sequences(count: int = len(ADVANTAGES), *, vocabulary: int = 48, seed: int = 0) -> list[Tokens]:
    """Random tokens, about half of them sampled, in turns; the last one is the policy's, the first is not."""
    return [_sequence(Stream.root("sequence", seed, number), 4 + 5 * number, vocabulary) for number in range(count)]


def _sequence(stream: Stream, count: int, vocabulary: int) -> Tokens:
    sampled = tuple(i == count - 1 or (i > 0 and stream.chance(50)) for i in range(count))
    runs = [list(run) for own, run in groupby(range(count), key=sampled.__getitem__) if own]
    return Tokens(
        ids=tuple(stream.below(vocabulary) for _ in range(count)),
        sampled=sampled,
        logprobs=tuple(-stream.below(80) / 10 if own else 0.0 for own in sampled),
        versions=(1,) * count,
        spans=tuple(Span(kind="turn", start=run[0], end=run[-1] + 1) for run in runs),
        stops=tuple("end" for _ in runs),
    )


def weighed(tokens: Sequence[Tokens], advantages: Sequence[float] = ADVANTAGES) -> TokenBatch:
    """The batch of `tokens`, with the advantage of each."""
    batch = flatten_tokens(tokens)
    advantage_R = torch.tensor(advantages[: batch.trajectories])
    return replace(batch, advantage_T=advantage_R[batch.trajectory_T].masked_fill(~batch.trained_T, 0.0))


def samples(tokens: Sequence[Tokens], advantages: Sequence[float] = ADVANTAGES) -> list[Sample]:
    """The same for the reference."""
    return [Sample(tokens=t, advantage=a) for t, a in zip(tokens, advantages, strict=False)]


def in_rows(x_T: Tensor, batch: TokenBatch) -> Tensor:
    """Each trajectory's tokens in a row of their own, [B, L], padded with 0."""
    rows = [x_T[batch.trajectory_T == trajectory] for trajectory in range(batch.trajectories)]
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
