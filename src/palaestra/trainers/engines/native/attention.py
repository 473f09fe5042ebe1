"""Attention of a mixed pass: turns that sample, with one token each, and contexts that are being read.

Torch's attention does not read pages, so they are gathered first.

Axes: T tokens of the pass, H heads, G key-value heads, S heads that share one (H = G * S), D head dimension, R
sequences of a run, P pages of a sequence, Q tokens of a chunk, W places.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile

import torch
from torch import Tensor
from torch.nn import functional

from palaestra.trainers.engines.native.pages import PagedMemory


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceSpan:
    """The tokens of a pass that belong to one sequence."""

    pages: Sequence[int]
    """The pages of the sequence; they have room for the tokens."""
    place: int
    """The place of the first token in the sequence."""
    count: int

    @property
    def end(self) -> int:
        """The number of places that the last token sees, itself included."""
        return self.place + self.count


def runs_of(lengths: Sequence[int], *, padding: int) -> list[slice]:
    """Split neighbouring sequences of one token each into as few runs as are worthwhile.

    All sequences of a run are computed as if each had the length of the longest.

    Args:
        lengths: The number of places that each sequence's token sees.
        padding: The number of unneeded places that a run may compute before it is split in two.
    """
    runs: list[slice] = []
    start = longest = total = 0
    for i, length in enumerate(lengths):
        longest, total = max(longest, length), total + length
        if i > start and longest * (i + 1 - start) - total > padding:
            runs.append(slice(start, i))
            start, longest, total = i, length, length
    return [*runs, slice(start, len(lengths))] if lengths else []


class PassPlaces:
    """The places of a pass's tokens in their sequences and in memory.

    Args:
        memory: The memory of their keys and values.
        spans: The spans of the sequences, in the order of the tokens.
    """

    def __init__(self, memory: PagedMemory, spans: Sequence[SequenceSpan]) -> None:
        self._memory = memory
        device = memory.keys[0].device
        places = [place for span in spans for place in range(span.place, span.end)]
        pages = [span.pages[place // memory.places] for span in spans for place in range(span.place, span.end)]
        self.place_T = torch.tensor(places, device=device)
        """The place of each token in its sequence."""
        self.page_T = torch.tensor(pages, device=device)
        self.spot_T = self.place_T % memory.places

    def move(self, spans: Sequence[SequenceSpan]) -> None:
        """Use the same tensors for the same number of other tokens."""
        new = PassPlaces(self._memory, spans)
        self.place_T.copy_(new.place_T)
        self.page_T.copy_(new.page_T)
        self.spot_T.copy_(new.spot_T)

    def write(self, layer: int, k_TGD: Tensor, v_TGD: Tensor) -> None:
        """Store a layer's keys and values of the tokens."""
        self._memory.write(layer, self.page_T, self.spot_T, k_TGD, v_TGD)


class Pass:
    """The attention of one pass; each layer's keys and values are stored in memory.

    Args:
        memory: The memory of all sequences.
        spans: The spans of the sequences, in the order of the tokens. The first spans of one token each are computed
            together.
        padding: See `runs_of`; `None` for one run.
    """

    def __init__(self, memory: PagedMemory, spans: Sequence[SequenceSpan], *, padding: int | None = None) -> None:
        self._memory = memory
        self._places = PassPlaces(memory, spans)
        self.place_T = self._places.place_T
        """The place of each token in its sequence."""
        device = memory.keys[0].device
        singles = list(takewhile(lambda span: span.count == 1, spans))
        runs = (
            ([slice(0, len(singles))] if singles else [])
            if padding is None
            else runs_of([span.end for span in singles], padding=padding)
        )
        self._runs = [(run, *self._lay_out(singles[run])) for run in runs]
        several = spans[len(singles) :]
        starts = accumulate((span.count for span in several), initial=len(singles))
        self._chunks = [
            (start, span, memory.table([span.pages]).to(device), _causal(span, device))
            for start, span in zip(starts, several, strict=False)
        ]

    def _lay_out(self, spans: Sequence[SequenceSpan], *, pages: int = 0) -> tuple[Tensor, Tensor]:
        """The pages of a run, and the mask added to the scores of its tokens: 0 for their own places, else -inf."""
        memory = self._memory
        device = memory.keys[0].device
        table_RP = memory.table([span.pages for span in spans], pages=pages).to(device)
        lengths_R1 = torch.tensor([span.end for span in spans], device=device)[:, None]
        later_RW = torch.arange(table_RP.shape[1] * memory.places, device=device) >= lengths_R1
        mask_RW = torch.zeros(later_RW.shape, dtype=memory.dtype, device=device).masked_fill_(later_RW, -torch.inf)
        return table_RP, mask_RW[:, None, None]

    def move(self, spans: Sequence[SequenceSpan]) -> None:
        """Reuse a pass of one run for sequences with at most as many pages; its tensors keep their addresses."""
        ((_, table_RP, mask_R11W),) = self._runs
        new_RP, new_R11W = self._lay_out(spans, pages=table_RP.shape[1])
        table_RP.copy_(new_RP)
        mask_R11W.copy_(new_R11W)
        self._places.move(spans)

    def __call__(self, layer: int, q_THD: Tensor, k_TGD: Tensor, v_TGD: Tensor, /) -> Tensor:
        """See `Attend`."""
        self._places.write(layer, k_TGD, v_TGD)
        q_TGSD = q_THD.to(self._memory.dtype).unflatten(1, (k_TGD.shape[1], -1))
        seen: list[Tensor] = []
        for run, table_RP, mask_R11W in self._runs:
            keys_RGWD, values_RGWD = self._gather(layer, table_RP)
            # Heads that share keys take the axis of a sequence's tokens, so that each key is read once.
            seen_RGSD = functional.scaled_dot_product_attention(
                q_TGSD[run], keys_RGWD, values_RGWD, attn_mask=mask_R11W
            )
            seen.append(seen_RGSD.flatten(1, 2))
        for start, span, table_1P, mask_QW in self._chunks:
            keys_1GWD, values_1GWD = self._gather(layer, table_1P)
            q_SGQD = q_TGSD[start : start + span.count].permute(2, 1, 0, 3)
            shared = (len(q_SGQD), -1, -1, -1)
            seen_SGQD = functional.scaled_dot_product_attention(
                q_SGQD,
                keys_1GWD[:, :, : span.end].expand(shared),
                values_1GWD[:, :, : span.end].expand(shared),
                attn_mask=mask_QW,
                is_causal=mask_QW is None,
            )
            seen.append(seen_SGQD.permute(2, 1, 0, 3).flatten(1, 2))
        return (seen[0] if len(seen) == 1 else torch.cat(seen)).to(q_THD.dtype)

    def _gather(self, layer: int, table_RP: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of sequences, [R, G, W, D] each."""
        keys_RPWGD, values_RPWGD = self._memory.read(layer, table_RP)
        return keys_RPWGD.flatten(1, 2).transpose(1, 2), values_RPWGD.flatten(1, 2).transpose(1, 2)


def _causal(span: SequenceSpan, device: torch.device) -> Tensor | None:
    """The places that each token of a chunk sees, [Q, W]; `None` if the chunk starts its sequence."""
    if span.place == 0:
        return None
    own_Q1 = torch.arange(span.place, span.end, device=device)[:, None]
    return torch.arange(span.end, device=device) <= own_Q1
