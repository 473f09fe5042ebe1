"""An episode as an imitator has read it: what was shown where, what was done with it, and the features of both."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
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
from palaestra.benchmarks.learnability.trees import Forest, TreeFeatures
from palaestra.tools import Mark

Sort: TypeAlias = Literal["handle", "number", "text", "word"]
RecordKey: TypeAlias = tuple[str, str, str]
"""A tool, the path in its answer, and the handle of the record or of what the call was about."""
ABOUT = "about"
"""The field that holds what an answer's call named."""
USER = "(user)"
WANTED, UNWANTED = "wanted", "unwanted"
"""Whether a tool is to be called with a value."""
_ROLE = re.compile(r"<\|(\w+)\|>")
_NUMBER = re.compile(r"(?<![\w.-])\d+(?![\w.-]|\.\d)")
_NAME = re.compile(r"(?![A-Z]+-\d+$).*[A-Z]")
_ONE_WORD = re.compile(r"[a-z_]+")
_SHORTEST_NAME = 4
_LONGEST_NAME = 80
_MOST_COUNTED = 4
_DAY_LIMITS = (-60, -45, -30, -14, -3, 0)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Candidate:
    """A value that was shown and can be written."""

    sort: Sort
    text: str

    @property
    def kind(self) -> str:
        """The kind of its handle, or its sort."""
        return self.text[1:].partition(".")[0] if self.sort == "handle" else self.sort


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a value was shown."""

    name: str
    """The field; the word before in what the user wrote."""
    key: RecordKey | None
    """The record; `None` in what the user wrote."""


@dataclass(slots=True)
class Case:
    """What was read and done so far."""

    names: frozenset[str] = frozenset()
    """The fields (tool, path and field) that show names: many different texts, of which only comparisons count."""
    vocabulary: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """By argument that repeats a word of the user's: the words that it may be."""
    wants: Mapping[str, Forest] = field(default_factory=dict[str, Forest])
    """By tool that is called several times: whether it is to be called with a value, by what is known of the value."""
    said: list[str] = field(default_factory=list[str])
    """The user's messages, joined."""
    tools: list[str] = field(default_factory=list[str])
    """The tools called, in order."""
    turns: list[str] = field(default_factory=list[str])
    """The turns, in order, without handles and prose."""
    records: dict[RecordKey, ReadRecord] = field(default_factory=dict[RecordKey, ReadRecord])
    """What answers show, the latest of each record."""
    seen: dict[RecordKey, int] = field(default_factory=dict[RecordKey, int])
    """The turn after which a record was shown last."""
    places: dict[Candidate, dict[Place, None]] = field(default_factory=dict[Candidate, dict[Place, None]])
    """By value, in the order of first showing: where it stands."""
    used: dict[Candidate, dict[str, int]] = field(default_factory=dict[Candidate, dict[str, int]])
    """By value and tool: the last turn that wrote it."""
    about: tuple[str, ...] = ()
    """The handles of the last turn."""
    _last_answer: dict[str, int] = field(default_factory=dict[str, int])
    """By tool: the turn after which it answered last."""
    _named: dict[str, list[RecordKey]] = field(default_factory=dict[str, list[RecordKey]])
    """By handle: the records that it names."""
    _shared: dict[tuple[str, str, str, str], int] = field(default_factory=dict[tuple[str, str, str, str], int])
    """By tool, path, field and handle: how many records show it, since the last message."""
    _facts: dict[Candidate, tuple[str, ...]] = field(default_factory=dict[Candidate, tuple[str, ...]])
    """What `facts` gave since the last message."""
    _spoken: frozenset[str] = frozenset()
    """The words of the user's that arguments may repeat."""
    _references: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """By handle: what the records say that it names, since the last message."""
    _nearest: dict[tuple[str, str], tuple[int, bool, int]] = field(
        default_factory=dict[tuple[str, str], tuple[int, bool, int]]
    )
    """By tool and path: the greatest recency since the last message."""
    _recencies: dict[RecordKey, tuple[int, bool, int]] = field(default_factory=dict[RecordKey, tuple[int, bool, int]])
    """The recency of records, since the last message."""
    _of_kind: dict[str, dict[Candidate, int]] = field(default_factory=dict[str, dict[Candidate, int]])
    """By kind: the values that were shown and their order."""
    _ladders: dict[tuple[str, str, str], list[str]] = field(default_factory=dict[tuple[str, str, str], list[str]])
    """By tool, path and field of a listing: its values from the least to the greatest, pages counted together."""
    _ends: dict[tuple[str, str, str, str], dict[str, frozenset[Candidate]]] = field(
        default_factory=dict[tuple[str, str, str, str], dict[str, frozenset[Candidate]]]
    )
    """By tool, path and field of a listing, and tool: the unused values of least and of greatest rank."""
    _wanted: dict[tuple[str, str], tuple[Candidate, ...]] = field(
        default_factory=dict[tuple[str, str], tuple[Candidate, ...]]
    )
    """By kind and tool: the unused values with which the tool is to be called, since the last message."""
    _unused: dict[tuple[str, str], tuple[Candidate, ...]] = field(
        default_factory=dict[tuple[str, str], tuple[Candidate, ...]]
    )
    """By kind and tool: the values with which the tool was not called, since the last message."""

    def read(self, pieces: Sequence[str]) -> None:
        """Take note of what stands between two turns."""
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
        for name, value in record.fields.items():
            for candidate in _candidates(value):
                self._show(candidate, Place(name=name, key=key))

    def _rank(self, records: Sequence[ReadRecord]) -> None:
        """Order the values of a listing's fields by the ranks that it shows."""
        goes_on = " cursor=" in self.turns[-1]
        ranks: dict[tuple[str, str, str], dict[int, str]] = defaultdict(dict)
        for record in records:
            for name, value in record.fields.items():
                rank = next((word for word in value.comparisons if word.startswith("#")), None)
                if rank is not None:
                    ranks[self.tools[-1], record.path, name][int(rank[1:])] = _token(value)
        for listing, ranked in ranks.items():
            before = self._ladders.get(listing, []) if goes_on else []
            rest = iter([token for token in before if token not in ranked.values()])
            count = max(len(before) + len(ranked), *ranked)
            ladder = [ranked[n] if n in ranked else next(rest, "") for n in range(1, count + 1)]
            self._ladders[listing] = [token for token in ladder if token]

    def _ends_of(
        self, tool: str, path: str, column: str, unused: Sequence[Candidate], by: str
    ) -> dict[str, frozenset[Candidate]]:
        """The unused values whose records rank least and greatest in a field of a listing."""
        key = (tool, path, column, by)
        if key not in self._ends:
            ladder = {token: rank for rank, token in enumerate(self._ladders[tool, path, column])}
            ranks = {
                one: ladder.get(_token(self.records[tool, path, one.text].fields[column]), -1)
                for one in unused
                if (tool, path, one.text) in self.records and column in self.records[tool, path, one.text].fields
            }
            self._ends[key] = {
                word: frozenset(one for one, rank in ranks.items() if rank == end(ranks.values()))
                for word, end in (("least", min), ("greatest", max))
                if ranks
            }
        return self._ends[key]

    def _is_next(self, listing: tuple[str, str, str], candidate: Candidate, by: str) -> bool:
        """Whether a record ranks next above those that the last turn named, or least after a call of another tool."""
        tool, path, column = listing
        ladder = {token: rank for rank, token in enumerate(self._ladders[listing])}

        def rank(mark: str) -> int | None:
            record = self.records.get((tool, path, mark))
            return ladder.get(_token(record.fields[column])) if record and column in record.fields else None

        about = self.about if self.tools[-1] == by else ()
        last = max((found for mark in about if (found := rank(mark)) is not None), default=-1)
        return rank(candidate.text) == last + 1

    def wanted_by(self, tool: str, kind: str) -> tuple[Candidate, ...]:
        """The unused values of a kind with which a tool is to be called, in the order of first showing."""
        if (kind, tool) not in self._wanted:
            forest = self.wants.get(tool)
            self._wanted[kind, tool] = tuple(
                one
                for one in self.unused_by(tool, kind)
                if forest is not None and forest.decide(self.known_of(one)) == WANTED
            )
        return self._wanted[kind, tool]

    def known_of(self, candidate: Candidate) -> TreeFeatures:
        """What messages say of a candidate."""
        numbers: dict[str, float] = {}
        for place in self.places[candidate]:
            if place.key is None:
                continue
            name = f"{place.key[0]}.{place.key[1]}.{place.name}"
            for column, value in self.records[place.key].fields.items():
                if value.days is not None:
                    numbers[f"{name} with {column} days"] = value.days
                if value.gap is not None:
                    numbers[f"{name} with {column} gap"] = value.gap
                if len(value.numbers) == 1:
                    numbers[f"{name} with {column}"] = float(value.numbers[0])
        return TreeFeatures(has=frozenset(self.facts(candidate)), numbers=numbers)

    def _show(self, candidate: Candidate, place: Place) -> None:
        self.places.setdefault(candidate, {})[place] = None
        of_kind = self._of_kind.setdefault(candidate.kind, {})
        of_kind.setdefault(candidate, len(of_kind))

    def _forget(self) -> None:
        """Drop what holds only until the next message or turn."""
        self._nearest.clear()
        self._recencies.clear()
        self._unused.clear()
        self._wanted.clear()
        self._ends.clear()

    def unused_by(self, tool: str, kind: str) -> tuple[Candidate, ...]:
        """The values of a kind with which a tool was not called, in the order of first showing."""
        if (kind, tool) not in self._unused:
            left = (one for one in self._of_kind.get(kind, ()) if tool not in self.used.get(one, ()))
            self._unused[kind, tool] = tuple(left)
        return self._unused[kind, tool]

    def write(self, turn: str, tool: str, chosen: Iterable[Candidate]) -> None:
        """Take note of a turn of its own.

        Args:
            turn: The turn without handles and prose.
            tool: The tool that it calls.
            chosen: The values that it writes.
        """
        values = list(chosen)
        self._forget()
        for candidate in values:
            self.used.setdefault(candidate, {})[tool] = len(self.tools) + 1
        self.about = tuple(one.text for one in values if one.sort == "handle")
        self.tools.append(tool)
        self.turns.append(turn)

    def column(self, name: str) -> tuple[str, ...]:
        """The handles that a field shows, record by record, in the order of first showing.

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
        """The single words that fields of this name show, or those of the user's that the argument may repeat."""
        if argument in self.vocabulary:
            said = {word for text in self.said for word in words_of(text)}
            return said & self.vocabulary[argument]
        return {
            record.fields[argument].text
            for record in self.records.values()
            if argument in record.fields and _ONE_WORD.fullmatch(record.fields[argument].text)
        }

    # What is read of the moment

    def moment(self, takes: Mapping[str, frozenset[str]]) -> TreeFeatures:
        """What is known where the next turn is decided.

        Args:
            takes: By tool that is called several times: the kinds of handles that its calls name.
        """
        has: set[str] = set()
        numbers: dict[str, float] = {}
        self._history(has, numbers)
        self._words(has)
        marked: dict[str, set[str]] = defaultdict(set)
        for text in self.said:
            for mark, before in marks_of(text):
                marked[mark].add(f"user {before}")
        groups: dict[tuple[str, str], list[RecordKey]] = defaultdict(list)
        for key, record in self.records.items():
            if len(record.fields) > 1:
                groups[key[:2]].append(key)
        for (tool, path), keys in groups.items():
            name = f"{tool}.{path}"
            last = [key for key in keys if self.seen[key] == len(self.tools)]
            numbers[f"a:{name}"] = len(keys)
            numbers[f"a:last {name}"] = len(last)
            self._all_of(name, keys, has)
            if last:
                numbers[f"l:{path}"] = len(last)
            nearest = max(keys, key=self._recency)
            fresh = self.seen[nearest] == len(self.tools)
            self._one_of(name, self.records[nearest], has, numbers, marked, fresh=fresh)
        for names in marked.values():
            ordered = sorted(names)
            has |= {f"e:{a} is {b}" for n, a in enumerate(ordered) for b in ordered[n + 1 :]}
        for tool, kinds in takes.items():
            self._unused_of(tool, kinds, has, numbers)
        return TreeFeatures(has=frozenset(has), numbers=numbers)

    def _words_in(self, field: str, value: ReadValue) -> frozenset[str]:
        """The words of a field that may decide; of a name only how it compares."""
        return value.comparisons if field in self.names else value.words

    def _facts_in(self, field: str, value: ReadValue) -> Iterator[str]:
        """The words of a field, without the ranks between the least and the greatest."""
        return (word for word in self._words_in(field, value) if not word.startswith("#") or word == "#1")

    def _history(self, has: set[str], numbers: dict[str, float]) -> None:
        has.add(f"h:last={self.turns[-1] if self.turns else ''}")
        has.add(f"h:before={self.turns[-2] if len(self.turns) > 1 else ''}")
        has.update(f"h:did {turn}" for turn in self.turns)
        for tool in set(self.tools):
            count = self.tools.count(tool)
            has.update(f"h:{tool}>={n}" for n in range(1, min(count, _MOST_COUNTED) + 1))
            numbers[f"h:{tool}"] = count

    def _words(self, has: set[str]) -> None:
        for text, name in ((" ".join(self.said), "m"), (self.said[-1] if self.said else "", "m:last")):
            words = list(words_of(text))
            has.update(f"{name}:{word}" for word in words)
            has.update(f"{name}:{a} {b}" for a, b in pairwise(words))

    def _recency(self, key: RecordKey) -> tuple[int, bool, int]:
        """How near a record is to what goes on: the last one shown or named, or else the one that the user named."""
        if key not in self._recencies:
            record = self.records[key]
            asked = any("=asked" in value.words for value in record.fields.values())
            self._recencies[key] = (
                max(self.seen[key], self._last_use(key[2])),
                asked or self._is_said(key[2]),
                max(map(self._last_use, record.marks()), default=0),
            )
        return self._recencies[key]

    def _last_use(self, mark: str) -> int:
        return max(self.used.get(Candidate(sort="handle", text=mark), {}).values(), default=0)

    def _one_of(
        self,
        name: str,
        record: ReadRecord,
        has: set[str],
        numbers: dict[str, float],
        marked: dict[str, set[str]],
        *,
        fresh: bool,
    ) -> None:
        group = "l" if fresh else "f"
        for key, value in record.fields.items():
            if key == ABOUT:
                continue
            has.add(f"{group}:{name}.{key}")
            has.update(f"{group}:{name}.{key}={word}" for word in self._facts_in(f"{name}.{key}", value))
            if value.days is not None:
                numbers[f"{group}:{name}.{key} days"] = value.days
            if value.gap is not None:
                numbers[f"{group}:{name}.{key} gap"] = value.gap
            has.update(f"{group}:{name}.{key} {one}" for one in self._compared(value))
            if len(value.numbers) == 1:
                numbers[f"{group}:{name}.{key}"] = float(value.numbers[0])
            for mark in value.marks:
                marked[mark].add(f"{name}.{key}")
                has.update(f"r:{name}.{key}->{feature}" for feature in self._referred(mark))

    def _compared(self, value: ReadValue) -> Iterator[str]:
        """How a value compares with values of the user and of other fields."""
        for word, mark in value.compared:
            for place in self.places.get(Candidate(sort="handle", text=mark), ()):
                yield f"{word} {USER if place.key is None else f'{place.key[0]}.{place.key[1]}.{place.name}'}"

    def _referred(self, mark: str) -> tuple[str, ...]:
        """What the records say that a handle names."""
        if mark not in self._references:
            self._references[mark] = tuple(self._read_references(mark))
        return self._references[mark]

    def _read_references(self, mark: str) -> Iterator[str]:
        for key in self._named.get(mark, ()):
            for name, value in self.records[key].fields.items():
                if name not in ("id", ABOUT):
                    place = f"{key[0]}.{key[1]}.{name}"
                    yield from (f"{key[0]}.{name}={word}" for word in self._facts_in(place, value))

    def _all_of(self, name: str, keys: Sequence[RecordKey], has: set[str]) -> None:
        said: dict[str, int] = defaultdict(int)
        for key in keys:
            for column, value in self.records[key].fields.items():
                for word in self._facts_in(f"{name}.{column}", value):
                    said[f"{name}.{column}={word}"] += 1
        has.update(f"a:some {one}" for one in said)
        has.update(f"a:all {one}" for one, count in said.items() if count == len(keys))
        has.update(f"a:several {one}" for one, count in said.items() if count > 1)

    def _unused_of(self, tool: str, kinds: frozenset[str], has: set[str], numbers: dict[str, float]) -> None:
        """What the values say that a tool has not been called with."""
        left = [one for kind in sorted(kinds) for one in self.unused_by(tool, kind)]
        numbers[f"c:{tool}"] = len(left)
        wanted = sum(len(self.wanted_by(tool, kind)) for kind in kinds)
        numbers[f"w:{tool}"] = wanted
        has |= {f"w:{tool}"} if wanted else set()
        for one in left:
            has.update(f"u:{tool} {feature}" for feature in self.facts(one))

    # What is read of a candidate

    def describe(self, candidate: Candidate, tool: str, before: Mapping[str, Candidate]) -> frozenset[str]:
        """What tells a candidate from others.

        Args:
            candidate: A value that was shown.
            tool: The tool of the call.
            before: By argument: what the call has chosen already.
        """
        has = {f"kind={candidate.kind}"}
        if candidate not in self.places:
            return frozenset(has)
        same = self._of_kind[candidate.kind]
        has.add(f"order={same[candidate]}")
        has |= {"order=last"} if same[candidate] == len(same) - 1 else set()
        unused = self.unused_by(tool, candidate.kind)
        self._place_in(candidate, tool, unused, has)
        if tool not in self.used.get(candidate, ()):
            has.add("unused by tool")
            has |= {"first unused by tool"} if unused[0] == candidate else set()
            has |= {"last unused by tool"} if unused[-1] == candidate else set()
            wanted = self.wanted_by(tool, candidate.kind)
            if candidate in wanted:
                has.add("wanted")
                has |= {"first wanted"} if wanted[0] == candidate else set()
                has |= {"last wanted"} if wanted[-1] == candidate else set()
        has |= {"longest unused by tool"} if self._longest_unused(tool, candidate.kind) == candidate else set()
        uses = self.used.get(candidate, {})
        has.update(f"used by {name}" for name in uses)
        has |= {"used in the last turn"} if uses and max(uses.values()) == len(self.tools) else set()
        has |= set() if uses else {"never used"}
        has.update(self.facts(candidate))
        for place in self.places[candidate]:
            self._relate(place, candidate, before, has)
        has |= {"chosen"} if candidate in before.values() else set()
        has.update(f"chosen as {name}" for name, one in before.items() if one == candidate)
        return frozenset(has)

    def _place_in(self, candidate: Candidate, tool: str, unused: Sequence[Candidate], has: set[str]) -> None:
        """Whether a candidate ranks least or greatest among the unused ones of a listing."""
        for place in self.places[candidate]:
            if place.key is None or place.key[2] != candidate.text:
                continue
            for column in self.records[place.key].fields:
                if (*place.key[:2], column) in self._ladders:
                    ends = self._ends_of(*place.key[:2], column, unused, tool)
                    has.update(f"{word} {column} unused" for word, ones in ends.items() if candidate in ones)
                    has |= {f"next {column}"} if self._is_next((*place.key[:2], column), candidate, tool) else set()

    def _longest_unused(self, tool: str, kind: str) -> Candidate:
        """The value of a kind with which a tool was not called for longest, of those that it was called with at all."""
        called = [one for one in self._of_kind[kind] if tool in self.used.get(one, ())] or list(self._of_kind[kind])
        return min(called, key=lambda one: self.used.get(one, {}).get(tool, 0))

    def _relate(self, place: Place, candidate: Candidate, before: Mapping[str, Candidate], has: set[str]) -> None:
        """How a place stands to what was used and chosen."""
        if place.key is None:
            return
        name = f"{place.key[0]}.{place.key[1]}.{place.name}"
        if self.seen[place.key] == len(self.tools):
            has.add(f"fresh in {name}")
        if self.seen[place.key] == self._last_answer[place.key[0]]:
            has.add(f"last in {name}")
        marks = self.records[place.key].marks() | {place.key[2]}
        has.update(f"beside {argument} in {name}" for argument, one in before.items() if one.text in marks)
        others = [self._last_use(mark) for mark in marks if mark != candidate.text]
        if max(others, default=0) == len(self.tools) and self.tools:
            has.add(f"beside used last in {name}")
        if self._recency(place.key) == self._greatest_recency(place.key[:2]):
            has.add(f"in the nearest {name}")

    def _greatest_recency(self, group: tuple[str, str]) -> tuple[int, bool, int]:
        if group not in self._nearest:
            self._nearest[group] = max(self._recency(key) for key in self.records if key[:2] == group)
        return self._nearest[group]

    def facts(self, candidate: Candidate) -> tuple[str, ...]:
        """What messages say of a candidate, whatever was done with it."""
        if candidate not in self._facts:
            self._facts[candidate] = tuple(dict.fromkeys(self._facts_of(candidate)))
        return self._facts[candidate]

    def _facts_of(self, candidate: Candidate) -> Iterator[str]:
        for place in self.places[candidate]:
            if place.key is None:
                yield from (f"in {USER} {place.name}", f"in {USER}")
                continue
            record = self.records[place.key]
            name = f"{place.key[0]}.{place.key[1]}.{place.name}"
            yield from (f"in {name}", f"in a record of {place.key[0]}.{place.key[1]}")
            if self._spoken & set(place.name.split("_")):
                yield "in a field that the user named"
            for column, value in record.fields.items():
                field = f"{place.key[0]}.{place.key[1]}.{column}"
                yield from (f"{name} with {column}={word}" for word in self._words_in(field, value))
                yield from (f"{name} with {column} {one}" for one in self._compared(value))
                if value.days is not None:
                    yield from (f"{name} with {column} days>={limit}" for limit in _DAY_LIMITS if value.days >= limit)
                for mark in value.marks:
                    if mark == candidate.text and column == place.name:
                        continue
                    if self._is_said(mark):
                        yield f"{name} with {column} of the user"
                    if column != ABOUT:
                        if self._is_shared(place.key, column, mark):
                            yield f"{name} with {column} shared"
                        yield from (f"{name} with {column}->{feature}" for feature in self._referred(mark))

    def _is_shared(self, key: RecordKey, column: str, mark: str) -> bool:
        """Whether another record of the listing has the same value in a column."""
        if not self._shared:
            for other, record in self.records.items():
                for name, value in record.fields.items():
                    for one in value.marks:
                        place = (other[0], other[1], name, one)
                        self._shared[place] = self._shared.get(place, 0) + 1
        return self._shared.get((key[0], key[1], column, mark), 0) > 1

    def _is_said(self, mark: str) -> bool:
        """Whether the user has written what a handle stands for."""
        return any(place.key is None for place in self.places.get(Candidate(sort="handle", text=mark), ()))


def _token(value: ReadValue) -> str:
    """What tells a number or day of a field from others."""
    return value.marks[0] if value.marks else " ".join(value.numbers)


def _candidates(value: ReadValue) -> Iterator[Candidate]:
    """What a field shows that can be written."""
    yield from (Candidate(sort="handle", text=mark) for mark in value.marks)
    if len(value.text) <= _LONGEST_NAME:
        yield from (Candidate(sort="number", text=number) for number in value.numbers if number == value.text)
        if len(value.text) >= _SHORTEST_NAME and _NAME.match(value.text):
            yield Candidate(sort="text", text=value.text)
        if _ONE_WORD.fullmatch(value.text):
            yield Candidate(sort="word", text=value.text)
