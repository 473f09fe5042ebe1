"""Where known texts stand in a text as whole words.

The texts are those of an episode and differ from call to call, so a regular expression of them would be compiled anew
each time, which takes longer than all else that a rendering does.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """A known text in a text."""

    start: int
    text: str

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.start + len(self.text)


def find_occurrences(text: str, known: Iterable[str], *, before: str = "", after: str = "") -> list[Occurrence]:
    """Whole words of a text that are known, from left to right, the longest of those that begin at one place.

    Args:
        text: Where to look.
        known: What to look for; none of it is empty.
        before: Characters besides letters, digits and `_` that may not stand before one.
        after: Those that may not stand after one.

    Returns:
        Occurrences that do not overlap.
    """
    found = [one for part in known for one in _occurrences(text, part, before, after)]
    found.sort(key=lambda one: (one.start, -len(one.text)))
    kept: list[Occurrence] = []
    for one in found:
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
    return kept


def _occurrences(text: str, part: str, before: str, after: str) -> Iterator[Occurrence]:
    start = text.find(part)
    while start >= 0:
        end = start + len(part)
        if not (_joins(text[start - 1 : start], before) or _joins(text[end : end + 1], after)):
            yield Occurrence(start=start, text=part)
        start = text.find(part, start + 1)


def _joins(character: str, others: str) -> bool:
    """Whether a character continues a word; the empty text does not."""
    return character != "" and (character.isalnum() or character == "_" or character in others)
