"""Parses a rendered message into records of fields, from its text and marks only."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from palaestra.tools import Mark

_OPEN, _CLOSE = "\ue000", "\ue001"
_FIELD = re.compile(r"(?:^|(?<=[ (\[;]))([A-Za-z_]\w*)=(?!asked\b)")
_TOKEN = re.compile(
    rf"{_OPEN}(?P<mark>[^{_CLOSE}]+){_CLOSE}|(?P<asked>=asked)|(?P<rank>#\d+)|(?P<size>-?\d+[kM]?\+)"
    r"|(?P<gap>[+-]\d+(?:d|mo)\b)"
    r"|(?P<ahead>in (?:\d+)(?:d|mo)\b)|(?P<ago>\d+(?:d|mo) ago)|(?P<number>-?\d+(?:\.\d+)?(?!\w))|(?P<word>[\w.'-]*\w)"
)
_DAYS = re.compile(r"(\d+)(d|mo)")
_MONTH = 30
_COUNTS = frozenset({"0", "1", "2"})
"""Numbers that count as words; other numbers are compared with limits."""
_COMPARED = frozenset({"over", "under", "today", "top"})
"""Words that compare a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadValue:
    """The content of a field."""

    text: str
    """The text without handles and comparisons; empty where there is none."""
    words: frozenset[str]
    """The words, and the words of comparisons."""
    comparisons: frozenset[str]
    """The words of comparisons only."""
    marks: tuple[str, ...]
    """The handles, without those that the value is compared with."""
    compared: tuple[tuple[str, str], ...]
    """The handles that the value is compared with, each after `over` or `under`."""
    numbers: tuple[str, ...]
    days: int | None
    """Days from today; negative in the past."""
    gap: int | None
    """Days from the preceding day in the record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRecord:
    """Fields that belong together."""

    path: str
    """The field that holds the record; empty for a whole answer."""
    fields: dict[str, ReadValue] = field(default_factory=dict[str, ReadValue])

    def marks(self) -> set[str]:
        """All handles in the record."""
        return {mark for value in self.fields.values() for mark in value.marks}


def join_pieces(pieces: Sequence[str]) -> str:
    """Join a message into one text, with each mark between two private characters."""
    return "".join(f"{_OPEN}{piece}{_CLOSE}" if isinstance(piece, Mark) else piece for piece in pieces)


def read_records(text: str) -> list[ReadRecord]:
    """Parse the records of an answer, in order; empty listings are records without fields.

    Args:
        text: A joined message.
    """
    root = ReadRecord(path="")
    records = [root]
    stack = [root]
    begin = list(_FIELD.finditer(text))
    for number, found in enumerate(begin):
        end = begin[number + 1].start() if number + 1 < len(begin) else len(text)
        raw = text[found.end() : end].strip()
        if raw[:1] in ("(", "["):
            stack.append(ReadRecord(path=found[1]))
            records.append(stack[-1])
            raw = raw[1:]
            if raw and raw[0] not in ")]":
                stack[-1].fields[""] = read_value(raw.rstrip(")]; "))
        else:
            stack[-1].fields[found[1]] = read_value(_without_ends(raw))
        for _ in range(_surplus(raw)):
            if len(stack) > 1:
                stack.pop()
        if raw.endswith(";") and len(stack) > 1:
            path = stack.pop().path
            stack.append(ReadRecord(path=path))
            records.append(stack[-1])
    if not begin:
        root.fields["text"] = read_value(text)
    return records


def _surplus(raw: str) -> int:
    """Number of brackets that a value closes without opening them."""
    depth = surplus = 0
    for letter in raw:
        if letter in "([":
            depth += 1
        elif letter in ")]":
            depth -= 1
            if depth < 0:
                depth, surplus = 0, surplus + 1
    return surplus


def _without_ends(raw: str) -> str:
    raw = raw.rstrip("; ")
    for _ in range(_surplus(raw)):
        raw = raw[:-1].rstrip("; ") if raw[-1:] in ")]" else raw
    return raw


def read_value(text: str) -> ReadValue:
    """Parse a part of a joined message."""
    marks: list[str] = []
    words: set[str] = set()
    comparisons: set[str] = set()
    numbers: list[str] = []
    days: int | None = None
    gap: int | None = None
    others: list[tuple[str, str]] = []
    compared = ""
    for found in _TOKEN.finditer(text):
        kind = str(found.lastgroup)
        word = found.group()
        if kind == "mark":
            if compared:
                others.append((compared, found["mark"]))
            else:
                marks.append(found["mark"])
            compared = ""
        elif kind in ("ahead", "ago"):
            days = _days(word, ahead=kind == "ahead")
            comparisons.add("ahead" if kind == "ahead" else "past")
        elif kind == "gap":
            gap = _days(word, ahead=word[0] == "+")
            comparisons.add("no gap" if gap == 0 else "later" if gap > 0 else "earlier")
        elif kind == "number":
            numbers.append(word)
            words |= {word} if word in _COUNTS else set()
        elif kind == "word" and word not in _COMPARED:
            words.add(word)
        else:
            compared = word if word in ("over", "under") else ""
            days = 0 if word == "today" else days
            comparisons.add(word if kind != "size" else f"size {word}")
    return ReadValue(
        text=_plain(text),
        words=frozenset(words | comparisons),
        comparisons=frozenset(comparisons),
        marks=tuple(marks),
        compared=tuple(others),
        numbers=tuple(numbers),
        days=days,
        gap=gap,
    )


def _days(text: str, *, ahead: bool) -> int:
    found = _DAYS.search(text)
    assert found is not None, "the pattern of a distance holds one"
    far = int(found[1]) * (_MONTH if found[2] == "mo" else 1)
    return far if ahead else -far


def _plain(text: str) -> str:
    return "" if _OPEN in text else text.replace(" =asked", "").strip()


def words_of(text: str) -> Iterator[str]:
    """The words of a text in order; a handle is represented by its kind."""
    for found in _TOKEN.finditer(text):
        mark = found["mark"]
        yield f"<{mark[1:].partition('.')[0]}>" if mark else found.group().casefold()


def marks_of(text: str) -> Iterator[tuple[str, str]]:
    """The handles of a text in order, each with the preceding word."""
    before = ""
    for found in _TOKEN.finditer(text):
        if found["mark"]:
            yield found["mark"], before
        before = found.group().casefold() if not found["mark"] else f"<{found['mark'][1:].partition('.')[0]}>"
