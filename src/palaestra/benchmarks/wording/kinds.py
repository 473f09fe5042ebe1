"""Recognises the kind of a held-out request: the kind with the wording that occurs most completely in the text."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

from palaestra.benchmarks.wording.texts import words_of
from palaestra.envs.kit import LetterKind
from palaestra.envs.kit.letters import slots_of


def recognise_kind(letters: Mapping[str, LetterKind], words: Sequence[str]) -> str:
    """The kind with the wording that shares the largest part of its word pairs with a text; ties go to the first.

    Args:
        letters: The kinds, by name.
        words: The words of a body, masked.
    """
    given = frozenset(pairwise(words))
    return max(sorted(letters), key=lambda kind: max(_share(wish, given) for wish in _wishes(letters[kind])))


def _wishes(kind: LetterKind) -> tuple[str, ...]:
    return (*kind.wishes, *kind.foreign_wishes.values())


def _share(wish: str, given: frozenset[tuple[str, str]]) -> float:
    pairs = _pairs(wish)
    return len(pairs & given) / len(pairs)


@lru_cache(maxsize=1_024)
def _pairs(wish: str) -> frozenset[tuple[str, str]]:
    return frozenset(pairwise(words_of(wish, (f"{{{name}}}" for name in slots_of(wish)))))
