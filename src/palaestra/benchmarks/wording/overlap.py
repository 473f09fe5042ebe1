"""Overlap of texts: the Jaccard index of their word 3-grams."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

Shingles: TypeAlias = frozenset[tuple[str, ...]]
LENGTH = 3
"""Number of words in a shingle."""


def shingles(words: Sequence[str]) -> Shingles:
    """All runs of `LENGTH` words; a shorter text is one run."""
    if len(words) < LENGTH:
        return frozenset({tuple(words)})
    return frozenset(tuple(words[place : place + LENGTH]) for place in range(len(words) - LENGTH + 1))


def jaccard(one: Shingles, other: Shingles) -> float:
    """The number of shared shingles over the number of all shingles: 0 to 1; 1 for two empty sets."""
    either = len(one | other)
    return len(one & other) / either if either else 1.0


def closest_overlaps(texts: Iterable[Sequence[str]], others: Iterable[Sequence[str]]) -> list[float]:
    """For each text, the Jaccard index with the most similar of the other texts; 0 without other texts."""
    against = [shingles(other) for other in sorted({tuple(other) for other in others})]
    return [max((jaccard(shingles(text), other) for other in against), default=0.0) for text in texts]
