"""Attention of a pass with the kernels: one token of a sequence and several are handled alike.

Axes: T tokens of the pass, H heads, G key-value heads, D head dimension.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from palaestra.trainers.engines.native.attention import SequenceSpan
from palaestra.trainers.engines.native.kernels.compiled import Kernels
from palaestra.trainers.engines.native.pages import PagedMemory


class CompiledPass:
    """The attention of one pass; each layer's keys and values are stored in memory.

    Args:
        kernels: The kernels, for a CPU.
        memory: The memory of all sequences.
        spans: The spans of the sequences, in the order of the tokens.
    """

    def __init__(self, kernels: Kernels, memory: PagedMemory, spans: Sequence[SequenceSpan]) -> None:
        self._kernels = kernels
        self._memory = memory
        self._table_RP = memory.table([span.pages for span in spans])
        self._row_T = torch.tensor([row for row, span in enumerate(spans) for _ in range(span.count)])
        self.place_T = torch.tensor([place for span in spans for place in range(span.place, span.end)])
        """The place of each token in its sequence."""

    def __call__(self, layer: int, q_THD: Tensor, k_TGD: Tensor, v_TGD: Tensor, /) -> Tensor:
        """See `Attend`."""
        return self._kernels.attend(
            q_THD,
            k_TGD,
            v_TGD,
            self._memory.layers[layer],
            table_RP=self._table_RP,
            row_T=self._row_T,
            place_T=self.place_T,
        )
