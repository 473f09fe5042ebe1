"""The memory of an episode's rendering: handles, facts of records, and the values that later ones are compared with."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date

from palaestra.records import JsonSchema
from palaestra.tools.formats.fact_words import fact_words
from palaestra.tools.formats.facts import (
    DAY_UNIT,
    DayGap,
    MessagePlace,
    Path,
    ShownPart,
    ShownValue,
    ValueComparison,
    ValueOrigin,
)
from palaestra.tools.formats.format import Mark
from palaestra.tools.formats.handles import Handles, HandleValue
from palaestra.tools.formats.kinds import ArgumentKinds, is_id, read_kinds
from palaestra.tools.formats.occurrences import find_occurrences
from palaestra.tools.formats.recognise import FoundValue, recognise

LEAST_NUMBER = 100
"""The least number that gets a handle; smaller ones are written unchanged."""
_WORD = re.compile(r"\S+")
_MARKS = ".,:;!?()\"'"
_NAME_GOES_ON = re.compile(r" (?:[A-Z0-9])")
_ASKED_WORD = re.compile(r"[a-z]+\b(?! \d)")
"""A word of a request that is not the name of one thing."""
_ASKED_KINDS = ("asked", "asked-2")
_THING_KINDS = ("thing", "thing-2", "thing-3", "thing-4")
"""The kinds of handles of things that the user asked for, and of others; each is used when those before it are full."""
_DAY = 10
"""The length of a day, after which a time of day begins."""


@dataclass(slots=True, kw_only=True)
class ShownFacts:
    """The memory of one episode's rendering."""

    kinds: ArgumentKinds = field(default_factory=lambda: ArgumentKinds(()))
    handles: Handles = field(default_factory=Handles)
    today: date | None = None
    """The day of the episode; `None` until a message has named one."""
    named: set[str] = field(default_factory=set[str])
    """The words of system messages: names in them, such as a section of a handbook, get no handle."""
    wanted: set[str] = field(default_factory=set[str])
    """The words of the user, if things are named by a word and a number: `potato` asks for `potato 1`."""
    said: str = ""
    """The user's texts, without values that have handles."""
    asked: dict[str, HandleValue] = field(default_factory=dict[str, HandleValue])
    """The last value that the user named, by unit."""
    limits: dict[str, HandleValue] = field(default_factory=dict[str, HandleValue])
    """The last value of a field that is a limit by its name, by unit."""
    window: list[str] = field(default_factory=list[str])
    """The last days, at most two, in running text of an answer: those of a window, or its end."""
    latest: dict[str, HandleValue] = field(default_factory=dict[str, HandleValue])
    """The last value of earlier answers, by unit."""
    facts: dict[str, dict[str, object]] = field(default_factory=dict[str, dict[str, object]])
    """The shown fields of each record, by its id."""
    names: dict[str, Mark] = field(default_factory=dict[str, Mark])
    """The handle of the record of each text that an answer has shown."""
    texts: set[str] = field(default_factory=set[str])
    """Texts with handles that match no pattern."""
    place: MessagePlace = field(default_factory=lambda: MessagePlace(number=0, name="an earlier message"))
    """The message that is being read."""
    seen: dict[HandleValue, ValueOrigin] = field(default_factory=dict[HandleValue, ValueOrigin])
    """The first occurrence of each value."""

    def learn_tools(self, tools: Sequence[JsonSchema]) -> None:
        """Record the offered tools."""
        self.kinds = read_kinds(tools)

    def learn_now(self, text: str) -> None:
        """Record the current day; after a change, everything is shown again."""
        if (day := parse_day(text)) is not None and day != self.today:
            self.today = day
            self.facts.clear()

    def show_id(self, value: str, path: Path, record: int = 0, *, inside: bool = False) -> ShownPart:
        """An id; one that a system message names stays a word.

        Args:
            value: The id.
            path: The path of the id.
            record: The number of its record in the listing.
            inside: Whether it is a part of a longer text.
        """
        if value in self.named:
            return value
        name = path[-1] if path and is_id(path[-1]) else ""
        mark = self.handles.show(value, self.kinds.record_of(value, name), record=record)
        self.texts.add(value)
        return self._show(value, path, mark, inside=inside)

    def show_text(self, value: str, kind: str, path: Path) -> ShownValue:
        """A text that a tool takes literally."""
        self.texts.add(value)
        return self._show(value, path, self.handles.show(value, kind))

    def show_number(self, value: int, unit: str, path: Path, *, literal: str | None = None) -> ShownValue:
        """A number of at least three digits, compared with others of its unit.

        Args:
            value: The number.
            unit: Its unit.
            path: The path of the number.
            literal: Its text, if it is a part of a longer one.
        """
        mark = self.handles.show(value, "amount" if unit == "cents" else "number")
        text = str(value) if literal is None else literal
        return ShownValue(
            value=value,
            text=text,
            path=path,
            inside=literal is not None,
            mark=mark,
            unit=unit,
            first=self._see(value, text, path, unit),
            compared=tuple(self._compare(value, unit)),
        )

    def show_day(
        self, text: str, path: Path, *, after: tuple[Path, str] | None = None, inside: bool = False
    ) -> ShownPart:
        """A day, or a time whose day counts, with its distance from today.

        Args:
            text: The day or time.
            path: The path of the value.
            after: The field before it in its record that holds a day, and that day, from which its distance is shown
                too.
            inside: Whether it is a part of a longer text.
        """
        day = parse_day(text)
        shown = text if self.kinds.times else text[:_DAY]
        mark = self.handles.show(shown, "time" if len(shown) > _DAY else "date")
        first = self._see(shown, text, path, DAY_UNIT)
        if day is None:
            return text
        before = parse_day(after[1]) if after is not None else None
        return ShownValue(
            value=shown,
            text=text,
            path=path,
            inside=inside,
            mark=mark,
            unit=DAY_UNIT,
            first=first,
            distance=(day - self.today).days if self.today is not None else None,
            gap=DayGap(days=(day - before).days, path=after[0], text=after[1]) if after and before else None,
            compared=tuple(self._compare(shown, DAY_UNIT)),
        )

    def _show(self, value: str, path: Path, mark: Mark | None, *, inside: bool = False) -> ShownValue:
        first = self._see(value, value, path)
        return ShownValue(value=value, text=value, path=path, inside=inside, mark=mark, first=first)

    def _see(self, value: HandleValue, text: str, path: Path, unit: str | None = None) -> ValueOrigin | None:
        """The first occurrence of a value; `None`, with a record of it, if this is the first."""
        seen = self.seen.get(value)
        if seen is None:
            self.seen[value] = ValueOrigin(place=self.place, path=path, text=text, unit=unit)
        return seen

    def _compare(self, value: HandleValue, unit: str) -> Iterator[ValueComparison]:
        """Comparisons of a value with the user's last value, the limits, and the value before it."""
        others = [
            self.asked.get(unit),
            *([self.limits.get(unit), self.latest.get(unit)] if unit != DAY_UNIT else self.window),
        ]
        for other in dict.fromkeys(others):
            if other is not None and other != value and isinstance(other, type(value)) and other in self.seen:
                yield ValueComparison(
                    over=_is_over(value, other), other=other, seen=self.seen[other], mark=self.handles.find(other)
                )

    def learn_briefing(self, text: str) -> None:
        """Record the names in a system message, and its first day, which is the current one."""
        self.named |= {word.strip(_MARKS) for word in _WORD.findall(text)}
        day = next((found.value for found in recognise(text, places=False, names=False) if found.form == "day"), None)
        self.today = self.today or (parse_day(str(day)) if day else None)

    def read_text(self, text: str, *, user: bool = False, answer: bool = False, path: Path = ()) -> list[ShownPart]:
        """The parts of a text of a message.

        Args:
            text: The text.
            user: Whether the user wrote it.
            answer: Whether it is in an answer.
            path: The path of the field with this value.
        """
        parts: list[ShownPart] = []
        at = 0
        days: list[str] = []
        if user and self.kinds.names:
            self.wanted |= set(_ASKED_WORD.findall(text))
        for found in recognise(text, places=self.kinds.places, names=self.kinds.names):
            shown = self._show_found(found, text[found.start : found.end], path)
            before = text[at : found.start] if shown is not None else text[at : found.end]
            parts += self._find_known(before, path, user=user)
            at = found.end
            if shown is None:
                continue
            if found.form == "name" and isinstance(shown, ShownValue) and shown.mark is not None:
                parts.append(str(found.value).partition(" ")[0] + " ")
            parts.append(shown)
            if isinstance(found.value, int):
                self.handles.word(found.value, text[found.start : found.end])
            if user and found.form in ("money", "day"):
                self.asked["cents" if found.form == "money" else DAY_UNIT] = found.value
            if answer and found.form == "day":
                days.append(str(found.value))
        self.window = days[-2:] or self.window
        return [*parts, *self._find_known(text[at:], path, user=user)]

    def _show_found(self, found: FoundValue, literal: str, path: Path) -> ShownPart | None:
        """A value that was recognised in a text; `None` for a number without a handle."""
        value, form = found.value, found.form
        if isinstance(value, int):
            return self.show_number(value, "cents", path, literal=literal) if value >= LEAST_NUMBER else None
        if form in ("day", "time"):
            return self.show_day(value, path, inside=True)
        if form == "id":
            return self.show_id(value, path, inside=True)
        if form == "name":
            kinds = _ASKED_KINDS if value.partition(" ")[0] in self.wanted else _THING_KINDS
            mark = next(filter(None, (self.handles.show(value, kind) for kind in kinds)), None)
            return ShownValue(value=value, text=value, path=path, inside=True, mark=mark)
        return self._show(value, path, self.handles.show(value, form), inside=True)

    def _find_known(self, text: str, path: Path, *, user: bool = False) -> list[ShownPart]:
        """The parts of a text, with known values of other messages that match no pattern."""
        if user:
            self.said += f"\n{text}"
            return self._find_names(text)
        parts: list[ShownPart] = []
        at = 0
        for found in find_occurrences(text, self.texts, before=".+-", after="-"):
            mark = self.handles.find(found.text)
            if mark is not None:
                first = self.seen.get(found.text)
                shown = ShownValue(value=found.text, text=found.text, path=path, inside=True, mark=mark, first=first)
                parts += [text[at : found.start], shown]
                at = found.end
        return [part for part in (*parts, text[at:]) if part]

    def _find_names(self, text: str) -> list[ShownPart]:
        """The parts of a user's text; a name that an answer has shown is followed by the handle of its record."""
        parts: list[ShownPart] = []
        at = 0
        for found in find_occurrences(text, self.names):
            parts += [f"{text[at : found.end]} ", self.names[found.text]]
            at = found.end
        return [part for part in (*parts, text[at:]) if part]

    def _mask_known(self, text: str) -> list[str]:
        return fact_words(self._find_known(text, ()))

    def mask_written(self, text: str) -> list[str]:
        """A text that the policy writes, with handles for shown values only."""
        pieces: list[str] = []
        at = 0
        for found in recognise(text, places=False, names=self.kinds.names):
            literal = text[found.start : found.end]
            exact = isinstance(found.value, str) or self.handles.text_of(found.value) == literal
            mark = self.handles.find(found.value) if exact else None
            if mark is not None:
                pieces += [*self._mask_known(text[at : found.start]), mark]
                at = found.end
        return [*pieces, *self._mask_known(text[at:])]

    def find_written(self, value: HandleValue) -> Mark | None:
        """The handle of a whole value that the policy writes."""
        return self.handles.find(value)

    def is_asked(self, text: str, others: Sequence[str]) -> bool:
        """Whether the user has written a text, and not only as a part of a longer name.

        Args:
            text: A text of a field.
            others: The texts of the same answer; longer ones are matched first.
        """
        if text not in self.said:
            return False
        longer = [other for other in others if text in other and other != text]
        said = self.said
        for other in sorted(longer, key=len, reverse=True):
            said = said.replace(other, "\n")
        return any(not _NAME_GOES_ON.match(said, found.end) for found in find_occurrences(said, [text]))


def parse_day(text: str) -> date | None:
    """The day of an ISO date or time; `None` if it is invalid."""
    try:
        return date.fromisoformat(text[:_DAY])
    except ValueError:
        return None


def _is_over(value: HandleValue, other: HandleValue) -> bool:
    if isinstance(value, int) and isinstance(other, int):
        return value > other
    return str(value) > str(other)
