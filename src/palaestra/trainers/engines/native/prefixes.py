"""Contexts that begin alike share what was worked out for their beginning.

What is held for a trajectory is found again by the hashes of its first block of tokens, its first two, and so on. Only
what was made by the present weights alone is found: a holding that saw others, or was made by them, is private to its
trajectory.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

BLOCK = 8
"""Tokens; beginnings that have less in common are not shared."""


@dataclass(slots=True, eq=False)
class Holding:
    """What is held for one trajectory: the keys and values of its first tokens."""

    trajectory: str
    tokens: list[int]
    """Of the context so far."""
    held: int = 0
    """How many of them have keys and values."""
    coming: bool = False
    """Whether the others are being put through the model, and will have them soon."""
    private: bool = False
    """Whether weights before the present ones had a share in them."""
    pages: list[int] = field(default_factory=list[int])
    """Where they are."""
    chain: list[int] = field(default_factory=list[int])
    """The hashes that it is found by."""

    def of_use(self, common: int) -> int:
        """How many of `common` first tokens have keys and values, or will have soon."""
        return common if self.coming else min(common, self.held)


class Prefixes:
    """Finds holdings by how their contexts begin."""

    def __init__(self) -> None:
        self._by_hash: dict[int, list[Holding]] = {}

    def add(self, holding: Holding) -> None:
        """Let it be found by all its tokens, held yet or soon."""
        known = len(holding.chain)
        for number in _chain(holding.tokens, holding.chain[-1] if known else 0, known):
            holding.chain.append(number)
            self._by_hash.setdefault(number, []).append(holding)

    def remove(self, holding: Holding) -> None:
        """Let it be found no more. One that is not there is fine."""
        for number in holding.chain:
            others = self._by_hash[number]
            others.remove(holding)
            if not others:
                del self._by_hash[number]
        holding.chain.clear()

    def find(self, tokens: list[int], *, without: Holding) -> tuple[Holding, int] | None:
        """The holding that is of most use for a context, and how many of its first tokens it has or will have soon.

        Of several the one that holds more of them already goes before, then the one that was added first.
        """
        deepest: list[Holding] = []
        known = 0
        for number in _chain(tokens, 0, 0):
            here = self._by_hash.get(number, [])
            if not here or here == [without]:
                break
            deepest = here
            known += BLOCK
        best = _most_useful(deepest, tokens, known, without)
        if best is not None and best[0].tokens[:known] != tokens[:known]:  # unequal tokens had equal hashes
            best = _most_useful(deepest, tokens, 0, without)
        return best


def _most_useful(
    holdings: list[Holding], tokens: list[int], known: int, without: Holding
) -> tuple[Holding, int] | None:
    """As `Prefixes.find`, among holdings whose first `known` tokens are equal."""
    best: Holding | None = None
    rank = (0, 0)
    rest = tokens[known:]
    for holding in holdings:
        if holding is without:
            continue
        use = holding.of_use(known + common_beginning(holding.tokens[known:], rest))
        if (use, min(use, holding.held)) > rank:
            best, rank = holding, (use, min(use, holding.held))
    return None if best is None else (best, rank[0])


def common_beginning(one: list[int], other: list[int]) -> int:
    """How many first tokens two contexts have in common."""
    equal, end = 0, min(len(one), len(other))
    if one[:end] == other[:end]:
        return end
    while end - equal > 1:  # by halves: slices are compared some ten times as fast as their items one by one
        middle = (equal + end) // 2
        if one[equal:middle] == other[equal:middle]:
            equal = middle
        else:
            end = middle
    return equal


def _chain(tokens: Sequence[int], seed: int, known: int) -> Iterator[int]:
    """The hash of each whole block behind the first `known` and all before it."""
    for start in range(known * BLOCK, len(tokens) - BLOCK + 1, BLOCK):
        seed = hash((seed, *tokens[start : start + BLOCK]))
        yield seed
