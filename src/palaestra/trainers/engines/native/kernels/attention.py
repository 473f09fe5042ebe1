"""How the tokens of a pass see each other, by the kernels: no difference between one token of a row and several.

Axes: T tokens of the pass, H heads, G key-value heads, D head dimension.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from palaestra.trainers.engines.native.kernels.compiled import Kernels
from palaestra.trainers.engines.native.memory import RowMemory


class CompiledPass:
    """The attention of one pass; what each layer makes of its tokens is kept in the memory.

    Args:
        kernels: On a processor.
        memory: Wide enough.
        rows: Of each token.
        places: Of each token in its row; it sees those before it and itself.
    """

    def __init__(self, kernels: Kernels, memory: RowMemory, rows: Sequence[int], places: Sequence[int]) -> None:
        self._kernels = kernels
        self._memory = memory
        self._row_T = torch.tensor(rows)
        self.place_T = torch.tensor(places)
        """The place of each token in its sequence."""

    def __call__(self, layer: int, q_THD: Tensor, k_TGD: Tensor, v_TGD: Tensor, /) -> Tensor:
        """See `Attend`."""
        return self._kernels.attend(q_THD, k_TGD, v_TGD, self._memory.layers[layer], self._row_T, self.place_T)
