"""An episode as an imitator has read it: what was shown where, what was done with it, and the features of both."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from palaestra.benchmarks.learnability.reading import (
    ReadRecord,
    ReadValue,
    join_pieces,
    marks_of,
    read_records,
    words_of,
)
from palaestra.benchmarks.learnability.trees import Features
from palaestra.tools import Mark

Sort: TypeAlias = Literal["handle", "number", "text"]
_ROLE = re.compile(r"<\|(\w+)\|>")
_NUMBER = re.compile(r"(?<![\w.-])\d+(?![\w.-]|\.\d)")
_NAME = re.compile(r"(?![A-Z]+-\d+$).*[A-Z]")
_SHORTEST_NAME = 4
_LONGEST_NAME = 80
_MOST_COUNTED = 4


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

    tool: str
    """The tool that answered; `(user)` for what the user wrote."""
    name: str
    """The path and the field; the word before in what the user wrote."""
    record: ReadRecord | None


@dataclass(slots=True)
class Case:
    """What was read and done so far."""

    said: list[str] = field(default_factory=list)
    """The user's messages, joined."""
    tools: list[str] = field(default_factory=list)
    """The tools called, in order."""
    skeletons: list[str] = field(default_factory=list)
    """The turns, in order, without what was chosen."""
    answers: dict[str, list[ReadRecord]] = field(default_factory=dict)
    """By tool: the records of its last answer."""
    places: dict[Candidate, list[Place]] = field(default_factory=dict)
    """By value, in the order of first showing: where it stands in the last answer of each tool, and in requests."""
    used: dict[Candidate, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    """By value and tool: the last turn that wrote it."""
    fresh: set[Candidate] = field(default_factory=set)
    """What the last messages show."""

    def read(self, pieces: Sequence[str]) -> None:
        """Take note of what stands between two turns."""
        role, part = "", list[str]()
        self.fresh = set()
        for piece in pieces:
            found = _ROLE.fullmatch(piece) if isinstance(piece, Mark) else None
            if found:
                self._take(role, join_pieces(part))
                role, part = found[1], []
            else:
                part.append(piece)

    def _take(self, role: str, text: str) -> None:
        if role == "user":
            self.said.append(text)
            for mark, before in marks_of(text):
                self._show(Candidate(sort="handle", text=mark), Place(tool="(user)", name=before, record=None))
            for number in _NUMBER.finditer(text):
                before = next(reversed(list(words_of(text[: number.start()]))), "")
                self._show(
                    Candidate(sort="number", text=number.group()), Place(tool="(user)", name=before, record=None)
                )
        elif role == "tool":
            tool = self.tools[-1]
            records = read_records(text)
            self.answers[tool] = records
            for record in records:
                for name, value in record.fields.items():
                    self._take_value(tool, record, name, value)

    def _take_value(self, tool: str, record: ReadRecord, name: str, value: ReadValue) -> None:
        place = Place(tool=tool, name=f"{record.path}.{name}", record=record)
        shown = [Candidate(sort="handle", text=mark) for mark in value.marks]
        if len(value.text) <= _LONGEST_NAME:
            shown += [Candidate(sort="number", text=number) for number in value.numbers if number == value.text]
            if len(value.text) >= _SHORTEST_NAME and _NAME.match(value.text):
                shown.append(Candidate(sort="text", text=value.text))
        for candidate in shown:
            self._show(candidate, place)

    def _show(self, candidate: Candidate, place: Place) -> None:
        self.fresh.add(candidate)
        places = self.places.setdefault(candidate, [])
        if place.tool != "(user)":
            places[:] = [p for p in places if p.tool != place.tool or p.record in self.answers.get(p.tool, ())]
        places.append(place)

    def write(self, skeleton: str, chosen: Iterable[Candidate]) -> None:
        """Take note of a turn of its own."""
        tool = tool_of(skeleton)
        for candidate in chosen:
            self.used[candidate][tool] = len(self.tools) + 1
        self.tools.append(tool)
        self.skeletons.append(skeleton)

    # Features of the moment

    def moment(self, takes: Mapping[str, frozenset[str]]) -> Features:
        """What is known where the next turn is decided.

        Args:
            takes: By tool: the kinds of handles that its calls name.
        """
        has: set[str] = set()
        numbers: dict[str, float] = {}
        self._history(has, numbers)
        self._words(has)
        marked: dict[str, set[str]] = defaultdict(set)
        for text in self.said:
            for mark, before in marks_of(text):
                marked[mark].add(f"user {before}")
        for tool, records in self.answers.items():
            for path in dict.fromkeys(record.path for record in records):
                here = [record for record in records if record.path == path and record.fields]
                numbers[f"a:{tool}.{path}"] = len(here)
                self._all_of(f"{tool}.{path}", here, has)
                if here:
                    self._one_of(f"{tool}.{path}", self._focus(here), has, numbers, marked)
        for names in marked.values():
            ordered = sorted(names)
            has |= {f"e:{a} is {b}" for n, a in enumerate(ordered) for b in ordered[n + 1 :]}
        for tool, kinds in takes.items():
            left = [c for c in self.places if c.sort == "handle" and c.kind in kinds and tool not in self.used[c]]
            numbers[f"c:{tool}"] = len(left)
        return Features(has=frozenset(has), numbers=numbers)

    def _history(self, has: set[str], numbers: dict[str, float]) -> None:
        has.add(f"h:last={self.skeletons[-1] if self.skeletons else ''}")
        has.add(f"h:before={self.tools[-2] if len(self.tools) > 1 else ''}")
        for tool in set(self.tools):
            count = self.tools.count(tool)
            has.update(f"h:{tool}>={n}" for n in range(1, min(count, _MOST_COUNTED) + 1))
            numbers[f"h:{tool}"] = count

    def _words(self, has: set[str]) -> None:
        for text, name in ((" ".join(self.said), "m"), (self.said[-1] if self.said else "", "m:last")):
            words = list(words_of(text))
            has.update(f"{name}:{word}" for word in words)
            has.update(f"{name}:{a} {b}" for a, b in zip(words, words[1:], strict=False))

    def _focus(self, records: Sequence[ReadRecord]) -> ReadRecord:
        """The record that the last turns or else the user named; the first of equal ones."""

        def recent(record: ReadRecord) -> tuple[int, bool]:
            marks = [Candidate(sort="handle", text=mark) for mark in record.marks()]
            turns = [turn for mark in marks if mark in self.used for turn in self.used[mark].values()]
            own = record.fields.get("id")
            turns += [100 + turn for mark in (own.marks if own else ()) for turn in self._turns(mark)]
            return max(turns, default=0), any("=asked" in value.words for value in record.fields.values())

        return max(records, key=recent)

    def _turns(self, mark: str) -> list[int]:
        candidate = Candidate(sort="handle", text=mark)
        return list(self.used[candidate].values()) if candidate in self.used else []

    def _one_of(
        self, name: str, record: ReadRecord, has: set[str], numbers: dict[str, float], marked: dict[str, set[str]]
    ) -> None:
        for key, value in record.fields.items():
            has.add(f"f:{name}.{key}")
            has.update(f"f:{name}.{key}={word}" for word in value.words)
            if value.days is not None:
                numbers[f"f:{name}.{key} days"] = value.days
            if len(value.numbers) == 1:
                numbers[f"f:{name}.{key}"] = float(value.numbers[0])
            for mark in value.marks:
                marked[mark].add(f"{name}.{key}")

    def _all_of(self, name: str, records: Sequence[ReadRecord], has: set[str]) -> None:
        said: dict[str, int] = defaultdict(int)
        for record in records:
            for key, value in record.fields.items():
                for word in value.words:
                    said[f"{name}.{key}={word}"] += 1
        has.update(f"a:some {one}" for one in said)
        has.update(f"a:all {one}" for one, count in said.items() if count == len(records))
        has.update(f"a:several {one}" for one, count in said.items() if count > 1)

    # Features of a candidate

    def describe(self, candidate: Candidate, tool: str, before: Sequence[Candidate]) -> frozenset[str]:
        """What tells a candidate from others.

        Args:
            candidate: A value that was shown.
            tool: The tool of the call.
            before: What the call has chosen already.
        """
        has = {f"kind={candidate.kind}"}
        same = [one for one in self.places if one.kind == candidate.kind]
        has.add(f"order={same.index(candidate)}")
        if same[-1] == candidate:
            has.add("order=last")
        unused = [one for one in same if tool not in self.used[one]]
        if candidate in unused:
            has.add("unused by tool")
            has |= {"first unused by tool"} if unused[0] == candidate else set()
            has |= {"last unused by tool"} if unused[-1] == candidate else set()
        if self.used[candidate]:
            has.update(f"used by {name}" for name in self.used[candidate])
            if max(self.used[candidate].values()) == len(self.tools):
                has.add("used in the last turn")
        else:
            has.add("never used")
        has |= {"fresh"} if candidate in self.fresh else set()
        for place in self.places[candidate]:
            self._describe_place(place, candidate, has, before, tool)
        has.update(f"chosen {n}" for n, one in enumerate(before) if one == candidate)
        return frozenset(has)

    def _describe_place(
        self, place: Place, candidate: Candidate, has: set[str], before: Sequence[Candidate], tool: str
    ) -> None:
        name = f"{place.tool}.{place.name}"
        has.add(f"in {name}")
        has |= {f"fresh in {name}"} if candidate in self.fresh and place.tool == self.tools[-1:] else set()
        if place.record is None:
            has.add("in (user)")
            return
        marks = place.record.marks()
        for number, one in enumerate(before):
            if one.text in marks:
                has.add(f"beside chosen {number} in {name}")
        used = [m for m in marks if m != candidate.text and self._turns(m)]
        if used:
            has.add(f"beside used in {name}")
            if any(len(self.tools) in self._turns(m) for m in used):
                has.add(f"beside used last in {name}")
        for key, value in place.record.fields.items():
            has.update(f"{name} with {key}={word}" for word in value.words)
            if value.days is not None:
                has.update(f"{name} with {key} days>={limit}" for limit in (-60, -45, -30, -14, 0) if value.days >= limit)
            has.update(f"{name} with {key} handle" for mark in value.marks if mark != candidate.text and self._is_said(mark))

    def _is_said(self, mark: str) -> bool:
        """Whether the user has written what a handle stands for."""
        places = self.places.get(Candidate(sort="handle", text=mark), ())
        return any(place.tool == "(user)" for place in places)


def tool_of(skeleton: str) -> str:
    """The tool of a turn."""
    return skeleton.partition(" ")[0]
