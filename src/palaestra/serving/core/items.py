"""The requests of a server: one class of items for each operation.

A request is a list of items, so that one message can play many sessions. Items that may change something take a request
key: if the same key comes with the same item again, the server repeats the answer and does not run the item again.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import ConfigDict, Field, StrictBool, StringConstraints

from palaestra.record import record
from palaestra.serving.access import OWNER_PATTERN

Id: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=128)]
Owner: TypeAlias = Annotated[str, StringConstraints(pattern=f"^{OWNER_PATTERN}$")]
RequestKey: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=64)]
Seed: TypeAlias = Annotated[int, Field(ge=0, lt=2**63, strict=True)]
View: TypeAlias = Literal["play", "author"]
Part: TypeAlias = Literal[
    "anchor", "digest", "episode", "events", "legal_actions", "oracle", "score", "state_hash", "table_ids", "task"
]
"""The parts that an author may read of a session."""
_CLOSED = ConfigDict(extra="forbid")


@record
class CreateItem:
    """A new session."""

    __pydantic_config__: ClassVar[ConfigDict] = _CLOSED
    world: Id
    """The name of a served world."""
    switches: Mapping[str, Any] | None = None
    """For authors: arguments of `gymnasium.make`, such as split, surface, noise and handbook. Any: JSON."""
    action_format: Id | None = None
    """How text is read; `None` for the server's setting. Code is for authors only: it blocks other sessions."""
    view: View | None = None
    """The creator's view; `None` for as much as the key allows."""
    player: Owner | None = None
    """For authors: another owner who may play the session, and sees it as a player."""
    reward: StrictBool | None = None
    """For authors: whether the player sees rewards; `None` for the world's setting."""
    lease: Annotated[float, Field(gt=0, strict=True)] | None = None
    """Seconds without a call after which the session is closed; `None` for the server's setting."""
    tools: StrictBool = False
    """Whether the answer holds the schemas of the tools, which otherwise come with the first reset."""
    request: RequestKey | None = None


@record
class ResetItem:
    """A new episode in a session."""

    __pydantic_config__: ClassVar[ConfigDict] = _CLOSED
    session: Id
    seed: Seed
    task: Id | None = None
    """A handle of a task, or for authors its id; `None` draws one by the seed."""
    request: RequestKey | None = None


@record
class StepItem:
    """One turn."""

    __pydantic_config__: ClassVar[ConfigDict] = _CLOSED
    session: Id
    action: Any
    """Text, a call, or the calls of a turn. Any: JSON, which the environment judges."""
    as_json: StrictBool = False
    """Whether `action` is JSON text of the action. It may hold values that a request cannot: integers of any size, NaN,
    Infinity and lone surrogates."""
    turn: Annotated[int, Field(ge=0, strict=True)] | None = None
    """The number of turns that the caller knows; if the session has another number, nothing is run."""
    request: RequestKey | None = None


@record
class EndItem:
    """An episode that its player ends from outside, for a budget that the world does not know."""

    __pydantic_config__: ClassVar[ConfigDict] = _CLOSED
    session: Id
    reason: Literal["token_budget", "time_budget"] = "token_budget"
    request: RequestKey | None = None


@record
class ForkItem:
    """A new session in the state of another one."""

    __pydantic_config__: ClassVar[ConfigDict] = _CLOSED
    session: Id
    request: RequestKey | None = None


@record
class SnapshotItem:
    """A snapshot, which stays on the server."""

    __pydantic_config__: ClassVar[ConfigDict] = _CLOSED
    session: Id
    request: RequestKey | None = None


@record
class RestoreItem:
    """A snapshot to restore in a session."""

    __pydantic_config__: ClassVar[ConfigDict] = _CLOSED
    session: Id
    snapshot: Id
    request: RequestKey | None = None


@record
class DropItem:
    """A snapshot that is no longer needed."""

    __pydantic_config__: ClassVar[ConfigDict] = _CLOSED
    snapshot: Id


@record
class HeartbeatItem:
    """A session whose lease to renew."""

    __pydantic_config__: ClassVar[ConfigDict] = _CLOSED
    session: Id


@record
class ObserveItem:
    """A session as its player sees it now."""

    __pydantic_config__: ClassVar[ConfigDict] = _CLOSED
    session: Id
    tools: StrictBool = False
    """Whether the answer holds the schemas of the tools."""


@record
class CloseItem:
    """A session to close; its episode is void unless it has ended."""

    __pydantic_config__: ClassVar[ConfigDict] = _CLOSED
    session: Id


@record
class InspectItem:
    """A session as its author sees it now."""

    __pydantic_config__: ClassVar[ConfigDict] = _CLOSED
    session: Id
    parts: tuple[Part, ...]
    table: Id | None = None
    """The table whose ids "table_ids" lists."""
    count: Annotated[int, Field(ge=1, le=1_000, strict=True)] = 8
    """The number of "legal_actions"."""
    seed: Seed | None = None
    """The random seed of "legal_actions"; `None` derives it from the state of the episode."""


@record
class TasksItem:
    """The tasks of a world."""

    __pydantic_config__: ClassVar[ConfigDict] = _CLOSED
    world: Id
    split: Id | None = None
    """For authors; `None` for the world's setting."""
