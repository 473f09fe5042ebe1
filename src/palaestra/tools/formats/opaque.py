"""The opaque format: the compact format with a handle for every long number, time and id, and no comparisons.

A policy sees which values are equal, and nothing else of them: neither that a day has passed nor that an amount exceeds
a limit. The format serves for comparison with the compact format, which shows such facts.
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
    r"(?:(?<![\w.+\\-])|(?<=\\n))"  # the start of a word; inside a written call a newline is `\n`
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
        """The rendering of a new episode, with its own handles."""
        return OpaqueRendering(self)


class OpaqueRendering:
    """One episode in the opaque format."""

    def __init__(self, form: CompactFormat) -> None:
        self._format = form
        self._handles = Handles()

    def opening(self, messages: Sequence[Message], tools: Sequence[JsonSchema]) -> list[str]:
        """The messages, without schemas."""
        del tools
        return self.following(messages)

    def following(self, messages: Sequence[Message]) -> list[str]:
        """The messages, each after the mark of its role, then the mark of the policy's role."""
        pieces: list[str] = []
        for message in messages:
            pieces += [role_mark(message["role"]), *self._read(message)]
        return [*pieces, role_mark("assistant")]

    def _read(self, message: Message) -> list[str]:
        """A message's content with handles; a JSON answer as fields."""
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
        """A turn with handles, and the end mark."""
        return [*self.mask(self._format.render(calls, prose)), self._format.end]

    def read(self, pieces: Sequence[str]) -> str:
        """The text with real ids."""
        kept = pieces[:-1] if pieces and isinstance(pieces[-1], Mark) and pieces[-1] == self._format.end else pieces
        return self.resolve(kept)

    def mask(self, text: str, *, record: int = 0) -> list[str]:
        """`text` with handles in place of opaque values, new ones for new values.

        Args:
            text: The text of a message or a call.
            record: The place in its listing of the record that contains the text.
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
        """The text of `pieces`; an unknown handle stays as written."""
        return "".join(str(self._handles.resolve(p) or p) if isinstance(p, Mark) else p for p in pieces)


def _kind(found: re.Match[str]) -> str:
    """The field of the value, such as PRODUCT_ID; without one, or if it is only `id`, the kind of value."""
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
