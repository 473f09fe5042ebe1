"""What an action format is: how a model's raw text becomes calls, how calls become text, how messages become a prompt.

A format reads a turn whole or not at all: one call that cannot be read makes the turn unreadable, so that half a
turn is never run. Text without a call is prose, which the environment takes as something said to the user.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from palaestra.records import JsonSchema, Message, ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedTurn:
    """What a turn's text says."""

    calls: tuple[ToolCall, ...] = ()
    prose: str = ""
    """The text outside calls, without the model's thinking."""
    error: str | None = None
    """Why the text could not be read; then there are no calls."""
    program: str | None = None
    """Code that makes the calls as it runs; `None` where the text states the calls themselves."""
    ids: tuple[str, ...] = ()
    """The ids that the text gives to its calls, "" for a call without one; empty where no call has one."""


class ActionFormat(Protocol):
    """A way to write calls as text."""

    def parse(self, text: str) -> ParsedTurn:
        """Read one turn."""
        ...

    def render(self, calls: Sequence[ToolCall], prose: str = "") -> str:
        """Write one turn; `parse` gives the same calls and prose back."""
        ...


class Mark(str):
    """A piece of a prompt that is one token of its own.

    Text is never read for marks: whatever users and tools write stays text, so that it can neither end a turn nor
    pose as the system. Only a format makes marks, and only a policy samples them.
    """

    __slots__ = ()


def join_text(pieces: Iterable[str]) -> list[str]:
    """`pieces` with neighbouring text made one."""
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
    """A part of a policy's turn that means something by itself, and the marks that it stands between."""

    kind: PartKind
    opens: Mark
    closes: Mark


class Rendering(Protocol):
    """One episode as a policy reads and writes it: pieces of text and marks, each appended once.

    A rendering may keep a memory of the episode (which id has which handle), so it belongs to one.
    """

    def opening(self, messages: Sequence[Message], tools: Sequence[JsonSchema]) -> list[str]:
        """The prompt, up to where the policy begins to write."""
        ...

    def following(self, messages: Sequence[Message]) -> list[str]:
        """What stands between the end mark of one turn and where the policy begins to write the next."""
        ...

    def write_turn(self, calls: Sequence[ToolCall], prose: str = "") -> list[str]:
        """A turn as a policy would write it, its end mark included; `read` gives its text back."""
        ...

    def read(self, pieces: Sequence[str]) -> str:
        """What a policy wrote, as text for the environment's action format; the end mark is dropped."""
        ...


class ChatFormat(ActionFormat, Protocol):
    """An action format that also renders messages, so that a policy can be trained and sampled in it."""

    name: str
    """The name under which `gymnasium.make` knows the format."""
    end: Mark
    """Ends a turn of the policy's."""
    parts: tuple[TurnPart, ...]
    """The parts of which every turn is made, in order; none where a turn is all action."""
    plain_answers: bool
    """Whether answers of tools stand in the prompt as they are, without facts and handles."""

    def rendering(self) -> Rendering:
        """The rendering of a new episode."""
        ...

    def marks(self, corpus: Sequence[Sequence[str]]) -> list[Mark]:
        """Every mark that a tokenizer must hold as a token.

        Args:
            corpus: Rendered episodes, from which a format with handles learns what kinds of ids there are.
        """
        ...
