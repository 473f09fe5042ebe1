"""A critic that is a table with one row of values per state of a toy. Axes: T tokens, X states, H heads."""

from collections.abc import Sequence

import torch
from torch import Tensor

from palaestra.trainers.critic import ValueReading
from palaestra.trainers.data.batch import TokenBatch


class ValueTable:
    """The expected return in each state, initially 0; float64.

    Args:
        sizes: The number of actions of each state; a token id encodes its state with the largest of these numbers.
        heads: Number of kinds of values.
        rate: The fraction by which a value moves towards the mean of its targets.
    """

    def __init__(self, sizes: Sequence[int], *, heads: int, rate: float = 0.2) -> None:
        self._width = max(sizes)
        self._rate = rate
        self.value_XH = torch.zeros(len(sizes), heads, dtype=torch.float64)

    def values(self, batch: TokenBatch) -> Tensor:
        """The value of each head at each trained token, [T, H]; 0 elsewhere."""
        return self.value_XH[batch.ids_T // self._width].masked_fill(~batch.trained_T[:, None], 0.0)

    def learn(self, batch: TokenBatch, reading: ValueReading, target: Tensor) -> None:
        """Move the values of the read states towards their targets.

        Args:
            batch: Whole trajectories.
            reading: The places where values are read.
            target: The targets, in the shape of the reading's column.
        """
        off_TH = (reading.spread(target) - self.values(batch)).masked_fill(~reading.read_TH, 0.0)
        state_T = batch.ids_T // self._width
        zero_XH = torch.zeros_like(self.value_XH)
        count_XH = zero_XH.index_add(0, state_T, reading.read_TH.to(zero_XH.dtype))
        off_XH = zero_XH.index_add(0, state_T, off_TH)
        self.value_XH = self.value_XH + self._rate * off_XH / count_XH.clamp_min(1)
