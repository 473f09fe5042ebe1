"""In which order things are drawn: each once before any comes again."""

from collections.abc import Iterator

from palaestra.seeding import Stream


def epochs(count: int, *, size: int, stream: Stream) -> Iterator[list[int]]:
    """Without end: lists of `size` places below `count`, each place once before any comes again."""
    deck: list[int] = []
    while True:
        while len(deck) < size:
            deck += stream.shuffled(range(count))
        yield deck[:size]
        deck = deck[size:]


class ShuffledOrder:
    """What each step draws from `count` things, asked for in any order; see `epochs`."""

    def __init__(self, count: int, *, size: int, stream: Stream) -> None:
        self._epochs = epochs(count, size=size, stream=stream)
        self._drawn: list[list[int]] = []

    def at(self, step: int) -> list[int]:
        """The places that step number `step` draws."""
        while len(self._drawn) <= step:
            self._drawn.append(next(self._epochs))
        return self._drawn[step]
