"""Draft tokens for a turn, taken from its own context.

Agents copy ids, tool names and forms of calls. The tokens that followed the last few tokens at an earlier place often
follow again (prompt lookup decoding, Saxena 2023; drafts are verified as in Leviathan et al. 2023, arXiv:2211.17192).
"""

from collections.abc import Sequence

_GRAM = 3
"""The number of tokens that must occur again."""


class Drafter:
    """The drafts of one turn; its tokens may only grow."""

    def __init__(self) -> None:
        self._behind: dict[tuple[int, ...], int] = {}
        """The place after the last occurrence of each gram, without the final gram."""
        self._known = _GRAM

    def guess(self, tokens: Sequence[int], most: int) -> list[int]:
        """Tokens that may come next.

        Args:
            tokens: The context and the sampled tokens.
            most: The maximum number of draft tokens.
        """
        for end in range(self._known, len(tokens)):
            self._behind[tuple(tokens[end - _GRAM : end])] = end
        self._known = max(self._known, len(tokens))
        place = self._behind.get(tuple(tokens[-_GRAM:]))
        return [] if place is None else list(tokens[place : place + max(0, most)])
