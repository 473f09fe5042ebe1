"""What is wrong with a blueprint: place, rule and fix of each problem."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

from palaestra.errors import BlueprintError

Path: TypeAlias = tuple[str | int, ...]
"""The keys and positions that lead to a part of a document."""
MOST_SHOWN = 30
"""The most problems that one message lists."""


@dataclass(frozen=True, slots=True)
class BlueprintProblem:
    """One thing that is wrong."""

    place: str
    """Document, line and path."""
    text: str
    """The value, the rule and what to do."""

    def __str__(self) -> str:
        """The problem as one line."""
        return f"{self.place}: {self.text}"


class Places:
    """Where the parts of a document stand; a blueprint made in Python has paths alone.

    Args:
        source: What the document is called.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._lines: dict[Path, int] = {}

    def add(self, path: Path, line: int) -> None:
        """Note the line of a part."""
        self._lines[path] = line

    def at(self, path: Path) -> str:
        """The place of a part: its line, or that of the nearest part around it, and its path."""
        around = next((path[:length] for length in range(len(path), -1, -1) if path[:length] in self._lines), None)
        line = "" if around is None else f":{self._lines[around]}"
        named = ".".join(str(part) for part in path)
        return f"{self._source}{line}{f': {named}' if named else ''}"

    def at_line(self, line: int) -> str:
        """The place of a line."""
        return f"{self._source}:{line}"


def raise_problems(problems: Sequence[BlueprintProblem]) -> NoReturn:
    """Raise the problems as one error, one line each.

    Raises:
        BlueprintError: always.
    """
    lines = [str(problem) for problem in problems[:MOST_SHOWN]]
    if len(problems) > MOST_SHOWN:
        lines.append(f"and {len(problems) - MOST_SHOWN} more")
    raise BlueprintError("\n".join(lines))
