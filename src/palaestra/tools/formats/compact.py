"""The compact format, for small policies, whose context is too short for schemas and quotes.

A call is `tool key=value key=value`, one per line; text for the user is a line that begins with `> `. Answers are
rendered in the same way, `key=value` for a JSON field. The prompt has no schemas: a policy learns its tools in
training.

Facts that decide a task are written in a form that a small model can compare:

- ids, postal addresses and other texts that tools take literally, numbers of at least three digits, and days are
  handles: one mark each, the same wherever the value occurs (see `handles`), so that equal values look equal;
- a day is followed by its distance from today, `<date.3> 12d ago`;
- a number is followed by its size, `5k+`, by its rank among the values of its field in a listing, `#1`, and by its
  comparison with the last number before the answer and with what the user named, `over <amount.2>`;
- a text that the user has written is followed by `=asked`, and a record that has one begins with `asked=true`;
- a thing of a text game, `cabinet 2`, is a word and a handle, `cabinet <thing.5>`, or `cabinet <asked.0>` if the user
  wrote the word.

The tools' argument names and schemas determine which values are ids, addresses and times, so one rendering serves all
worlds. A policy can only write handles of values that a message has shown; a turn with any other handle is unreadable.
"""

from collections.abc import Sequence

from palaestra.records import JsonSchema, Message, ToolCall
from palaestra.tools.formats.fact_words import fact_words
from palaestra.tools.formats.format import Mark, ParsedTurn, Rendering, TurnPart, join_text
from palaestra.tools.formats.handles import Handles, handle_marks
from palaestra.tools.formats.lines import ValueMarks, line_pieces, read_line, write_line
from palaestra.tools.formats.message_reader import MessageReader
from palaestra.tools.formats.resolving import find_unshown, resolve_turn

ROLES = ("system", "user", "assistant", "tool")


class CompactFormat:
    """`get_order order_id=ORD-1042`; see the module's text."""

    name = "compact"
    end = Mark("<|end|>")
    parts: tuple[TurnPart, ...] = ()
    plain_answers = False

    def parse(self, text: str) -> ParsedTurn:
        """Parse one turn."""
        if unshown := find_unshown(text):
            return ParsedTurn(error=f"nothing has shown {unshown} yet; use the handle of a value that a message shows")
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
        return "\n".join([*said, *map(write_line, calls)])

    def rendering(self) -> Rendering:
        """The rendering of a new episode, with its own handles."""
        return CompactRendering(self)

    def marks(self, corpus: Sequence[Sequence[str]]) -> list[Mark]:
        """The marks of roles and end, and handles for every kind of value in `corpus`."""
        return [self.end, *(role_mark(role) for role in ROLES), *handle_marks(corpus)]


class CompactRendering:
    """One episode in the compact format.

    Args:
        form: The format.
        handles: The handles of the episode. Default: handles named by the world's words.
    """

    def __init__(self, form: CompactFormat, handles: Handles | None = None) -> None:
        self._format = form
        self._reader = MessageReader(handles)
        self._shown = self._reader.shown
        self._marks = ValueMarks(find=self._shown.find_written, mask=self._shown.mask_written)

    def opening(self, messages: Sequence[Message], tools: Sequence[JsonSchema]) -> list[str]:
        """The messages, without schemas."""
        self._reader.learn_opening(messages, tools)
        return self.following(messages)

    def following(self, messages: Sequence[Message]) -> list[str]:
        """The messages, each after the mark of its role, then the mark of the policy's role."""
        pieces: list[str] = []
        for message in messages:
            pieces += [role_mark(message["role"]), *join_text(fact_words(self._reader.read(message)))]
        return [*pieces, role_mark("assistant")]

    def write_turn(self, calls: Sequence[ToolCall], prose: str = "") -> list[str]:
        """A turn with handles for shown values, and the end mark."""
        lines = [["> ", *self._shown.mask_written(line)] for line in prose.split("\n")] if prose else []
        lines += [line_pieces(call, self._marks) for call in calls]
        pieces = [piece for number, line in enumerate(lines) for piece in ("\n" if number else "", *line)]
        return [*join_text(pieces), self._format.end]

    def read(self, pieces: Sequence[str]) -> str:
        """The text with real values; `parse` refuses a handle that was never shown."""
        kept = pieces[:-1] if pieces and isinstance(pieces[-1], Mark) and pieces[-1] == self._format.end else pieces
        return resolve_turn(kept, self._shown.handles)


def role_mark(role: str) -> Mark:
    """The mark before a message."""
    return Mark(f"<|{role}|>")
