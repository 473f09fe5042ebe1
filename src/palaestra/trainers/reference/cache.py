"""Keys and values of a batch of episodes with different lengths.

Axes: B episodes, H heads, Q new tokens, K places in the cache.
"""

from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin


class RaggedCache(Cache):
    """A cache for transformers in which each row writes at its own place; later tokens overwrite padding.

    Before each forward pass, `place` sets the places of each row's new tokens.

    Args:
        layers: The number of layers of the model.
        capacity: The maximum number of tokens of a row.
    """

    def __init__(self, layers: int, capacity: int) -> None:
        super().__init__(layers=[_RaggedLayer(self, capacity) for _ in range(layers)])
        self.place_BQ = torch.zeros(0, 0, dtype=torch.long)
        self.width = 0
        """The number of places that the longest row uses, new tokens included."""

    def place(self, place_BQ: Tensor) -> Tensor:
        """Set the places of new tokens.

        Returns:
            The attention mask, [B, 1, Q, K]: a token sees its row up to itself.
        """
        self.place_BQ = place_BQ
        self.width = int(place_BQ.max()) + 1
        return torch.arange(self.width, device=place_BQ.device) <= place_BQ[:, None, :, None]


class _RaggedLayer(CacheLayerMixin):
    """One layer's keys and values, [B, H, K, head_dim]."""

    def __init__(self, table: RaggedCache, capacity: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._table = table
        self._capacity = capacity

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        b, h, _, d = key_states.shape
        self.keys = key_states.new_zeros(b, h, self._capacity, d)
        self.values = value_states.new_zeros(b, h, self._capacity, d)
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        del args, kwargs
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        assert self.keys is not None
        assert self.values is not None
        place_BQ = self._table.place_BQ
        rows = torch.arange(len(place_BQ), device=place_BQ.device)[:, None]
        self.keys[rows, :, place_BQ] = key_states.transpose(1, 2)
        self.values[rows, :, place_BQ] = value_states.transpose(1, 2)
        width = self._table.width
        return self.keys[:, :, :width], self.values[:, :, :width]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        del query_length
        return self._table.width, 0

    def get_seq_length(self) -> int:
        return self._table.width

    def get_max_length(self) -> int:
        return self._capacity
