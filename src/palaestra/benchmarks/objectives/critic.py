"""A critic that is a table: one row of values for each state of a toy. Axes: T tokens, X states, H heads."""

from collections.abc import Sequence

import torch
from torch import Tensor

from palaestra.trainers.critic import ValueReading
from palaestra.trainers.data.batch import TokenBatch


class ValueTable:
    """What is expected in each state, all 0 at first; float64.

    Args:
        sizes: How many actions each state has; token ids say the state by the greatest of them.
        heads: Kinds of values.
        rate: How far a value moves towards the mean of what it should have been.
    """

    def __init__(self, sizes: Sequence[int], *, heads: int, rate: float = 0.2) -> None:
        self._width = max(sizes)
        self._rate = rate
        self.value_XH = torch.zeros(len(sizes), heads, dtype=torch.float64)

    def values(self, batch: TokenBatch) -> Tensor:
        """What each head expects where each trained token is drawn, [T, H]; 0 elsewhere."""
        return self.value_XH[batch.ids_T // self._width].masked_fill(~batch.trained_T[:, None], 0.0)

    def learn(self, batch: TokenBatch, reading: ValueReading, target: Tensor) -> None:
        """A step towards what came, of the states that were read.

        Args:
            batch: Whole trajectories.
            reading: Where values are read.
            target: What they ought to have been, as the reading's column.
        """
        off_TH = (reading.spread(target) - self.values(batch)).masked_fill(~reading.read_TH, 0.0)
        state_T = batch.ids_T // self._width
        zero_XH = torch.zeros_like(self.value_XH)
        count_XH = zero_XH.index_add(0, state_T, reading.read_TH.to(zero_XH.dtype))
        off_XH = zero_XH.index_add(0, state_T, off_TH)
        self.value_XH = self.value_XH + self._rate * off_XH / count_XH.clamp_min(1)
