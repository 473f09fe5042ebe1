"""The interface of action formats: parsing of model text, writing of calls, and rendering of messages as a prompt.

A format parses a whole turn or nothing: one unreadable call makes the turn unreadable, so that no half turn is run.
Text without a call is prose, which the environment sends to the user.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from palaestra.records import JsonSchema, Message, ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedTurn:
    """The content of a turn's text."""

    calls: tuple[ToolCall, ...] = ()
    prose: str = ""
    """The text outside calls, without the model's thinking."""
    error: str | None = None
    """Why the text could not be parsed; then there are no calls."""
    program: str | None = None
    """Code that makes the calls when it runs; `None` if the text states the calls."""
    ids: tuple[str, ...] = ()
    """The ids of the calls in the text, "" for a call without one; empty if no call has one."""


class ActionFormat(Protocol):
    """A way to write calls as text."""

    def parse(self, text: str) -> ParsedTurn:
        """Parse one turn."""
        ...

    def render(self, calls: Sequence[ToolCall], prose: str = "") -> str:
        """Write one turn; `parse` gives the same calls and prose back."""
        ...


class Mark(str):
    """A piece of a prompt that is a single token.

    Text is never parsed for marks: everything that users and tools write stays text, so that it can neither end a turn
    nor imitate the system. Only a format makes marks, and only a policy samples them.
    """

    __slots__ = ()


def join_text(pieces: Iterable[str]) -> list[str]:
    """The pieces, with neighbouring texts joined."""
    whole: list[str] = []
    for piece in pieces:
        if whole and not isinstance(piece, Mark) and not isinstance(whole[-1], Mark):
            whole[-1] += piece
        elif piece:
            whole.append(piece)
    return whole


PartKind: TypeAlias = Literal["plan", "switch", "action"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnPart:
    """A part of a policy's turn with its own meaning, and the marks around it."""

    kind: PartKind
    opens: Mark
    closes: Mark


class Rendering(Protocol):
    """One episode as a policy reads and writes it: pieces of text and marks, each appended once.

    A rendering may keep a memory of the episode (such as handles of ids), so each episode has its own.
    """

    def opening(self, messages: Sequence[Message], tools: Sequence[JsonSchema]) -> list[str]:
        """The prompt, up to the start of the policy's turn."""
        ...

    def following(self, messages: Sequence[Message]) -> list[str]:
        """The pieces between the end mark of one turn and the start of the policy's next turn."""
        ...

    def write_turn(self, calls: Sequence[ToolCall], prose: str = "") -> list[str]:
        """A turn as a policy would write it, including its end mark; `read` returns its text."""
        ...

    def read(self, pieces: Sequence[str]) -> str:
        """The policy's text for the environment's action format, without the end mark."""
        ...


class ChatFormat(ActionFormat, Protocol):
    """An action format that also renders messages, so that a policy can be trained and sampled in it."""

    name: str
    """The name of the format in `gymnasium.make`."""
    end: Mark
    """The mark that ends a policy's turn."""
    parts: tuple[TurnPart, ...]
    """The parts of every turn, in order; none if a turn is only an action."""
    plain_answers: bool
    """Whether the prompt has tool answers unchanged, without facts and handles."""

    def rendering(self) -> Rendering:
        """The rendering of a new episode."""
        ...

    def marks(self, corpus: Sequence[Sequence[str]]) -> list[Mark]:
        """Every mark that a tokenizer must have as a token.

        Args:
            corpus: Rendered episodes, in which a format with handles finds the kinds of ids.
        """
        ...
