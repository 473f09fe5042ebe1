"""What an episode has shown so far: handles, facts of records, and what later values are compared with."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date

from palaestra.records import JsonSchema
from palaestra.tools.formats.comparisons import days_word, gap_word, size_word
from palaestra.tools.formats.format import Mark
from palaestra.tools.formats.handles import Handles, HandleValue
from palaestra.tools.formats.kinds import ArgumentKinds, read_kinds
from palaestra.tools.formats.occurrences import find_occurrences
from palaestra.tools.formats.recognise import recognise

LEAST_NUMBER = 100
"""The least number that gets a handle; smaller ones are written as they are."""
_WORD = re.compile(r"\S+")
_MARKS = ".,:;!?()\"'"
_NAME_GOES_ON = re.compile(r" (?:[A-Z0-9])")
_DAY = 10
"""Letters of a day, with which a time of day begins."""


@dataclass(slots=True, kw_only=True)
class ShownFacts:
    """The memory of one episode's rendering."""

    kinds: ArgumentKinds = field(default_factory=lambda: ArgumentKinds(()))
    handles: Handles = field(default_factory=Handles)
    today: date | None = None
    """The day of the episode; `None` until a message has named one."""
    named: set[str] = field(default_factory=set[str])
    """The words of the system's messages: what they name, such as a section of a handbook, stays a word."""
    said: str = ""
    """What the user has written, without what has a handle."""
    asked: dict[str, HandleValue] = field(default_factory=dict[str, HandleValue])
    """By unit: the last value that the user named."""
    limits: dict[str, HandleValue] = field(default_factory=dict[str, HandleValue])
    """By unit: the last value of a field that is a limit by its name."""
    window: list[str] = field(default_factory=list[str])
    """The last days that running text of an answer named, at most two: those of a window, or the end of one."""
    latest: dict[str, HandleValue] = field(default_factory=dict[str, HandleValue])
    """By unit: the last value of the answers before the present one."""
    facts: dict[str, dict[str, object]] = field(default_factory=dict[str, dict[str, object]])
    """By id of a record: what was shown of it, by field."""
    names: dict[str, Mark] = field(default_factory=dict[str, Mark])
    """By text that an answer has shown: the handle of the record that it was shown of."""
    texts: set[str] = field(default_factory=set[str])
    """Texts with handles that no pattern recognises."""

    def learn_tools(self, tools: Sequence[JsonSchema]) -> None:
        """Take note of the tools on offer."""
        self.kinds = read_kinds(tools)

    def learn_now(self, text: str) -> None:
        """Take note of the present day; everything is shown anew after it has changed."""
        if (day := parse_day(text)) is not None and day != self.today:
            self.today = day
            self.facts.clear()

    def show_id(self, value: str, name: str, record: int) -> str:
        """An id of a field as its handle; one that the system's message names stays a word."""
        if value in self.named:
            return value
        mark = self.handles.show(value, self.kinds.record_of(value, name), record=record)
        self.texts.add(value)
        return value if mark is None else mark

    def show_text(self, value: str, kind: str) -> str:
        """A text that a tool takes word for word, as its handle."""
        self.texts.add(value)
        return self.handles.show(value, kind) or value

    def show_number(self, value: int, unit: str) -> list[str]:
        """A number of at least three digits as its handle and its size, compared with others of its unit."""
        mark = self.handles.show(value, "amount" if unit == "cents" else "number")
        if mark is None:
            return [str(value)]
        return [mark, f" {size_word(value)}", *self._compared(value, unit)]

    def show_day(self, text: str, *, after: str | None = None) -> list[str]:
        """A day, or a time of which the day counts, as its handle and its distance from today.

        Args:
            text: The day or time.
            after: The day of the field before it in its record, from which its distance is shown too.
        """
        day = parse_day(text)
        shown = text if self.kinds.times else text[:_DAY]
        mark = self.handles.show(shown, "time" if len(shown) > _DAY else "date")
        if day is None:
            return [text]
        before = parse_day(after) if after is not None else None
        gap = [f" {gap_word(day, before)}"] if before is not None else []
        distance = [f" {days_word(day, self.today)}"] if self.today is not None else []
        return [shown if mark is None else mark, *distance, *gap, *self._compared(shown, "date")]

    def _compared(self, value: HandleValue, unit: str) -> Iterator[str]:
        """Whether a value is over or under the last that the user named, the limits, and the last one before."""
        others = [
            self.asked.get(unit),
            *([self.limits.get(unit), self.latest.get(unit)] if unit != "date" else self.window),
        ]
        for other in dict.fromkeys(others):
            mark = None if other is None or other == value else self.handles.find(other)
            if mark is not None and isinstance(other, type(value)):
                yield " over " if _is_over(value, other) else " under "
                yield mark

    def learn_briefing(self, text: str) -> None:
        """Take note of what the system's message names, and of the first day in it, which is the present one."""
        self.named |= {word.strip(_MARKS) for word in _WORD.findall(text)}
        day = next((found.value for found in recognise(text, places=False) if found.form == "day"), None)
        self.today = self.today or (parse_day(str(day)) if day else None)

    def read_text(self, text: str, *, user: bool = False, answer: bool = False) -> list[str]:
        """A text of a message with handles for its values, new ones for new values.

        Args:
            text: The text.
            user: Whether the user wrote it.
            answer: Whether it stands in an answer.
        """
        pieces: list[str] = []
        at = 0
        days: list[str] = []
        for found in recognise(text, places=self.kinds.places):
            shown = self._show_found(found.form, found.value)
            before = text[at : found.start] if shown else text[at : found.end]
            pieces += [*self._mask_known(before, user=user), *shown]
            at = found.end
            if shown and isinstance(found.value, int):
                self.handles.word(found.value, text[found.start : found.end])
            if user and shown and found.form in ("money", "day"):
                self.asked["cents" if found.form == "money" else "date"] = found.value
            if answer and shown and found.form == "day":
                days.append(str(found.value))
        self.window = days[-2:] or self.window
        return [*pieces, *self._mask_known(text[at:], user=user)]

    def _show_found(self, form: str, value: str | int) -> list[str]:
        if isinstance(value, int):
            return self.show_number(value, "cents") if value >= LEAST_NUMBER else []
        if form in ("day", "time"):
            return self.show_day(value)
        if form == "id":
            return [self.show_id(value, "", 0)]
        return [self.handles.show(value, form) or value]

    def _mask_known(self, text: str, *, user: bool = False) -> list[str]:
        """A text with the handles that other messages gave to texts of no recognisable form."""
        if user:
            self.said += f"\n{text}"
            return self._mark_named(text)
        pieces: list[str] = []
        at = 0
        for found in find_occurrences(text, self.texts, before=".+-", after="-"):
            mark = self.handles.find(found.text)
            if mark is not None:
                pieces += [text[at : found.start], mark]
                at = found.end
        return [piece for piece in (*pieces, text[at:]) if piece]

    def _mark_named(self, text: str) -> list[str]:
        """A text of the user's; a name that an answer has shown is followed by the handle of its record."""
        pieces: list[str] = []
        at = 0
        for found in find_occurrences(text, self.names):
            pieces += [f"{text[at : found.end]} ", self.names[found.text]]
            at = found.end
        return [piece for piece in (*pieces, text[at:]) if piece]

    def mask_written(self, text: str) -> list[str]:
        """A text that the policy writes, with the handles of what was shown, and of nothing else."""
        pieces: list[str] = []
        at = 0
        for found in recognise(text, places=False):
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
        """Whether the user has written a text, and not as a part of a longer name.

        Args:
            text: A text of a field.
            others: The texts of the same answer, of which a longer one counts first.
        """
        if text not in self.said:
            return False
        longer = [other for other in others if text in other and other != text]
        said = self.said
        for other in sorted(longer, key=len, reverse=True):
            said = said.replace(other, "\n")
        return any(not _NAME_GOES_ON.match(said, found.end) for found in find_occurrences(said, [text]))


def parse_day(text: str) -> date | None:
    """The day of an ISO date or time; `None` where there is no such day."""
    try:
        return date.fromisoformat(text[:_DAY])
    except ValueError:
        return None


def _is_over(value: HandleValue, other: HandleValue) -> bool:
    if isinstance(value, int) and isinstance(other, int):
        return value > other
    return str(value) > str(other)
