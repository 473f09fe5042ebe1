"""What upper folders implement and hand to others: the seams between layers."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from pydantic import BaseModel

from palaestra.records import Json, JsonSchema, Message, Row, RowChange, ToolCall

R = TypeVar("R", bound=Row)

Action: TypeAlias = str | Mapping[str, Any] | ToolCall | BaseModel | Sequence[Mapping[str, Any] | ToolCall | BaseModel]
"""Raw model text, one call, or the calls of one turn.

A call is `{"tool": name, "arguments": {...}}`, a `ToolCall`, or what OpenAI and Anthropic call one, also inside a whole
message, as JSON or as an object of their clients (`palaestra.tools.actions`)."""


class StateView(Protocol):
    """A world's rows, to be read. Every listing is ordered by key."""

    def get(self, kind: type[R], key: str) -> R:
        """The row under `key`; `RowMissingError` where there is none."""
        ...

    def peek(self, kind: type[R], key: str) -> R | None:
        """The row under `key`, or `None`."""
        ...

    def find(self, kind: type[R], /, **equal: Json) -> list[R]:
        """The rows whose columns equal all of `equal`; all rows when nothing is asked."""
        ...

    def search(self, kind: type[R], text: str) -> list[R]:
        """The rows whose searchable columns hold every word of `text`, ignoring case; none for no word."""
        ...


class State(StateView, Protocol):
    """A world's rows, to be read and written. Every write is one entry in the journal."""

    def insert(self, row: R) -> R:
        """Add a row; `RowError` where its key is taken."""
        ...

    def update(self, row: R, /, **changes: Any) -> R:
        """Replace columns of a row that stands and return the new row."""
        ...

    def delete(self, row: Row) -> None:
        """Remove a row that stands."""
        ...

    def next_id(self, kind: type[Row]) -> str:
        """An id that no row of this kind has had in this episode or before."""
        ...


class ForkableState(Protocol):
    """State of a world beside its rows, such as a tree of files: what a `Base` takes under `states`.

    Its changes are told as rows: each part that came, changed or went is a row of one table, before and after. A
    mirror of them stands among the world's rows, so rubrics, guards and logs need to know nothing else of it.
    """

    def snapshot(self) -> Any:
        """Where it stands: a value that pickles and that no later write changes."""
        ...

    def restore(self, snapshot: Any) -> None:
        """Stand where `snapshot` was taken, be it here or of a fork."""
        ...

    def fork(self) -> "ForkableState":
        """An independent copy that stands at the same place."""
        ...

    def state_hash(self) -> str:
        """A hash of what it holds, however it came to hold it."""
        ...

    def diff(self, since: Any | None) -> Sequence[RowChange]:
        """The net difference to a snapshot of its past, ordered by key; to nothing at all, where that is `None`."""
        ...


class Agent(Protocol):
    """Who acts. It is given messages and tool schemas and nothing else."""

    def reset(self, tools: Sequence[JsonSchema], *, seed: int) -> None:
        """A new episode begins, with these tools to call."""
        ...

    def act(self, messages: Sequence[Message]) -> Action:
        """The next action, after `messages` that are new since the last one."""
        ...


class ChatModel(Protocol):
    """A language model that answers a chat."""

    def complete(self, messages: Sequence[Message], *, seed: int) -> str:
        """What the model writes after `messages`.

        Raises:
            TimeoutError: it took too long.
            ConnectionError: it could not be reached.
            ValueError: what it gave is no text.
        """
        ...


class ForkableWorld(Protocol):
    """What `env.unwrapped` adds to Gymnasium: a world that can be copied, rewound and compared."""

    def snapshot(self) -> Any:
        """Everything that decides how the episode goes on; picklable."""
        ...

    def restore(self, snapshot: Any) -> None:
        """Go back, or across, to a snapshot."""
        ...

    def fork(self) -> "ForkableWorld":
        """An independent copy that stands at the same place."""
        ...

    def state_hash(self) -> str:
        """A hash of the rows and nothing but the rows."""
        ...

    def digest(self) -> str:
        """A hash of everything: equal digests mean that two worlds go on alike."""
        ...

    def anchor(self) -> str:
        """A hash of the rows and the current observation: whether an agent stands at the same place."""
        ...
