"""Episodes flattened into aligned arrays.

Axes: B sequences, T tokens.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from palaestra.seeding import Stream
from palaestra.tools import ChatFormat
from palaestra.trainers.codec import Codec
from palaestra.trajectory import Episode, Tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBatch:
    """Sequences padded on the right to one length."""

    ids_BT: Tensor
    """Token ids; 0 in the padding."""
    trained_BT: Tensor
    """Which tokens carry loss: the policy's own, and nobody else's. The first of a sequence never does."""
    logprob_BT: Tensor
    """Of each trained token when it was sampled; 0 elsewhere."""
    advantage_B: Tensor
    """Of each sequence; 1 where there is nothing to compare."""

    def to(self, device: torch.device) -> "TokenBatch":
        """The batch on another device."""
        return TokenBatch(
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


def demonstration(episode: Episode, codec: Codec) -> Tokens:
    """An episode as the policy would have read and written it; its turns count as sampled, with certainty."""
    ids: list[int] = []
    sampled: list[bool] = []
    for pieces, own in _deltas(episode, codec.format):
        new = codec.encode(pieces)
        ids += new
        sampled += [own] * len(new)
    return Tokens(ids=tuple(ids), sampled=tuple(sampled), logprobs=(0.0,) * len(ids), version=0)


def rendered(episode: Episode, form: ChatFormat) -> list[str]:
    """An episode as pieces of text and marks: what a tokenizer is learnt from."""
    return [piece for pieces, _ in _deltas(episode, form) for piece in pieces]


def _deltas(episode: Episode, form: ChatFormat) -> Iterator[tuple[list[str], bool]]:
    """What is appended in turn, and whether it is the policy's own."""
    rendering = form.rendering()
    segment = episode.segments[0]
    yield rendering.opening(segment.prompt, episode.tools), False
    for turn in segment.turns:
        yield rendering.written(turn.calls), True
        yield rendering.following(turn.observation), False


def batched(samples: Sequence[Sample]) -> TokenBatch:
    """Pad `samples` to the longest; what follows the last trained token of each is left out, for nothing reads it."""
    lengths = [max((i + 1 for i, own in enumerate(s.tokens.sampled) if own), default=1) for s in samples]
    shape = (len(samples), max(lengths))
    ids = torch.zeros(shape, dtype=torch.long)
    trained = torch.zeros(shape, dtype=torch.bool)
    logprob = torch.zeros(shape)
    for row, (sample, n) in enumerate(zip(samples, lengths, strict=True)):
        ids[row, :n] = torch.tensor(sample.tokens.ids[:n])
        trained[row, :n] = torch.tensor(sample.tokens.sampled[:n])
        logprob[row, :n] = torch.tensor(sample.tokens.logprobs[:n])
    trained[:, 0] = False  # nothing stands before it that could predict it
    return TokenBatch(
        ids_BT=ids,
        trained_BT=trained,
        logprob_BT=logprob.masked_fill(~trained, 0.0),
        advantage_B=torch.tensor([s.advantage for s in samples]),
    )


def by_length(samples: Iterable[Sample], *, tokens: int) -> Iterator[list[Sample]]:
    """Micro-batches of sequences of like length, of at most `tokens` tokens each with padding (or one sequence)."""
    group: list[Sample] = []
    for sample in sorted(samples, key=lambda s: len(s.tokens.ids)):
        if group and (len(group) + 1) * len(sample.tokens.ids) > tokens:
            yield group
            group = []
        group.append(sample)
    if group:
        yield group


def epochs(count: int, *, size: int, stream: Stream) -> Iterator[list[int]]:
    """Without end: lists of `size` places below `count`, each place once before any comes again."""
    deck: list[int] = []
    while True:
        while len(deck) < size:
            deck += stream.shuffled(range(count))
        yield deck[:size]
        deck = deck[size:]


class Deal:
    """What each step draws from `count` things, asked for in any order; see `epochs`."""

    def __init__(self, count: int, *, size: int, stream: Stream) -> None:
        self._epochs = epochs(count, size=size, stream=stream)
        self._drawn: list[list[int]] = []

    def at(self, step: int) -> list[int]:
        """The places that step number `step` draws."""
        while len(self._drawn) <= step:
            self._drawn.append(next(self._epochs))
        return self._drawn[step]
