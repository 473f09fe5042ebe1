"""Phrases to look for in a clause: one pattern for many, tried only where a text holds a word that they need."""

import re
from functools import lru_cache

REMEMBERED = 2_048
"""How many clauses each set of phrases remembers: one clause is asked about more than once."""


class Phrases:
    """Alternatives, each a regular expression over whole words of lower-case text.

    They are compiled when they are first looked for: compiling all sets takes a tenth of the time that a process
    takes to start, and few processes need them.

    Args:
        alternatives: Any of them is found.
        needs: Parts of words of which every alternative holds at least one; empty where there are too many.
    """

    __slots__ = ("_alternatives", "_needs", "_pattern", "found_in")

    def __init__(self, *alternatives: str, needs: tuple[str, ...] = ()) -> None:
        self._alternatives = alternatives
        self._pattern: re.Pattern[str] | None = None
        self._needs = needs
        self.found_in = lru_cache(maxsize=REMEMBERED)(self._is_in)

    @property
    def pattern(self) -> re.Pattern[str]:
        """All alternatives in one."""
        if self._pattern is None:
            self._pattern = re.compile(r"\b(?:" + "|".join(self._alternatives) + r")\b")
        return self._pattern

    def _is_in(self, text: str) -> bool:
        if self._needs and not any(part in text for part in self._needs):
            return False
        return self.pattern.search(text) is not None
