"""Replaces the handles in a policy's text by their values, for the environment's action format.

A handle stands for a text or a number. Inside quotes and in prose, its value is written as prose, elsewhere as JSON; so
an amount becomes `EUR 12.50` in a message and `1250` in an argument.
"""

import re
from collections.abc import Sequence

import orjson

from palaestra.tools.formats.format import Mark
from palaestra.tools.formats.handles import Handles, HandleValue, is_handle
from palaestra.tools.formats.lines import quote, word_or_quoted

_UNSHOWN = "\x1a"
"""Precedes a handle that was never shown. No JSON string may hold it, so no readable call does."""
_PROSE = "> "
"""Begins a line of prose."""
_FOUND = re.compile(rf"{_UNSHOWN}(<[^<>]+\.\d+>)")


def resolve_turn(pieces: Sequence[str], handles: Handles) -> str:
    """The text of a turn."""
    place = _Place(handles)
    written: list[str] = []
    for piece in pieces:
        if not isinstance(piece, Mark):
            place.read(piece)
            written.append(piece)
        elif is_handle(piece):
            value = handles.resolve(piece)
            written.append(f"{_UNSHOWN}{piece}" if value is None else place.write(value))
            place.after = ""
        else:
            place = _Place(handles)
            written.append(piece)
    return "".join(written)


def find_unshown(text: str) -> str | None:
    """The first handle in a resolved text that was never shown; `None` without one."""
    found = _FOUND.search(text)
    return found and found[1]


class _Place:
    """The position of a piece in a turn: in prose, inside quotes, inside brackets, or after an argument's name."""

    def __init__(self, handles: Handles) -> None:
        self._text_of = handles.text_of
        self._begin_line()
        self.after = ""
        """The character before."""

    def _begin_line(self) -> None:
        self._line = ""
        self._quoted = self._escaped = False
        self._depth = 0

    def read(self, text: str) -> None:
        """Advance over a text."""
        for character in text:
            self._step(character)
            self.after = character

    def _step(self, character: str) -> None:
        if character == "\n":
            self._begin_line()
            return
        self._line = (self._line + character)[: len(_PROSE)]
        if self._escaped:
            self._escaped = False
        elif self._quoted and character == "\\":
            self._escaped = True
        elif character == '"':
            self._quoted = not self._quoted
        elif not self._quoted:
            self._depth = max(0, self._depth + (character in "[{") - (character in "]}"))

    def write(self, value: HandleValue) -> str:
        """A value in the notation of this position."""
        if self._line == _PROSE:
            return self._text_of(value)
        if self._quoted:
            return quote(self._text_of(value))[1:-1]
        if isinstance(value, int):
            return orjson.dumps(value).decode()
        if self._depth:
            return quote(value)
        return word_or_quoted(value) if self.after == "=" else value
