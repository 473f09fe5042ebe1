"""The records that cross folders: frozen, slotted, keyword-only.

They hold data only. Rows of a world are records too: a world subclasses `Row`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import blake2b
from typing import (
    Any,
    ClassVar,
    Literal,
    NotRequired,  # pydantic reads its own TypedDict before Python 3.12
    TypeAlias,
)

import orjson
from pydantic import JsonValue
from typing_extensions import TypedDict

from palaestra.digest import as_json, canonical
from palaestra.record import record

Json: TypeAlias = JsonValue
JsonObject: TypeAlias = dict[str, Json]
# Any: pydantic and JSON Schema documents have no fixed shape; they are read, never computed with.
JsonSchema: TypeAlias = Mapping[str, Any]
Layer: TypeAlias = Literal["selection", "params", "outcome", "task"]
LAYERS: tuple[Layer, ...] = ("selection", "params", "outcome", "task")
INT_RANGE = range(-(2**63), 2**63)
"""The integers that every JSON reader keeps exact."""


class MessageCall(TypedDict):
    """A tool call in an assistant's message."""

    id: str
    """The id that the answer's `tool_call_id` repeats."""
    tool: str
    arguments: JsonObject


class Message(TypedDict):
    """A chat message in the form that chat models read."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    name: NotRequired[str]
    tool_call_id: NotRequired[str]
    images: NotRequired[list[str]]
    """`data:` URLs of the images that belong to the content."""
    tool_calls: NotRequired[list[MessageCall]]
    """The calls of an assistant's message. Observations have none: an agent knows its own calls."""


class _Worked:
    """A row's cache of derived values, which is neither compared nor stored."""

    __slots__ = ("_hash", "_json")
    _hash: int
    _json: bytes


@record
class Row(_Worked):
    """One row of a world's table; a world subclasses it with its columns and sets `table`.

    A row never changes, so its JSON and its hash are computed only once.
    """

    table: ClassVar[str]
    prefix: ClassVar[str]
    """The prefix of new rows' ids, such as "RFD-"; empty if rows are never created."""
    id: str

    def json(self) -> bytes:
        """The row as a JSON object, its columns in the order of their declaration."""
        try:
            return self._json
        except AttributeError:
            object.__setattr__(self, "_json", orjson.dumps(self, default=as_json))
            return self._json

    def hash(self) -> int:
        """A hash of the row and its table, of 128 bits."""
        try:
            return self._hash
        except AttributeError:
            data = blake2b(self.table.encode() + canonical(self), digest_size=16).digest()
            object.__setattr__(self, "_hash", int.from_bytes(data, "big"))
            return self._hash


@dataclass(frozen=True, slots=True)
class References:
    """Marks a string annotation as the id of a row: `Annotated[str, References("orders")]`."""

    table: str
    """The table, or `ANY_TABLE`."""


ANY_TABLE = "*"


@dataclass(frozen=True, slots=True)
class Searchable:
    """Marks a text column that full-text search reads."""


@dataclass(frozen=True, slots=True)
class Digits:
    """Declares the precision of a decimal column: `Annotated[Decimal, Digits(12, places=2)]`."""

    total: int
    """Maximum digits of a value, those after the decimal point included; at most 15."""
    places: int = field(kw_only=True)
    """Digits after the decimal point, in every value."""


@dataclass(frozen=True, slots=True)
class MaxBytes:
    """Bounds a column of bytes: `Annotated[bytes, MaxBytes(200_000)]`. Default: `DEFAULT_MAX_BYTES`."""

    size: int


DEFAULT_MAX_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Prose:
    """Marks an argument as free text for people: its wording never changes what a call does."""


@dataclass(frozen=True, slots=True)
class AuthoredText:
    """Marks an argument as text that the agent composes itself and that decides what a call does, such as code.

    The proof does not require that its words were shown before, but that the task can be solved with other words.
    """


@dataclass(frozen=True, slots=True)
class Money:
    """Marks an integer argument as a sum of money in cents: `Annotated[int, Money()]`."""


@record
class RowChange:
    """One write: the row before and after; `None` if the row did not, or no longer does, exist."""

    table: str
    key: str
    before: Row | None
    after: Row | None


@record
class ToolCall:
    """An agent's call: a tool's name and its arguments as JSON."""

    tool: str
    arguments: Mapping[str, Json]


@record
class ShownColumns:
    """The columns that an answer shows of rows of one table."""

    table: str
    keys: tuple[str, ...]
    """The keys of the rows."""
    columns: tuple[str, ...]


@record
class TriedWrite:
    """A write that a composite call tried before the call was refused; it was rolled back."""

    tool: str
    named: tuple[str, ...]
    """The ids of rows in its arguments."""
    error: str | None
    """The code of its refusal; `None` if it succeeded and was rolled back."""


@record
class ToolEvent:
    """The result of one call; every call has one, even a refused call."""

    call_id: str
    tool: str
    arguments: Mapping[str, Json]
    schema_ok: bool
    """Whether the tool exists and the arguments fit its schema."""
    semantic_ok: bool
    """Whether role and business rules allowed the call."""
    executed: bool
    """Whether the tool's function ran to its end; only then may rows have changed."""
    result_digest: str
    error: str | None
    """The refusal's code, such as "not_found"; `None` if the call succeeded."""
    cost: int
    """The price of the call in the world's own units."""
    latency: int
    """Seconds that the call took on the virtual clock."""
    duplicate_of: str | None
    """The first earlier call with the same tool and arguments."""
    named: tuple[str, ...]
    """The ids of rows in the arguments."""
    written: int
    """The number of rows that the call wrote."""
    shown: tuple[tuple[str, str], ...]
    """(table, key) of every row that the result shows completely."""
    mentioned: frozenset[str]
    """Every id that the agent learns from the result: those in `shown` and of the rows that they refer to."""
    acts: tuple[str, ...] = ()
    """What the user understood of a message, such as "ask:order"; empty if nobody answers."""
    said: tuple[str, ...] = ()
    """What the user answered, such as "reveal:order" or "leave"."""
    columns: tuple[ShownColumns, ...] = ()
    """The columns that the result shows of rows that it shows only in part."""
    tried: tuple[TriedWrite, ...] = ()
    """The writes that a refused composite call tried."""
    guessed: tuple[str, ...] = ()
    """The ids among `named` that the code of this call writes literally, although only its own earlier calls showed
    them."""


@record
class CodeCall:
    """A call that code made, and what the code read from it."""

    call: ToolCall
    messages: tuple[Message, ...]
    """The answer, then the messages of people."""
    events: int
    """The number of the turn's events that belong to it."""


class EndReason(StrEnum):
    """Why an episode ended: a cause, never a verdict."""

    FINISHED = "finished"
    GAVE_UP = "gave_up"
    USER_LEFT = "user_left"
    DEADLINE = "deadline"
    MAX_TURNS = "max_turns"
    TOKEN_BUDGET = "token_budget"  # noqa: S105
    TIME_BUDGET = "time_budget"
    UNPARSABLE = "unparsable"

    @property
    def terminates(self) -> bool:
        """Whether the world ended it (terminated) and not a budget (truncated)."""
        return self in _TERMINAL

    @property
    def is_unfinished(self) -> bool:
        """Whether the episode ended before the agent said that the work is done: it gave up, or a budget ran out."""
        return self in _UNFINISHED


_TERMINAL = frozenset({EndReason.FINISHED, EndReason.GAVE_UP, EndReason.USER_LEFT, EndReason.DEADLINE})
_UNFINISHED = frozenset(EndReason) - {EndReason.FINISHED, EndReason.USER_LEFT, EndReason.DEADLINE}


@dataclass(frozen=True, slots=True, kw_only=True)
class CriterionSpec:
    """A line of a rubric, for people to read."""

    id: str
    text: str
    kind: Literal["expect", "forbid"]
    points: int
    layer: Layer
    after: tuple[str, ...]
    """The criteria that must have been met before this one can be."""


@record
class Verdict:
    """Whether a criterion is met, and why."""

    met: bool
    reason: str


@record
class Standing:
    """The state of a rubric during an episode."""

    points: int
    """The score so far."""
    components: Mapping[Layer, int]
    """The points so far by layer."""
    met: tuple[str, ...]
    """The expectations that count."""
    violated: tuple[str, ...]
    """The prohibitions that count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A rubric's judgement of an episode."""

    points: int
    """Points won minus points lost; at most `total`, and negative if harm outweighs."""
    total: int
    passed: bool
    """Whether the task is solved: every expectation is met in order, nothing forbidden was done, and the end is not
    unfinished (`EndReason.is_unfinished`)."""
    verdicts: Mapping[str, Verdict]
    """Verdicts by criterion id, in the rubric's order."""
    components: Mapping[Layer, int]
    """The points of each layer; they sum to `points`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """Measures of a task's length and difficulty, counted from its reference solution."""

    hops: int
    """Records that the solution names and the request does not: each must be found through another."""
    entities: int
    """All records that the solution names."""
    exceptions: int
    """Exceptions to a rule that decide the task."""
    writes: int
    """Calls that change rows."""
    messages: int
    """Messages to the person who asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpec:
    """The public description of a task: enough to name, group and schedule it, but nothing that helps to solve it."""

    id: str
    """`world/family/index`, such as "storefront/refund-damaged-item/0007"."""
    family: str
    split: str
    level: int
    traits: tuple[str, ...]
    """What the family tests, such as "policy-exception", "multi-hop", "refusal"."""
    unseen: bool
    """Whether the family occurs only in "heldout", so that training never sees it."""
    world_seed: int
    max_turns: int
    oracle_calls: int
    features: Features
