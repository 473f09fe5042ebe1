"""The compact format: for small policies, which cannot spend thousands of tokens on schemas and quotes.

A call is `tool key=value key=value`, one a line; what is said is a line that begins with `> `. Answers are rendered in
the same way, `key=value` for a JSON field, and ids, long numbers and times are handles (see `handles`). No schemas
stand in the prompt: a policy knows its tools by training.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

import orjson

from palaestra.records import Json, JsonSchema, Message, ToolCall
from palaestra.tools.formats.format import Mark, ParsedTurn, TurnPart, joined
from palaestra.tools.formats.handles import Handles, handle_marks
from palaestra.tools.formats.lines import read_line, written_line
from palaestra.tools.images import read_text

_ROLES = ("system", "user", "assistant", "tool")


class CompactFormat:
    """`get_order order_id=ORD-1042`; see the module's text."""

    name = "compact"
    end = Mark("<|end|>")
    parts: tuple[TurnPart, ...] = ()

    def parse(self, text: str) -> ParsedTurn:
        """Read one turn."""
        said: list[str] = []
        calls: list[ToolCall] = []
        try:
            for line in text.strip().split("\n"):
                if line.startswith("> ") or line == ">":
                    said.append(line[2:])
                elif line.strip():
                    calls.append(read_line(line.strip()))
        except ValueError as error:
            return ParsedTurn(error=str(error))
        prose = "\n".join(said).strip()
        if not calls and not prose:
            return ParsedTurn(error="the turn is empty: write `tool key=value`, or `> ` and something to say")
        return ParsedTurn(calls=tuple(calls), prose=prose)

    def render(self, calls: Sequence[ToolCall], prose: str = "") -> str:
        """Write one turn."""
        said = [f"> {line}" for line in prose.split("\n")] if prose else []
        return "\n".join([*said, *map(written_line, calls)])

    def rendering(self) -> "CompactRendering":
        """The rendering of a new episode, with handles of its own."""
        return CompactRendering(self)

    def marks(self, corpus: Sequence[Sequence[str]]) -> list[Mark]:
        """The roles, the end, and handles for every kind of id in `corpus`."""
        return [self.end, *(_role(role) for role in _ROLES), *handle_marks(corpus)]


class CompactRendering:
    """One episode in the compact format."""

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
            pieces += [_role(message["role"]), *self._read(message)]
        return [*pieces, _role("assistant")]

    def _read(self, message: Message) -> list[str]:
        """A message's content with handles in it; an answer that is JSON as fields."""
        content = read_text(message)
        if message["role"] != "tool":
            return self._handles.masked(content)
        try:
            fields = list(_fields(orjson.loads(content)))
        except (orjson.JSONDecodeError, RecursionError):
            return self._handles.masked(content)
        runs = ((record, "".join(text for text, _ in run)) for record, run in groupby(fields, itemgetter(1)))
        return joined(piece for record, text in runs for piece in self._handles.masked(text, record=record))

    def written(self, calls: Sequence[ToolCall], prose: str = "") -> list[str]:
        """A turn with handles in it, and the end mark."""
        return [*self._handles.masked(self._format.render(calls, prose)), self._format.end]

    def read(self, pieces: Sequence[str]) -> str:
        """The text with real ids in it."""
        kept = pieces[:-1] if pieces and isinstance(pieces[-1], Mark) and pieces[-1] == self._format.end else pieces
        return self._handles.resolved(kept)


def _role(role: str) -> Mark:
    return Mark(f"<|{role}|>")


def _fields(value: Json, record: int = 0) -> Iterator[tuple[str, int]]:
    """JSON for reading, `id=ORD-1042 lines=[quantity=1; quantity=2]`, in pieces with the number of their record.

    Fields without a value are left out.
    """
    if isinstance(value, Mapping):
        between = ""
        for key, inner in value.items():
            if inner is not None and inner != "":
                yield f"{between}{key}=", record
                yield from _nested(inner, record)
                between = " "
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield "; " if number else "", record
            yield from (_nested if isinstance(inner, list) else _fields)(inner, number)
    else:
        yield value if isinstance(value, str) else orjson.dumps(value).decode(), record


def _nested(value: Json, record: int) -> Iterator[tuple[str, int]]:
    brackets = "()" if isinstance(value, Mapping) else "[]" if isinstance(value, list) else ("", "")
    yield brackets[0], record
    yield from _fields(value, record)
    yield brackets[1], record
