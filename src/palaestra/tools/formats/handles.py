"""Handles: marks that stand for values which a small policy cannot copy.

A policy of a few million parameters learns within seconds to copy one token, but not within minutes to copy the digits
of an id. So a value gets a handle: one mark, the same wherever the value occurs, in the request, in an answer and in an
argument. The world keeps its real values; handles are resolved before the world reads a call.
"""

import itertools
import re
from collections.abc import Sequence
from typing import TypeAlias

from palaestra.tools.formats.format import Mark
from palaestra.tools.formats.recognise import money_text

HandleValue: TypeAlias = str | int
"""The value of a handle: a text, or a whole number such as an amount in cents."""
PER_KIND = 24
"""Maximum handles of one kind in an episode; further values stay text."""
_HANDLE = re.compile(r"<[^<>]+\.\d+>")
_COMMON_KINDS = ("amount", "date", "number", "time")
"""The kinds of all worlds."""
_NEUTRAL_KINDS = tuple("abcdefghijklmnop")
"""Names that replace those of a world's kinds."""


class Handles:
    """The handles of one episode.

    Args:
        neutral: Whether kinds of records and texts are named by letters, in the order of their first occurrence,
            instead of by the words of their world. If a world has more kinds than letters, several kinds share a
            letter.
    """

    def __init__(self, *, neutral: bool = False) -> None:
        self._letters: dict[str, str] | None = dict(zip(_COMMON_KINDS, _COMMON_KINDS, strict=True)) if neutral else None
        self._mark_of: dict[HandleValue, Mark] = {}
        self._value_of: dict[Mark, HandleValue] = {}
        self._wording: dict[int, str] = {}

    def show(self, value: HandleValue, kind: str, *, record: int = 0) -> Mark | None:
        """The handle of `value`, a new one if needed; `None` if its kind has no handle left.

        Args:
            value: The value.
            kind: The name of a new handle.
            record: The preferred number of a new handle; if it is taken, the next free number is used.
        """
        if (mark := self._mark_of.get(value)) is not None:
            return mark
        kind = self._name(kind)
        numbers = itertools.chain(range(record, PER_KIND), range(min(record, PER_KIND)))
        free = next((m for n in numbers if (m := Mark(f"<{kind}.{n}>")) not in self._value_of), None)
        if free is not None:
            self._mark_of[value], self._value_of[free] = free, value
        return free

    def _name(self, kind: str) -> str:
        if self._letters is None:
            return kind
        place = (len(self._letters) - len(_COMMON_KINDS)) % len(_NEUTRAL_KINDS)
        return self._letters.setdefault(kind, _NEUTRAL_KINDS[place])

    def find(self, value: HandleValue) -> Mark | None:
        """The handle of a shown value; `None` if it was not shown."""
        return self._mark_of.get(value)

    def word(self, amount: int, text: str) -> None:
        """Record how a message wrote an amount; the first wording counts."""
        self._wording.setdefault(amount, text)

    def text_of(self, value: HandleValue) -> str:
        """A value as written in prose; an amount as in a message, otherwise as `EUR 1,234.50`."""
        return value if isinstance(value, str) else self._wording.get(value) or money_text(value)

    def resolve(self, mark: Mark) -> HandleValue | None:
        """The value of a handle; `None` if it was never shown."""
        return self._value_of.get(mark)


def is_handle(piece: str) -> bool:
    """Whether a piece is a mark with the form of a handle."""
    return isinstance(piece, Mark) and _HANDLE.fullmatch(piece) is not None


def handle_marks(corpus: Sequence[Sequence[str]]) -> list[Mark]:
    """Every handle of every kind that occurs in `corpus`."""
    kinds = {piece[1:].rpartition(".")[0] for pieces in corpus for piece in pieces if is_handle(piece)}
    return _marks_of(sorted(kinds))


def neutral_marks() -> list[Mark]:
    """Every handle that an episode with neutral names can have, in any world."""
    return _marks_of((*_COMMON_KINDS, *_NEUTRAL_KINDS))


def _marks_of(kinds: Sequence[str]) -> list[Mark]:
    return [Mark(f"<{kind}.{number}>") for kind in kinds for number in range(PER_KIND)]
