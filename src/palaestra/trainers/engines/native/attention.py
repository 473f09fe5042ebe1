"""How the tokens of a mixed pass see each other: turns that draw, one token each, and contexts that are taken in.

Axes: T tokens of the pass, H heads, G key-value heads, S heads that share one (H = G * S), D head dimension, R rows of
a run, Q tokens of a chunk, W places.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from palaestra.trainers.engines.native.memory import RowMemory


@dataclass(frozen=True, slots=True, kw_only=True)
class RowRun:
    """Neighbouring rows that put one token each through the model."""

    start: int
    """Of its tokens in the pass."""
    row: int
    """The first."""
    lengths: Sequence[int]
    """Places that each row's token sees, itself included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Several tokens of one row."""

    start: int
    """Of its tokens in the pass."""
    row: int
    place: int
    """Of its first token in the row."""
    count: int


def runs_of(rows: Sequence[int], lengths: Sequence[int], *, padding: int) -> list[RowRun]:
    """Rows that put one token each through, as few runs as make sense.

    The rows of a run are worked on as if each were as long as the longest.

    Args:
        rows: In ascending order; the tokens of the pass stand in the same one.
        lengths: Places that each row's token sees.
        padding: Places beyond their rows' own that a run may work on for nothing, rather than be two.
    """
    runs: list[RowRun] = []
    start = longest = total = 0
    for i, (row, length) in enumerate(zip(rows, lengths, strict=True)):
        longest, total = max(longest, length), total + length
        if i > start and (row != rows[i - 1] + 1 or longest * (i + 1 - start) - total > padding):
            runs.append(RowRun(start=start, row=rows[start], lengths=lengths[start:i]))
            start, longest, total = i, length, length
    if rows:
        runs.append(RowRun(start=start, row=rows[start], lengths=lengths[start:]))
    return runs


class Pass:
    """The attention of one pass; what each layer makes of its tokens is kept in the memory.

    Args:
        memory: Wide enough.
        runs: The turns that draw.
        chunks: The contexts that are taken in.
    """

    def __init__(self, memory: RowMemory, runs: Sequence[RowRun], chunks: Sequence[Chunk]) -> None:
        self._memory = memory
        device = memory.keys[0].device
        rows = [run.row + i for run in runs for i in range(len(run.lengths))]
        places = [length - 1 for run in runs for length in run.lengths]
        for chunk in chunks:
            rows += [chunk.row] * chunk.count
            places += range(chunk.place, chunk.place + chunk.count)
        self.place_T = torch.tensor(places, device=device)
        """The place of each token in its sequence."""
        self._row_T = torch.tensor(rows, device=device)
        self._spots = memory.spots(self._row_T, self.place_T)
        self._runs = [(run, _mask_unseen(run.lengths, memory, max(run.lengths))) for run in runs]
        self._chunks = [(chunk, _causal(chunk, memory)) for chunk in chunks]

    def move(self, lengths: Sequence[int]) -> None:
        """Use a pass of one run again, for lengths up to the longest it was made for; its tensors stay in place."""
        ((_, mask_R11W),) = self._runs
        self.place_T.copy_(torch.tensor(lengths) - 1)
        self._spots.copy_(self._memory.spots(self._row_T, self.place_T))
        mask_R11W.copy_(_mask_unseen(lengths, self._memory, mask_R11W.shape[-1]))

    def __call__(self, layer: int, q_THD: Tensor, k_TGD: Tensor, v_TGD: Tensor, /) -> Tensor:
        """See `Attend`."""
        memory = self._memory
        memory.write(layer, self._spots, k_TGD.to(memory.dtype), v_TGD.to(memory.dtype))
        q_TGSD = q_THD.to(memory.dtype).unflatten(1, (k_TGD.shape[1], -1))
        keys_RGWD, values_RGWD = memory.keys[layer], memory.values[layer]
        seen: list[Tensor] = []
        for run, mask_R11W in self._runs:
            rows, width = slice(run.row, run.row + len(run.lengths)), mask_R11W.shape[-1]
            # The heads that share keys stand where a sequence has its tokens: so each key is read once.
            seen_RGSD = functional.scaled_dot_product_attention(
                q_TGSD[run.start : run.start + len(run.lengths)],
                keys_RGWD[rows, :, :width],
                values_RGWD[rows, :, :width],
                attn_mask=mask_R11W,
            )
            seen.append(seen_RGSD.flatten(1, 2))
        for chunk, mask_QW in self._chunks:
            end = chunk.place + chunk.count
            q_SGQD = q_TGSD[chunk.start : chunk.start + chunk.count].permute(2, 1, 0, 3)
            shared = (len(q_SGQD), -1, -1, -1)
            seen_SGQD = functional.scaled_dot_product_attention(
                q_SGQD,
                keys_RGWD[chunk.row, :, :end].expand(shared),
                values_RGWD[chunk.row, :, :end].expand(shared),
                attn_mask=mask_QW,
                is_causal=mask_QW is None,
            )
            seen.append(seen_SGQD.permute(2, 1, 0, 3).flatten(1, 2))
        return (seen[0] if len(seen) == 1 else torch.cat(seen)).to(q_THD.dtype)


def _mask_unseen(lengths: Sequence[int], memory: RowMemory, width: int) -> Tensor:
    """What is added to the scores of each row's token: 0 for its own places, else minus infinity."""
    device = memory.keys[0].device
    later_RW = torch.arange(width, device=device) >= torch.tensor(lengths, device=device)[:, None]
    mask_RW = torch.zeros(later_RW.shape, dtype=memory.dtype, device=device).masked_fill_(later_RW, -torch.inf)
    return mask_RW[:, None, None]


def _causal(chunk: Chunk, memory: RowMemory) -> Tensor | None:
    """Which places each token of a chunk sees, [Q, W]; `None` where the chunk begins its row."""
    if chunk.place == 0:
        return None
    device = memory.keys[0].device
    own_Q1 = torch.arange(chunk.place, chunk.place + chunk.count, device=device)[:, None]
    return torch.arange(chunk.place + chunk.count, device=device) <= own_Q1
