"""The rows that the calls of an episode have shown, whole or in part."""

from collections.abc import Iterator, Sequence
from itertools import islice

from palaestra.records import ToolEvent


class ShownKeys:
    """The tables and keys of rows that calls have shown. Each event is read once."""

    def __init__(self) -> None:
        self._events = 0
        self._whole: dict[tuple[str, str], None] = {}
        self._parts: dict[tuple[str, str], set[str]] = {}

    def take_in(self, events: Sequence[ToolEvent]) -> None:
        """Read the events since the last time."""
        for event in islice(events, self._events, None):
            self._whole.update(dict.fromkeys(event.shown))
            for part in event.columns:
                for key in part.keys:
                    self._parts.setdefault((part.table, key), {"id"}).update(part.columns)
        self._events = len(events)

    def keys(self) -> Iterator[tuple[str, str]]:
        """The keys of rows shown whole, then of rows shown in part, each once, in order of first appearance."""
        yield from self._whole
        yield from self.columns()

    def columns(self) -> dict[tuple[str, str], set[str]]:
        """By table and key: the columns of rows that were shown in part and never whole."""
        return {pair: columns for pair, columns in self._parts.items() if pair not in self._whole}
