"""The interfaces between layers, which upper folders implement and pass to others."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from pydantic import BaseModel

from palaestra.records import Json, JsonSchema, Message, Row, RowChange, ToolCall

R = TypeVar("R", bound=Row)

Action: TypeAlias = str | Mapping[str, Any] | ToolCall | BaseModel | Sequence[Mapping[str, Any] | ToolCall | BaseModel]
"""Raw model text, one call, or the calls of one turn.

A call is `{"tool": name, "arguments": {...}}`, a `ToolCall`, or a tool call in the format of OpenAI or Anthropic, also
inside a whole message, as JSON or as an object of their clients (`palaestra.tools.actions`)."""


class StateView(Protocol):
    """Read access to a world's rows. Every listing is ordered by key."""

    def get(self, kind: type[R], key: str) -> R:
        """The row under `key`; raises `RowMissingError` if it does not exist."""
        ...

    def peek(self, kind: type[R], key: str) -> R | None:
        """The row under `key`, or `None`."""
        ...

    def find(self, kind: type[R], /, **equal: Json) -> list[R]:
        """The rows whose columns equal all of `equal`; all rows if `equal` is empty."""
        ...

    def search(self, kind: type[R], text: str) -> list[R]:
        """The rows whose searchable columns hold every word of `text`, ignoring case; no rows if it has no word."""
        ...


class State(StateView, Protocol):
    """Read and write access to a world's rows. Every write is one entry in the journal."""

    def insert(self, row: R) -> R:
        """Add a row; raises `RowError` if its key exists."""
        ...

    def update(self, row: R, /, **changes: Any) -> R:
        """Replace columns of an existing row and return the new row."""
        ...

    def delete(self, row: Row) -> None:
        """Remove an existing row."""
        ...

    def next_id(self, kind: type[Row]) -> str:
        """An id that no row of this kind has had in this episode or before."""
        ...


class ForkableState(Protocol):
    """State of a world in addition to its rows, such as a file tree: the values of `states` of a `Base`.

    It reports its changes as rows of one table: each part that was added, changed or removed, before and after. The
    world's rows include a mirror of that table, so rubrics, guards and logs need nothing else.
    """

    def snapshot(self) -> Any:
        """The present state as a value that can be pickled and that no later write changes."""
        ...

    def restore(self, snapshot: Any) -> None:
        """Go back to `snapshot`, which this state or a fork of it took."""
        ...

    def fork(self) -> "ForkableState":
        """An independent copy in the same state."""
        ...

    def state_hash(self) -> str:
        """A hash of the content, independent of its history."""
        ...

    def diff(self, since: Any | None) -> Sequence[RowChange]:
        """The net difference to an earlier snapshot, ordered by key; `None` compares with an empty state."""
        ...


class Agent(Protocol):
    """An agent. It gets messages and tool schemas and nothing else."""

    def reset(self, tools: Sequence[JsonSchema], *, seed: int) -> None:
        """Begin a new episode with these tools."""
        ...

    def act(self, messages: Sequence[Message]) -> Action:
        """The next action, given the `messages` since the last one."""
        ...


class ChatModel(Protocol):
    """A language model that answers a chat."""

    def complete(self, messages: Sequence[Message], *, seed: int) -> str:
        """The model's reply to `messages`.

        Raises:
            TimeoutError: the model took too long.
            ConnectionError: the model could not be reached.
            ValueError: the reply is not text.
        """
        ...


class ForkableWorld(Protocol):
    """The methods that `env.unwrapped` adds to Gymnasium: a world can be copied, rewound and compared."""

    def snapshot(self) -> Any:
        """Everything that decides how the episode continues; picklable."""
        ...

    def restore(self, snapshot: Any) -> None:
        """Restore a snapshot of this world or of a fork."""
        ...

    def fork(self) -> "ForkableWorld":
        """An independent copy in the same state."""
        ...

    def state_hash(self) -> str:
        """A hash of the rows alone."""
        ...

    def digest(self) -> str:
        """A hash of the whole state: worlds with equal digests continue identically."""
        ...

    def anchor(self) -> str:
        """A hash of the rows and the current observation, which shows whether an agent is in the same situation."""
        ...
