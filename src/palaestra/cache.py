"""A bounded cache that drops the least recently used value when it is full."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """A bounded number of values by key.

    Args:
        size: The maximum number of values.

    Raises:
        ValueError: the size is below 1.
    """

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError(f"size={size}: a cache keeps at least 1 value")
        self.size = size
        self._values: OrderedDict[K, V] = OrderedDict()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K, make: Callable[[], V]) -> V:
        """Return the value of `key`; call `make` if the cache does not hold it."""
        values = self._values
        if key in values:
            values.move_to_end(key)
            return values[key]
        value = values[key] = make()
        if len(values) > self.size:
            values.popitem(last=False)
        return value
