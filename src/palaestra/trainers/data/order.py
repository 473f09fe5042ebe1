"""The order in which items are drawn: each item once before any is repeated."""

from collections.abc import Iterator, Sequence

from palaestra.errors import ConfigError
from palaestra.record import record
from palaestra.seeding import Stream


def epochs(count: int, *, size: int, stream: Stream) -> Iterator[list[int]]:
    """Yield, without end, lists of `size` indices below `count`; each index occurs once before any is repeated."""
    deck: list[int] = []
    while True:
        while len(deck) < size:
            deck += stream.permutation(range(count))
        yield deck[:size]
        deck = deck[size:]


class ShuffledOrder:
    """The items that each step draws from `count` items, in random access; see `epochs`."""

    def __init__(self, count: int, *, size: int, stream: Stream) -> None:
        self._epochs = epochs(count, size=size, stream=stream)
        self._drawn: list[list[int]] = []

    def at(self, step: int) -> list[int]:
        """The indices that step number `step` draws."""
        while len(self._drawn) <= step:
            self._drawn.append(next(self._epochs))
        return self._drawn[step]


@record
class Share:
    """A source of items to draw from, such as a world's tasks."""

    count: int
    weight: float
    """The source's share of the draws, relative to the other sources."""


class WeightedDeal:
    """The items that each step draws from several sources, in proportion to their weights and in random access.

    After n draws, the number of draws from a source of weight w differs from n w / sum(w) by less than one (smooth
    round-robin). Within a source, each item occurs once before any is repeated. With one source it is a
    `ShuffledOrder`.

    Args:
        shares: The sources; indices are counted through them in this order.
        size: The number of items of a step.
        stream: The random stream.

    Raises:
        ConfigError: a weight is not above 0.
    """

    def __init__(self, shares: Sequence[Share], *, size: int, stream: Stream) -> None:
        if low := [share for share in shares if not share.weight > 0]:
            raise ConfigError(f"weight={low[0].weight}: a weight is above 0; leave a world out that gets no share")
        self._weights = [share.weight for share in shares]
        self._firsts = [sum(share.count for share in shares[:place]) for place in range(len(shares))]
        self._size = size
        self._whole = ShuffledOrder(shares[0].count, size=size, stream=stream) if len(shares) == 1 else None
        self._sources = [
            epochs(share.count, size=1, stream=stream.split("source", place)) for place, share in enumerate(shares)
        ]
        self._credit = [0.0] * len(shares)
        self._drawn: list[list[int]] = []

    def at(self, step: int) -> list[int]:
        """The indices that step number `step` draws, counted through all sources."""
        if self._whole is not None:
            return self._whole.at(step)
        while len(self._drawn) <= step:
            self._drawn.append([self._next() for _ in range(self._size)])
        return self._drawn[step]

    def _next(self) -> int:
        self._credit = [credit + weight for credit, weight in zip(self._credit, self._weights, strict=True)]
        source = max(range(len(self._credit)), key=lambda place: self._credit[place])
        self._credit[source] -= sum(self._weights)
        (place,) = next(self._sources[source])
        return self._firsts[source] + place
