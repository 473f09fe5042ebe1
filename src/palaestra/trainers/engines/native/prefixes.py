"""Contexts with equal prefixes share the keys and values of the prefix.

A trajectory's holding is found by the hashes of its first block of tokens, its first two blocks, and so on. Only
holdings computed entirely with the current weights are found; others are private to their trajectory.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

BLOCK = 8
"""Tokens of a block; shorter common prefixes are not shared."""


@dataclass(slots=True, eq=False)
class Holding:
    """The keys and values of a trajectory's first tokens."""

    trajectory: str
    tokens: list[int]
    """The tokens of the context so far."""
    held: int = 0
    """The number of tokens with keys and values."""
    coming: bool = False
    """Whether the remaining tokens are being computed."""
    private: bool = False
    """Whether older weights computed a part of it."""
    pages: list[int] = field(default_factory=list[int])
    """The pages that hold it."""
    chain: list[int] = field(default_factory=list[int])
    """The hashes by which it is found."""

    def of_use(self, common: int) -> int:
        """How many of the first `common` tokens have keys and values, or will have soon."""
        return common if self.coming else min(common, self.held)


class Prefixes:
    """Finds holdings by the first tokens of their contexts."""

    def __init__(self) -> None:
        self._by_hash: dict[int, list[Holding]] = {}

    def add(self, holding: Holding) -> None:
        """Make it findable by all its tokens, including those still being computed."""
        known = len(holding.chain)
        for number in _chain(holding.tokens, holding.chain[-1] if known else 0, known):
            holding.chain.append(number)
            self._by_hash.setdefault(number, []).append(holding)

    def remove(self, holding: Holding) -> None:
        """Make it unfindable. Unknown holdings are allowed."""
        for number in holding.chain:
            others = self._by_hash[number]
            others.remove(holding)
            if not others:
                del self._by_hash[number]
        holding.chain.clear()

    def find(self, tokens: list[int], *, without: Holding) -> tuple[Holding, int] | None:
        """The most useful holding for a context, and how many of its first tokens it has or will have soon.

        Of several, the one that has more of them already is preferred, then the one added first.
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
    """See `Prefixes.find`, for holdings whose first `known` tokens are equal."""
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
    """The length of the common prefix of two contexts."""
    equal, end = 0, min(len(one), len(other))
    if one[:end] == other[:end]:
        return end
    while end - equal > 1:  # bisection: comparing slices is some ten times as fast as items
        middle = (equal + end) // 2
        if one[equal:middle] == other[equal:middle]:
            equal = middle
        else:
            end = middle
    return equal


def _chain(tokens: Sequence[int], seed: int, known: int) -> Iterator[int]:
    """The hash of each full block after the first `known` ones, together with all before it."""
    for start in range(known * BLOCK, len(tokens) - BLOCK + 1, BLOCK):
        seed = hash((seed, *tokens[start : start + BLOCK]))
        yield seed
