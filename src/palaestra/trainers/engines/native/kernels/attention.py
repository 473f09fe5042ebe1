"""How the tokens of a pass see each other, by the kernels: no difference between one token of a sequence and several.

Axes: T tokens of the pass, H heads, G key-value heads, D head dimension.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from palaestra.trainers.engines.native.attention import SequenceSpan
from palaestra.trainers.engines.native.kernels.compiled import Kernels
from palaestra.trainers.engines.native.pages import PagedMemory


class CompiledPass:
    """The attention of one pass; what each layer makes of its tokens is kept in the memory.

    Args:
        kernels: On a processor.
        memory: Of all sequences.
        spans: In the order of the tokens.
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
