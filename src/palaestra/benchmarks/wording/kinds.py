"""Which kind of request a held-out text is: the kind of which one way to ask stands in the text most completely."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

from palaestra.benchmarks.wording.texts import words_of
from palaestra.envs.kit import LetterKind
from palaestra.envs.kit.letters import slots_of


def recognise_kind(letters: Mapping[str, LetterKind], words: Sequence[str]) -> str:
    """The kind whose ways to ask share the largest part of their pairs of words with a text; a tie goes to the first.

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
