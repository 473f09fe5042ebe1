"""Named random streams, split from one seed, with distributions of our own.

A stream is a counter under a keyed hash (a counter-based generator in the sense of Salmon et al. 2011, "Parallel random
numbers: as easy as 1, 2, 3"): block `n` is BLAKE2b(key, n), eight words of 64 bits. So its whole state is a key and a
position, streams of different names are independent, and no change in a library can change the meaning of a seed.
"""

from collections.abc import Sequence
from hashlib import blake2b
from struct import Struct
from typing import Self, TypeVar

T = TypeVar("T")

_WORDS = 8
_UNPACK = Struct(f"<{_WORDS}Q").unpack
_TWO_64 = 1 << 64


class Stream:
    """A random stream. Equal key and position give equal draws, in any process, on any machine."""

    __slots__ = ("_block_index", "_block_words", "_key", "_position")

    def __init__(self, key: bytes, position: int = 0) -> None:
        self._key = key
        self._position = position
        self._block_words: tuple[int, ...] = ()
        self._block_index: int = -1

    @classmethod
    def root(cls, *parts: str | int) -> Self:
        """The stream named by `parts`; `("world", 7)` and `("world", "7")` are the same name."""
        return cls(blake2b("\x1f".join(str(p) for p in parts).encode(), digest_size=32).digest())

    def split(self, *parts: str | int) -> "Stream":
        """An independent stream; it depends on this stream's key, not on its position."""
        name = "\x1f".join(str(p) for p in parts).encode()
        return Stream(blake2b(name, digest_size=32, key=self._key).digest())

    def save(self) -> tuple[bytes, int]:
        """The key and the position, which `restore` takes."""
        return self._key, self._position

    @classmethod
    def restore(cls, saved: tuple[bytes, int]) -> Self:
        """The stream that `save` described."""
        return cls(*saved)

    def word(self) -> int:
        """The next 64 random bits."""
        index, offset = divmod(self._position, _WORDS)
        if index != self._block_index:
            self._block_words = _UNPACK(blake2b(index.to_bytes(8, "little"), key=self._key).digest())
            self._block_index = index
        self._position += 1
        return self._block_words[offset]

    def below(self, n: int) -> int:
        """A uniform integer in [0, n); exact, by rejection.

        Raises:
            ValueError: `n` is not in [1, 2**64].
        """
        if not 1 <= n <= _TWO_64:
            raise ValueError(f"below({n}): the bound must lie in [1, 2**64]")
        limit = _TWO_64 - _TWO_64 % n
        while (word := self.word()) >= limit:
            pass
        return word % n

    def between(self, low: int, high: int) -> int:
        """A uniform integer in [low, high], both ends included."""
        return low + self.below(high - low + 1)

    def chance(self, percent: int) -> bool:
        """True with a probability of `percent` %."""
        return self.below(100) < percent

    def choice(self, items: Sequence[T]) -> T:
        """One of `items`, uniformly.

        Raises:
            ValueError: `items` is empty.
        """
        if not items:
            raise ValueError("choice(()): there is nothing to choose from")
        return items[self.below(len(items))]

    def weighted_choice(self, items: Sequence[tuple[T, int]]) -> T:
        """One item of (item, integer weight) pairs, in proportion to the weights."""
        point = self.below(sum(weight for _, weight in items))
        for item, weight in items:
            point -= weight
            if point < 0:
                return item
        raise AssertionError("weights summed to less than their sum")

    def permutation(self, items: Sequence[T]) -> list[T]:
        """A new list of `items` in random order (Fisher-Yates)."""
        out = list(items)
        for i in range(len(out) - 1, 0, -1):
            j = self.below(i + 1)
            out[i], out[j] = out[j], out[i]
        return out

    def sample(self, items: Sequence[T], k: int) -> list[T]:
        """`k` different positions of `items`, in random order."""
        return self.permutation(items)[:k]
