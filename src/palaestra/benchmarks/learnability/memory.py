"""The memory of an imitator in an episode: which values were shown where, and which calls used them."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from palaestra.benchmarks.learnability.reading import (
    ReadRecord,
    ReadValue,
    join_pieces,
    marks_of,
    read_records,
    read_value,
    words_of,
)
from palaestra.benchmarks.learnability.trees import Forest
from palaestra.tools import Mark

Sort: TypeAlias = Literal["handle", "number", "text", "word"]
RecordKey: TypeAlias = tuple[str, str, str]
"""A tool, the path in its answer, and the handle of the record or of the call's object."""
ABOUT = "about"
"""The field that holds the handles that the call named."""
USER = "(user)"
_ROLE = re.compile(r"<\|(\w+)\|>")
_NUMBER = re.compile(r"(?<![\w.-])\d+(?![\w.-]|\.\d)")
_NAME = re.compile(r"(?![A-Z]+-\d+$).*[A-Z]")
_ONE_WORD = re.compile(r"[a-z_]+")
_SHORTEST_NAME = 4
_LONGEST_NAME = 80


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Candidate:
    """A value that was shown and can be written."""

    sort: Sort
    text: str

    @property
    def kind(self) -> str:
        """The kind of the handle, or the sort of another value."""
        return self.text[1:].partition(".")[0] if self.sort == "handle" else self.sort


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The place where a value was shown."""

    name: str
    """The field; in the user's text, the preceding word."""
    key: RecordKey | None
    """The record; `None` in the user's text."""


@dataclass(slots=True)
class CaseMemory:
    """Everything that was read and done so far."""

    names: frozenset[str] = frozenset()
    """The fields (tool, path and field) that show names: many different texts that count only in comparisons."""
    vocabulary: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """For each argument that repeats a word of the user's, the possible words."""
    wants: Mapping[str, Forest] = field(default_factory=dict[str, Forest])
    """For each tool that is called several times, a forest that decides from a value's features if it is wanted."""
    said: list[str] = field(default_factory=list[str])
    """The user's messages, each as one text."""
    tools: list[str] = field(default_factory=list[str])
    """The called tools, in order."""
    turns: list[str] = field(default_factory=list[str])
    """The turns, in order, without handles and prose."""
    records: dict[RecordKey, ReadRecord] = field(default_factory=dict[RecordKey, ReadRecord])
    """The records in answers, in the latest version of each."""
    seen: dict[RecordKey, int] = field(default_factory=dict[RecordKey, int])
    """The number of the turn after which a record was last shown."""
    places: dict[Candidate, dict[Place, None]] = field(default_factory=dict[Candidate, dict[Place, None]])
    """The places of each value, in the order in which values were first shown."""
    used: dict[Candidate, dict[str, int]] = field(default_factory=dict[Candidate, dict[str, int]])
    """The last turn that wrote a value, by value and tool."""
    about: tuple[str, ...] = ()
    """The handles in the last turn."""
    own_words: dict[str, str] = field(default_factory=dict[str, str])
    """The last word of each argument whose value was a single word."""
    _listed: dict[tuple[str, str], dict[RecordKey, int]] = field(
        default_factory=dict[tuple[str, str], dict[RecordKey, int]]
    )
    """The records of each tool and path, in the order in which they were first shown."""
    _columns: dict[str, dict[Candidate, None]] = field(default_factory=dict[str, dict[Candidate, None]])
    """The values of each tool, path and field, in the order in which they were first shown."""
    _last_answer: dict[str, int] = field(default_factory=dict[str, int])
    """The turn after which each tool last answered."""
    _named: dict[str, list[RecordKey]] = field(default_factory=dict[str, list[RecordKey]])
    """The records that each handle names."""
    _shared: dict[tuple[str, str, str, str], int] = field(default_factory=dict[tuple[str, str, str, str], int])
    """Number of records that show a handle, by tool, path, field and handle; cached until the next message."""
    _facts: dict[Candidate, tuple[str, ...]] = field(default_factory=dict[Candidate, tuple[str, ...]])
    """Results of `facts`, cached until the next message."""
    _spoken: frozenset[str] = frozenset()
    """The words of the user's that arguments may repeat."""
    _references: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Facts of the records that a handle names, cached until the next message."""
    _nearest: dict[tuple[str, str], tuple[int, bool, int]] = field(
        default_factory=dict[tuple[str, str], tuple[int, bool, int]]
    )
    """The greatest recency of each tool and path, cached until the next message."""
    _recencies: dict[RecordKey, tuple[int, bool, int]] = field(default_factory=dict[RecordKey, tuple[int, bool, int]])
    """The recency of records, cached until the next message."""
    _of_kind: dict[str, dict[Candidate, int]] = field(default_factory=dict[str, dict[Candidate, int]])
    """The shown values of each kind, with their order."""
    _ladders: dict[tuple[str, str, str], list[str]] = field(default_factory=dict[tuple[str, str, str], list[str]])
    """Values of each tool, path and field of a listing, from the least to the greatest, over all pages."""
    _ends: dict[tuple[str, str, str, str], dict[str, frozenset[Candidate]]] = field(
        default_factory=dict[tuple[str, str, str, str], dict[str, frozenset[Candidate]]]
    )
    """Unused values of least and of greatest rank, by tool, path and field of a listing, and by the calling tool."""
    _wanted: dict[tuple[str, str], tuple[Candidate, ...]] = field(
        default_factory=dict[tuple[str, str], tuple[Candidate, ...]]
    )
    """Unused values with which a tool is to be called, by kind and tool; cached until the next message."""
    _orders: dict[tuple[str, str, str], dict[str, int]] = field(
        default_factory=dict[tuple[str, str, str], dict[str, int]]
    )
    """Handles of a listing's records by rank, for each tool, path and field; cached until the next message."""
    _first_left: dict[tuple[str, str], Candidate | None] = field(
        default_factory=dict[tuple[str, str], Candidate | None]
    )
    """The first value with which a tool was not called, by field and tool; cached until the next message."""
    _unused: dict[tuple[str, str], tuple[Candidate, ...]] = field(
        default_factory=dict[tuple[str, str], tuple[Candidate, ...]]
    )
    """The values with which a tool was not called, by kind and tool; cached until the next message."""

    def read(self, pieces: Sequence[str]) -> None:
        """Record the messages between two turns."""
        role, part = "", list[str]()
        self._spoken = frozenset()
        self._facts.clear()
        self._references.clear()
        self._shared.clear()
        self._forget()
        for piece in pieces:
            found = _ROLE.fullmatch(piece) if isinstance(piece, Mark) else None
            if found:
                self._take(role, join_pieces(part))
                role, part = found[1], []
            else:
                part.append(piece)
        words = frozenset[str]().union(*self.vocabulary.values())
        self._spoken = frozenset(word for text in self.said for word in words_of(text)) & words

    def _take(self, role: str, text: str) -> None:
        if role == "user":
            self.said.append(text)
            before = ""
            for word in words_of(text):
                if any(word in words for words in self.vocabulary.values()):
                    self._show(Candidate(sort="word", text=word), Place(name=before, key=None))
                before = word
            for mark, before in marks_of(text):
                self._show(Candidate(sort="handle", text=mark), Place(name=before, key=None))
            for number in _NUMBER.finditer(text):
                before = next(reversed(list(words_of(text[: number.start()]))), "")
                self._show(Candidate(sort="number", text=number.group()), Place(name=before, key=None))
        elif role == "tool":
            counts: dict[str, int] = defaultdict(int)
            records = read_records(text)
            self._rank(records)
            for record in records:
                self._take_record(record, counts[record.path])
                counts[record.path] += 1

    def _take_record(self, record: ReadRecord, number: int) -> None:
        own = record.fields.get("id")
        named = own.marks[0] if own and own.marks else " ".join([*self.about, str(number)])
        key = (self.tools[-1], record.path, named)
        fields = {**self.records[key].fields, **record.fields} if key in self.records and own else record.fields
        marked = "".join(f"\ue000{mark}\ue001" for mark in self.about)
        if key not in self.records:
            self._named.setdefault(named, []).append(key)
        self.records[key] = replace(record, fields={**fields, ABOUT: read_value(marked)})
        self.seen[key] = self._last_answer[key[0]] = len(self.tools)
        listed = self._listed.setdefault(key[:2], {})
        listed.setdefault(key, len(listed))
        for name, value in record.fields.items():
            for candidate in _candidates(value):
                self._show(candidate, Place(name=name, key=key))

    def _rank(self, records: Sequence[ReadRecord]) -> None:
        """Order the values of a listing's fields by the shown ranks."""
        goes_on = " cursor=" in self.turns[-1]
        ranks: dict[tuple[str, str, str], dict[int, str]] = defaultdict(dict)
        for record in records:
            for name, value in record.fields.items():
                rank = next((word for word in value.comparisons if word.startswith("#")), None)
                if rank is not None:
                    ranks[self.tools[-1], record.path, name][int(rank[1:])] = token(value)
        for listing, ranked in ranks.items():
            before = self._ladders.get(listing, []) if goes_on else []
            rest = iter([token for token in before if token not in ranked.values()])
            count = max(len(before) + len(ranked), *ranked)
            ladder = [ranked[n] if n in ranked else next(rest, "") for n in range(1, count + 1)]
            self._ladders[listing] = [token for token in ladder if token]

    def _show(self, candidate: Candidate, place: Place) -> None:
        self.places.setdefault(candidate, {})[place] = None
        if place.key is not None:
            self._columns.setdefault(f"{place.key[0]}.{place.key[1]}.{place.name}", {})[candidate] = None
        of_kind = self._of_kind.setdefault(candidate.kind, {})
        of_kind.setdefault(candidate, len(of_kind))

    def _forget(self) -> None:
        """Clear caches that hold only until the next message or turn."""
        self._nearest.clear()
        self._recencies.clear()
        self._unused.clear()
        self._wanted.clear()
        self._ends.clear()
        self._first_left.clear()
        self._orders.clear()

    def unused_values(self, tool: str, kind: str) -> tuple[Candidate, ...]:
        """The values of a kind with which a tool was not called, in the order in which they were first shown."""
        if (kind, tool) not in self._unused:
            left = (one for one in self._of_kind.get(kind, ()) if tool not in self.used.get(one, ()))
            self._unused[kind, tool] = tuple(left)
        return self._unused[kind, tool]

    def write(self, turn: str, tool: str, chosen: Iterable[Candidate], words: Mapping[str, str]) -> None:
        """Record a turn of the imitator.

        Args:
            turn: The turn without handles and prose.
            tool: The tool that it calls.
            chosen: The values that it writes.
            words: The word of each argument whose value is a single word.
        """
        self.own_words.update(words)
        values = list(chosen)
        self._forget()
        for candidate in values:
            self.used.setdefault(candidate, {})[tool] = len(self.tools) + 1
        self.about = tuple(one.text for one in values if one.sort == "handle")
        self.tools.append(tool)
        self.turns.append(turn)

    def column(self, name: str) -> tuple[str, ...]:
        """The handles that a field shows, record by record, in the order in which they were first shown.

        Args:
            name: The tool, the path and the field.
        """
        tool, path, column = name.split(".")
        return tuple(
            mark
            for key, record in self.records.items()
            if key[:2] == (tool, path) and column in record.fields
            for mark in record.fields[column].marks
        )

    def words_for(self, argument: str) -> set[str]:
        """The single words in fields of this name, or the words of the user's that the argument may repeat."""
        if argument in self.vocabulary:
            said = {word for text in self.said for word in words_of(text)}
            return said & self.vocabulary[argument]
        return {
            record.fields[argument].text
            for record in self.records.values()
            if argument in record.fields and _ONE_WORD.fullmatch(record.fields[argument].text)
        }

    def _is_asked(self, key: RecordKey) -> bool:
        """Whether the user's text contains a value of a record."""
        fields = self.records[key].fields
        return any("=asked" in value.words for value in fields.values()) or self._is_said(key[2])

    def _is_said(self, mark: str) -> bool:
        """Whether the user's text contains the value behind a handle."""
        return any(place.key is None for place in self.places.get(Candidate(sort="handle", text=mark), ()))

    def _last_use(self, mark: str) -> int:
        return max(self.used.get(Candidate(sort="handle", text=mark), {}).values(), default=0)

    def _recency(self, key: RecordKey) -> tuple[int, bool, int]:
        """The recency of a record: the turn that last showed or named it; then whether the user named it."""
        if key not in self._recencies:
            record = self.records[key]
            asked = any("=asked" in value.words for value in record.fields.values())
            self._recencies[key] = (
                max(self.seen[key], self._last_use(key[2])),
                asked or self._is_said(key[2]),
                max(map(self._last_use, record.marks()), default=0),
            )
        return self._recencies[key]


def token(value: ReadValue) -> str:
    """The text that identifies a number or day of a field."""
    return value.marks[0] if value.marks else " ".join(value.numbers)


def _candidates(value: ReadValue) -> Iterator[Candidate]:
    """The values in a field that can be written."""
    yield from (Candidate(sort="handle", text=mark) for mark in value.marks)
    if len(value.text) <= _LONGEST_NAME:
        yield from (Candidate(sort="number", text=number) for number in value.numbers if number == value.text)
        if len(value.text) >= _SHORTEST_NAME and _NAME.match(value.text):
            yield Candidate(sort="text", text=value.text)
        if _ONE_WORD.fullmatch(value.text):
            yield Candidate(sort="word", text=value.text)
