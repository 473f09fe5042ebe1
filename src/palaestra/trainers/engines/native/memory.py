"""Where the keys and values of the turns under way stand: a row of the batch for each.

The rows in use are the first ones, so that attention reads them in place: a turn that ends makes room for the last.
The places of a head stand behind each other, a key and its value side by side, since attention goes through them so.

Axes: L layers, R rows, G key-value heads, W places of a row, D head dimension, T tokens of a pass.
"""

import numpy as np
import torch
from torch import Tensor

from palaestra.trainers.model.shape import DecoderShape

_NARROWEST = 256


class RowMemory:
    """Keys and values by row and place.

    Args:
        shape: Of the decoder.
        rows: How many.
        context: Places that a row may come to have; it begins with fewer.
    """

    def __init__(
        self, shape: DecoderShape, *, rows: int, context: int, dtype: torch.dtype, device: torch.device
    ) -> None:
        self._shape = shape
        self.rows = rows
        self._context = context
        self.dtype = dtype
        self._device = device
        self.width = 0
        self._allocate(min(_NARROWEST, context))

    def _allocate(self, width: int) -> None:
        shape = self._shape
        self.width = width
        self._kv = _zeros((shape.layers, self.rows, shape.kv_heads, width, 2, shape.head_dim), self.dtype, self._device)
        self.layers = list(self._kv.unbind())
        """Keys and values of each layer, [R, G, W, 2, D]; places that nothing was written to are finite."""
        self.keys = [layer.select(3, 0) for layer in self.layers]
        """[R, G, W, D] each."""
        self.values = [layer.select(3, 1) for layer in self.layers]
        self._flat = list(self._kv.flatten(1, 3).flatten(2).unbind())

    def widen(self, places: int, rows: int) -> None:
        """Make sure that rows have so many places, keeping what the first `rows` hold."""
        if places <= self.width:
            return
        width = self.width
        while width < places:
            width *= 2
        old, held = self._kv, self.width
        self._allocate(min(width, self._context))
        self._kv[:, :rows, :, :held] = old[:, :rows]

    def free(self) -> None:
        """Hold nothing any more."""
        self._kv = torch.empty(0)
        self.layers, self.keys, self.values, self._flat = [], [], [], []

    def spots(self, row_T: Tensor, place_T: Tensor) -> Tensor:
        """Where the tokens of a pass are written, for `write`."""
        head_G = torch.arange(self._shape.kv_heads, device=row_T.device)
        return ((row_T[:, None] * self._shape.kv_heads + head_G) * self.width + place_T[:, None]).flatten()

    def write(self, layer: int, spots: Tensor, k_TGD: Tensor, v_TGD: Tensor) -> None:
        """Keep what a layer made of the tokens of a pass."""
        self._flat[layer].index_copy_(0, spots, torch.cat((k_TGD, v_TGD), -1).flatten(0, 1))

    def take(self, row: int, places: int) -> Tensor:
        """A copy of the first `places` of a row, [L, G, places, 2, D]."""
        return self._kv[:, row, :, :places].clone()

    def put(self, row: int, kv: Tensor, places: int) -> None:
        """Fill the first `places` of a row with those of what `take` gave."""
        self._kv[:, row, :, :places] = kv[:, :, :places]

    def copy(self, source: int, target: int, places: int) -> None:
        """Copy the first `places` of one row to another."""
        self._kv[:, target, :, :places] = self._kv[:, source, :, :places]

    def wipe(self, row: int) -> None:
        """Forget what a row holds: what is no number would pass through any mask."""
        self._kv[:, row] = 0


def _zeros(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    if device.type != "cpu":
        return torch.zeros(shape, dtype=dtype, device=device)
    # Numpy's zeros take no memory until they are written to, and most rows never grow to their width.
    count = int(np.prod(shape)) * dtype.itemsize
    return torch.from_numpy(np.zeros(count, dtype=np.uint8)).view(dtype).view(shape)
