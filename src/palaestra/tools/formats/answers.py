"""Tool answers as parts: `key=value`, values with derived facts, and only new fields.

A record that was shown before is shown again only with its changed fields. Fields without a value are left out, and so
is a line's reference to the record that contains it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, cast

import orjson

from palaestra.records import Json
from palaestra.tools.formats.comparisons import rank_of
from palaestra.tools.formats.facts import AskedText, Path, RankedValue, ShownPart
from palaestra.tools.formats.handles import HandleValue
from palaestra.tools.formats.kinds import is_id, stem
from palaestra.tools.formats.shown import LEAST_NUMBER, ShownFacts, parse_day

_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d)?")
_NOW = frozenset({"now", "today"})
_TELLING = re.compile(r"[\sA-Z0-9]")
_CURSOR = "next_cursor"
_SHORTEST, _LONGEST = 4, 80
"""Letters of a text that may be a name."""
_LIMIT = re.compile(r"(?:^|_)(?:min|max|minimum|maximum|limit|least|most)(?:_|$)")
"""The name of a field with which later values are compared."""
_NAME = re.compile(r"[A-Z].*\s")


class AnswerReader:
    """Renders the answers of one episode.

    Args:
        shown: The memory of the episode.
    """

    def __init__(self, shown: ShownFacts) -> None:
        self._shown = shown
        self._pages: dict[Path, list[HandleValue]] = {}
        """The values of the current listing, by path; empty without one."""

    def read(self, answer: Json) -> list[ShownPart]:
        """The parts of an answer."""
        if isinstance(answer, Mapping):
            for name in sorted(_NOW & set(answer)):
                if isinstance(now := answer[name], str):
                    self._shown.learn_now(now)
        columns = _columns(answer)
        paged = self._pages.keys() & columns.keys()
        for path in paged:
            columns[path] = [*self._pages[path], *columns[path]]
        texts = [text for text in _texts(answer) if len(text) >= _SHORTEST]
        pass_ = _Pass(self._shown, columns, texts, paged=paged)
        parts = list(pass_.value(answer, (), 0, {}))
        goes_on = isinstance(answer, Mapping) and bool(answer.get(_CURSOR))
        self._pages = columns if goes_on else {}
        self._shown.latest.update(pass_.latest)
        self._shown.limits.update(pass_.limits)
        return parts


class _Pass:
    """An answer that is being read.

    Args:
        shown: The memory of the episode.
        columns: The numbers and days of a listing, by path.
        texts: The texts of the answer.
        paged: The paths for which `columns` includes values of earlier pages.
    """

    def __init__(
        self,
        shown: ShownFacts,
        columns: Mapping[Path, Sequence[HandleValue]],
        texts: Sequence[str],
        *,
        paged: AbstractSet[Path],
    ) -> None:
        self._shown = shown
        self._columns = columns
        self._texts = texts
        self._paged = paged
        self.latest: dict[str, HandleValue] = {}
        """The last value, by unit."""
        self.limits: dict[str, HandleValue] = {}
        """The last value of a field that is a limit, by unit."""

    def value(self, value: Json, path: Path, record: int, parents: Mapping[str, str]) -> Iterator[ShownPart]:
        """A value of the answer.

        Args:
            value: The value.
            path: The path of the value.
            record: The number of its record in the listing.
            parents: The ids of the records that contain it, by kind.
        """
        if isinstance(value, Mapping):
            yield from self._record(cast("Mapping[str, Json]", value), path, record, parents)
        elif isinstance(value, list):
            for number, inner in enumerate(value):
                yield "; " if number and not isinstance(inner, str) else " " if number else ""
                opening, closing = "[]" if isinstance(inner, list) else ("", "")
                yield opening
                yield from self.value(inner, path, number, parents)
                yield closing
        elif isinstance(value, str):
            yield from self._text(value, path, record)
        elif isinstance(value, int) and not isinstance(value, bool) and abs(value) >= LEAST_NUMBER:
            yield from self._number(value, path)
        else:
            yield orjson.dumps(value).decode()

    def _record(
        self, row: Mapping[str, Json], path: Path, record: int, parents: Mapping[str, str]
    ) -> Iterator[ShownPart]:
        beside = {**parents, **{name: own for name, part in row.items() if (own := _id_of(part)) is not None}}
        between = ""
        before: tuple[Path, str] | None = None
        if any(not is_id(name) and isinstance(text, str) and self._is_asked(text) for name, text in row.items()):
            yield "asked=true"  # before the ids: a policy of two layers learns soonest there which ids to take
            between = " "
        for name, value in self._new_fields(row, parents):
            yield f"{between}{name}="
            opening, closing = "()" if isinstance(value, Mapping) else "[]" if isinstance(value, list) else ("", "")
            yield opening
            if isinstance(value, str) and _is_day(name, value):
                yield from self._day(value, (*path, name), before)
                before = (*path, name), value
            else:
                yield from self.value(value, (*path, name), record, beside)
            yield closing
            between = " "
        key = row.get("id")
        mark = self._shown.handles.find(key) if isinstance(key, str) else None
        for name, value in row.items():
            if mark is not None and isinstance(value, str) and _is_name(name, value):
                self._shown.names.setdefault(value, mark)

    def _new_fields(self, row: Mapping[str, Json], parents: Mapping[str, str]) -> list[tuple[str, Json]]:
        """The fields with new information."""
        key = row.get("id")
        facts = self._shown.facts.setdefault(key, {}) if isinstance(key, str) else {}
        again = facts.keys() >= row.keys()
        fields = [
            (name, value)
            for name, value in row.items()
            if not (again and name != "id" and facts[name] == value)
            and not (_is_empty(value) and _is_empty(facts.get(name)))
            and not (is_id(name) and value == parents.get(stem(name)))
        ]
        facts.update(row)
        return fields

    def _text(self, text: str, path: Path, record: int) -> Iterator[ShownPart]:
        name = path[-1] if path else ""
        if is_id(name) or name.endswith("cursor"):
            yield self._shown.show_id(text, path, record)
        elif _is_day(name, text):
            yield from self._day(text, path, None)
        elif kind := self._shown.kinds.text_of(text, name):
            yield self._shown.show_text(text, kind, path)
        else:
            yield from self._shown.read_text(text, answer=True, path=path)
        if self._is_asked(text):
            yield AskedText(text=text, path=path)

    def _is_asked(self, text: str) -> bool:
        """Whether the user has written a text that could name something."""
        return len(text) >= _SHORTEST and _TELLING.search(text) is not None and self._shown.is_asked(text, self._texts)

    def _day(self, text: str, path: Path, before: tuple[Path, str] | None) -> Iterator[ShownPart]:
        yield self._shown.show_day(text, path, after=before)
        yield from self._rank(text, path)

    def _number(self, value: int, path: Path) -> Iterator[ShownPart]:
        unit = _unit(path[-1] if path else "")
        yield self._shown.show_number(value, unit, path)
        yield from self._rank(value, path)
        self.latest[unit] = value
        if path and _LIMIT.search(path[-1]):
            self.limits[unit] = value

    def _rank(self, value: HandleValue, path: Path) -> Iterator[RankedValue]:
        rank = rank_of(value, self._columns.get(path, ()), paged=path in self._paged)
        if rank is not None:
            yield RankedValue(value=value, text=str(value), path=path, rank=rank)


def _unit(name: str) -> str:
    """The unit of a field's numbers, derived from its name."""
    return "cents" if name.endswith("cents") or name == "value" else name.rpartition("_")[2]


def _is_name(field: str, text: str) -> bool:
    """Whether a text could be a user's name for a record: not an id, a time, a code or running text."""
    return (
        _SHORTEST <= len(text) <= _LONGEST
        and "\n" not in text
        and not is_id(field)
        and _TIME.fullmatch(text) is None
        and _NAME.search(text) is not None
    )


def _is_day(field: str, text: str) -> bool:
    return not is_id(field) and _TIME.fullmatch(text) is not None and parse_day(text) is not None


def _is_empty(value: object) -> bool:
    return value is None or value == ""


def _id_of(part: Any) -> str | None:  # Any: a part of a JSON answer
    key = cast("Mapping[str, Any]", part).get("id") if isinstance(part, Mapping) else None
    return key if isinstance(key, str) else None


def _columns(answer: Json) -> dict[Path, list[HandleValue]]:
    """The numbers and days of each field of a listing, by path."""
    columns: dict[Path, list[HandleValue]] = {}

    def walk(value: Json, path: Path, *, listed: bool) -> None:
        if isinstance(value, Mapping):
            for name, part in cast("Mapping[str, Json]", value).items():
                walk(part, (*path, name), listed=listed)
        elif isinstance(value, list):
            for part in value:
                walk(part, path, listed=isinstance(part, Mapping))
        elif listed and ((isinstance(value, int) and not isinstance(value, bool)) or _is_time(value)):
            columns.setdefault(path, []).append(cast("HandleValue", value))

    walk(answer, (), listed=False)
    return columns


def is_deep(value: Json, most: int = 50) -> bool:
    """Whether a value is nested deeper than `most` levels; tool answers are flatter."""
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return most == 0 or any(is_deep(part, most - 1) for part in parts)


def _is_time(value: Json) -> bool:
    return isinstance(value, str) and _TIME.fullmatch(value) is not None


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)
