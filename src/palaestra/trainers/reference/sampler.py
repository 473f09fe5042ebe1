"""Sampling for many episodes in one batch; keys and values are kept while worlds answer.

Axes: B rows of the batch, Q new tokens, V vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from palaestra.seeding import Stream
from palaestra.trainers.reference.cache import RaggedCache
from palaestra.trainers.reference.policy import ReferencePolicy

_BELOW_ONE = 1 - 2.0**-24
"""The greatest number below 1 in single precision: noise of exactly 1 would be above every token's probability."""


@dataclass(slots=True)
class SamplerRow:
    """An episode's row in the batch."""

    noise: Stream
    """The random stream of the row's sampling noise; each row has its own, so other rows do not affect it."""
    length: int = 0
    """The number of tokens in the cache."""
    pending: list[int] = field(default_factory=list[int])
    """Tokens that are not in the cache yet."""
    drawn: list[int] = field(default_factory=list[int])
    """The sampled tokens of this turn."""
    logprobs: list[float] = field(default_factory=list[float])
    """The log-probabilities of `drawn`, under the distribution from which they were sampled."""


class Sampler:
    """Samples turns for a batch of episodes from a model's whole distribution at a temperature: no top-p, no top-k.

    Args:
        policy: The policy; it provides the model and the end token.
        rows: The number of episodes in the batch.
        capacity: The maximum number of tokens of an episode.
        temperature: The temperature, above 0.
    """

    def __init__(self, policy: ReferencePolicy, *, rows: int, capacity: int, temperature: float = 1.0) -> None:
        self._policy = policy
        self._end = policy.codec.end_id
        self._temperature = temperature
        self._capacity = capacity
        self._cache = RaggedCache(policy.model.config.num_hidden_layers, capacity)
        self.rows: list[SamplerRow | None] = [None] * rows

    def room(self, row: SamplerRow) -> int:
        """The number of further tokens that the row may have."""
        return self._capacity - row.length - len(row.pending)

    @torch.inference_mode()
    def turn(self, limit: int) -> None:
        """Let every row with pending tokens write a turn: up to the end token, or `limit` tokens."""
        writing = [row is not None and bool(row.pending) for row in self.rows]
        for row in self.rows:
            if row is not None:
                row.drawn, row.logprobs = [], []
        for _ in range(limit):
            if not any(writing):
                return
            logits_BV = self._logits(writing)
            ids, logprobs = self._draw(logits_BV, writing)
            for i, row in enumerate(self.rows):
                if row is None or not writing[i]:
                    continue
                row.drawn.append(ids[i])
                row.logprobs.append(logprobs[i])
                row.pending = [ids[i]]
                writing[i] = ids[i] != self._end and self.room(row) > 0

    def _logits(self, writing: Sequence[bool]) -> Tensor:
        """The logits of the token after the pending ones, [B, V]; the pending tokens enter the cache."""
        new = [row.pending if row is not None and on else [] for row, on in zip(self.rows, writing, strict=True)]
        q = max(map(len, new))
        device = self._policy.model.device
        ids_BQ = torch.tensor([ids + [0] * (q - len(ids)) for ids in new], device=device)
        start_B = torch.tensor([row.length if row is not None else 0 for row in self.rows], device=device)
        place_BQ = (start_B[:, None] + torch.arange(q, device=device)).clamp_max(self._capacity - 1)
        # An idle or short row writes padding after its own tokens; none of its tokens ever sees the padding.
        hidden_BQD = self._policy.hidden_states(
            ids_BQ,
            attention_mask=self._cache.place(place_BQ),
            position_ids=place_BQ,
            cache=self._cache,
            use_cache=True,
        )
        for row, ids in zip(self.rows, new, strict=True):
            if row is not None and ids:
                row.length += len(ids)
                row.pending = []
        last_BD = hidden_BQD[range(len(new)), [max(len(ids) - 1, 0) for ids in new]]
        return self._policy.logits(last_BD)

    def _draw(self, logits_BV: Tensor, writing: Sequence[bool]) -> tuple[list[int], list[float]]:
        """Sample one token per row by inversion: the first whose cumulative probability exceeds the row's noise."""
        logp_BV = (logits_BV.float() / self._temperature).log_softmax(-1)
        below_BV = logp_BV.exp().cumsum(-1)
        noise_B = torch.tensor(
            [
                min(row.noise.word() / 2.0**64, _BELOW_ONE) if row is not None and on else 0.0
                for row, on in zip(self.rows, writing, strict=True)
            ],
            device=logits_BV.device,
        )
        ids_B = torch.searchsorted(below_BV, (noise_B * below_BV[:, -1])[:, None], right=True)[:, 0]
        ids_B = ids_B.clamp_max(logits_BV.shape[-1] - 1)
        return ids_B.tolist(), logp_BV.gather(-1, ids_B[:, None])[:, 0].tolist()
