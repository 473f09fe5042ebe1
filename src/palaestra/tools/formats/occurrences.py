"""Finds known texts as whole words in a text.

The texts belong to an episode and differ from call to call, so a regular expression of them would be compiled each
time, which takes longer than the rest of a rendering.
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
        """Its end."""
        return self.start + len(self.text)


def find_occurrences(text: str, known: Iterable[str], *, before: str = "", after: str = "") -> list[Occurrence]:
    """Known whole words in a text, from left to right; of those at one place, the longest.

    Args:
        text: The text to search.
        known: The texts to search for; none is empty.
        before: Characters besides letters, digits and `_` that must not precede one.
        after: Characters that must not follow one.

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
    """Whether a character continues a word; an empty text does not."""
    return character != "" and (character.isalnum() or character == "_" or character in others)
