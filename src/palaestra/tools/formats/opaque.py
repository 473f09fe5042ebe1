"""The opaque format: the compact format with a handle for every long number, time and id, and no comparisons.

A policy sees which values are equal and nothing else of them: neither that a day has passed nor that an amount is above
a limit. It is here to be compared with the compact format, which shows what decides.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

import orjson

from palaestra.records import Json, JsonSchema, Message, ToolCall
from palaestra.tools.formats.compact import CompactFormat, role_mark
from palaestra.tools.formats.format import Mark, join_text
from palaestra.tools.formats.handles import Handles
from palaestra.tools.images import read_text

_OPAQUE = re.compile(
    r"(?:(?<![\w.+\\-])|(?<=\\n))"  # where a word begins; inside a written call a new line is `\n`
    r"(?:(?P<MAIL>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)"
    r"|(?P<ID>[A-Z]{2,5})-\d{4,}\b"
    r"|(?P<CODE>[A-Z]{2,5}\d{6,})\b"
    r"|\d{4}-\d\d-\d\d(?P<T>T)\d\d:\d\d:\d\d\b"
    r"|(?P<N>\d{3,}(?:\.\d+)?)(?!\w|-\d))"  # a number, but not the year of a date or a part of a name
)
_FIELD = re.compile(r"(?<![A-Za-z_])([A-Za-z_]+)=\Z")


class OpaqueFormat(CompactFormat):
    """The compact format's calls, with opaque messages."""

    name = "opaque"

    def rendering(self) -> "OpaqueRendering":
        """The rendering of a new episode, with handles of its own."""
        return OpaqueRendering(self)


class OpaqueRendering:
    """One episode in the opaque format."""

    def __init__(self, form: CompactFormat) -> None:
        self._format = form
        self._handles = Handles()

    def opening(self, messages: Sequence[Message], tools: Sequence[JsonSchema]) -> list[str]:
        """The messages; no schemas."""
        del tools
        return self.following(messages)

    def following(self, messages: Sequence[Message]) -> list[str]:
        """The messages, each after the mark of its role, and the mark of the policy's."""
        pieces: list[str] = []
        for message in messages:
            pieces += [role_mark(message["role"]), *self._read(message)]
        return [*pieces, role_mark("assistant")]

    def _read(self, message: Message) -> list[str]:
        """A message's content with handles in it; an answer that is JSON as fields."""
        content = read_text(message)
        if message["role"] != "tool":
            return self.mask(content)
        try:
            fields = list(_fields(orjson.loads(content)))
        except (orjson.JSONDecodeError, RecursionError):
            return self.mask(content)
        runs = ((record, "".join(text for text, _ in run)) for record, run in groupby(fields, itemgetter(1)))
        return join_text(piece for record, text in runs for piece in self.mask(text, record=record))

    def write_turn(self, calls: Sequence[ToolCall], prose: str = "") -> list[str]:
        """A turn with handles in it, and the end mark."""
        return [*self.mask(self._format.render(calls, prose)), self._format.end]

    def read(self, pieces: Sequence[str]) -> str:
        """The text with real ids in it."""
        kept = pieces[:-1] if pieces and isinstance(pieces[-1], Mark) and pieces[-1] == self._format.end else pieces
        return self.resolve(kept)

    def mask(self, text: str, *, record: int = 0) -> list[str]:
        """`text` with handles in place of what is opaque, new ones for what is new.

        Args:
            text: What a message or a call says.
            record: The place in its listing of the record that says it.
        """
        pieces: list[str] = []
        at = 0
        for found in _OPAQUE.finditer(text):
            mark = self._handles.show(found.group(), _kind(found), record=record)
            if mark is None:
                continue
            if found.start() > at:
                pieces.append(text[at : found.start()])
            pieces.append(mark)
            at = found.end()
        if at < len(text):
            pieces.append(text[at:])
        return pieces

    def resolve(self, pieces: Iterable[str]) -> str:
        """The text that `pieces` stand for; a handle that nothing has stays as it is written."""
        return "".join(str(self._handles.resolve(p) or p) if isinstance(p, Mark) else p for p in pieces)


def _kind(found: re.Match[str]) -> str:
    """The field that shows it, such as PRODUCT_ID; where there is none, or it says no more than `id`, what it is."""
    field = _FIELD.search(found.string, 0, found.start())
    if field and field[1] != "id":
        return field[1].upper()
    return found["ID"] or str(found.lastgroup)


def _fields(value: Json, record: int = 0) -> Iterator[tuple[str, int]]:
    """JSON for reading, `id=ORD-1042 lines=[quantity=1; quantity=2]`, in pieces with the number of their record.

    Fields without a value are left out.
    """
    if isinstance(value, Mapping):
        between = ""
        for key, inner in value.items():
            if inner is not None and inner != "":
                yield f"{between}{key}=", record
                yield from _nest(inner, record)
                between = " "
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield "; " if number else "", record
            yield from (_nest if isinstance(inner, list) else _fields)(inner, number)
    else:
        yield value if isinstance(value, str) else orjson.dumps(value).decode(), record


def _nest(value: Json, record: int) -> Iterator[tuple[str, int]]:
    brackets = "()" if isinstance(value, Mapping) else "[]" if isinstance(value, list) else ("", "")
    yield brackets[0], record
    yield from _fields(value, record)
    yield brackets[1], record
