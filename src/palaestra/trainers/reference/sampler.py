"""Sampling: many episodes in one batch, their keys and values kept while their worlds answer.

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
"""The greatest number below 1 in single precision: noise of exactly 1 would pass every token."""


@dataclass(slots=True)
class SamplerRow:
    """An episode's place in the batch."""

    noise: Stream
    """Where its sampling noise comes from: its own, so that its neighbours do not matter."""
    length: int = 0
    """Its tokens in the cache."""
    pending: list[int] = field(default_factory=list[int])
    """Its tokens that are not in the cache yet."""
    drawn: list[int] = field(default_factory=list[int])
    """What it sampled in this turn."""
    logprobs: list[float] = field(default_factory=list[float])
    """Of `drawn`, under the distribution that it was drawn from."""


class Sampler:
    """Draws turns for a batch of episodes from a model's distribution at a temperature, all of it: no top-p, no top-k.

    Args:
        policy: Whose model, and whose end token.
        rows: Episodes in the batch.
        capacity: Tokens that an episode may have.
        temperature: Above 0.
    """

    def __init__(self, policy: ReferencePolicy, *, rows: int, capacity: int, temperature: float = 1.0) -> None:
        self._policy = policy
        self._end = policy.codec.end_id
        self._temperature = temperature
        self._capacity = capacity
        self._cache = RaggedCache(policy.model.config.num_hidden_layers, capacity)
        self.rows: list[SamplerRow | None] = [None] * rows

    def room(self, row: SamplerRow) -> int:
        """Tokens that the row may still have."""
        return self._capacity - row.length - len(row.pending)

    @torch.inference_mode()
    def turn(self, limit: int) -> None:
        """Let every row that has pending tokens write a turn: up to the end token, or `limit` tokens."""
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
        """Of the token after the pending ones, which enter the cache."""
        new = [row.pending if row is not None and on else [] for row, on in zip(self.rows, writing, strict=True)]
        q = max(map(len, new))
        device = self._policy.model.device
        ids_BQ = torch.tensor([ids + [0] * (q - len(ids)) for ids in new], device=device)
        start_B = torch.tensor([row.length if row is not None else 0 for row in self.rows], device=device)
        place_BQ = (start_B[:, None] + torch.arange(q, device=device)).clamp_max(self._capacity - 1)
        # A row at rest or a short one writes padding after its own tokens, which no token of it ever sees.
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
        """One token a row, by inversion: the first whose cumulated probability passes the row's own noise."""
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
