"""Guesses of what a turn will say, from what its context says already; nothing else is asked.

Agents copy: ids, names of tools, forms of calls. What followed the last few tokens when they last stood together often
follows again (prompt lookup decoding, Saxena 2023; the check of guesses is Leviathan et al. 2023, arXiv:2211.17192).
"""

from collections.abc import Sequence

_GRAM = 3
"""Tokens that have to stand together again."""


class Drafter:
    """The guesses for one turn; its tokens may only grow."""

    def __init__(self) -> None:
        self._behind: dict[tuple[int, ...], int] = {}
        """Behind which place each gram ended last, the last gram of all left out."""
        self._known = _GRAM

    def guess(self, tokens: Sequence[int], most: int) -> list[int]:
        """The tokens that may come next.

        Args:
            tokens: The context and what was drawn.
            most: How many to guess.
        """
        for end in range(self._known, len(tokens)):
            self._behind[tuple(tokens[end - _GRAM : end])] = end
        self._known = max(self._known, len(tokens))
        place = self._behind.get(tuple(tokens[-_GRAM:]))
        return [] if place is None else list(tokens[place : place + max(0, most)])
