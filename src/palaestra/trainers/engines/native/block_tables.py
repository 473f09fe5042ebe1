"""Attention that reads pages in place: one call for all tokens of a pass (torch's varlen attention, CUDA).

Axes: T tokens of the pass, R sequences, P pages of a sequence, H heads, G key-value heads, D head dimension.
"""

from collections.abc import Sequence
from inspect import signature
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import varlen

from palaestra.trainers.engines.native.attention import PassPlaces, SequenceSpan
from palaestra.trainers.engines.native.pages import PagedMemory

_attend: Any = varlen.varlen_attn  # its arguments differ between versions of torch
_FORMATS = (torch.bfloat16, torch.float16)
_CAUSAL = (-1, 0)


def reads_pages(memory: PagedMemory) -> bool:
    """Whether torch's attention can read this memory's pages: on CUDA, in half precision, with a recent torch."""
    on_cuda = memory.keys[0].device.type == "cuda"
    known = memory.dtype in _FORMATS and not memory.quantised
    return on_cuda and known and "block_table" in signature(_attend).parameters


class BlockTablePass:
    """The attention of one pass; each layer's keys and values are stored in memory.

    Args:
        memory: The memory of all sequences.
        spans: The spans of the sequences, in the order of the tokens.
        attend: A function with the signature of torch's varlen attention.
    """

    def __init__(self, memory: PagedMemory, spans: Sequence[SequenceSpan], *, attend: Any = _attend) -> None:
        self._memory = memory
        self._attend = attend
        self._places = PassPlaces(memory, spans)
        self.place_T = self._places.place_T
        """The place of each token in its sequence."""
        device = memory.keys[0].device
        self._table_RP = memory.table([span.pages for span in spans]).to(device, torch.int32)
        self._seen_R = torch.tensor([span.end for span in spans], dtype=torch.int32, device=device)
        self._ends_of_q = _ends([span.count for span in spans]).to(device)
        self._ends_of_k = _ends([span.end for span in spans]).to(device)
        self._most = max(span.count for span in spans)

    def move(self, spans: Sequence[SequenceSpan]) -> None:
        """Reuse the pass for as many tokens per sequence and at most as many pages; tensors keep their addresses."""
        self._table_RP.copy_(self._memory.table([span.pages for span in spans], pages=self._table_RP.shape[1]))
        self._seen_R.copy_(torch.tensor([span.end for span in spans]))
        self._ends_of_k.copy_(_ends([span.end for span in spans]))
        self._places.move(spans)

    def __call__(self, layer: int, q_THD: Tensor, k_TGD: Tensor, v_TGD: Tensor, /) -> Tensor:
        """See `Attend`."""
        memory = self._memory
        self._places.write(layer, k_TGD, v_TGD)
        seen_THD: Tensor = self._attend(
            q_THD.to(memory.dtype),
            memory.keys[layer],
            memory.values[layer],
            self._ends_of_q,
            self._ends_of_k,
            self._most,
            self._table_RP.shape[1] * memory.places,
            window_size=_CAUSAL,
            enable_gqa=True,
            seqused_k=self._seen_R,
            block_table=self._table_RP,
        )
        return seen_THD.to(q_THD.dtype)


def _ends(counts: Sequence[int]) -> Tensor:
    """The start of each sequence and the end of the last one, [R + 1]."""
    return torch.tensor(list(accumulate(counts, initial=0)), dtype=torch.int32)
