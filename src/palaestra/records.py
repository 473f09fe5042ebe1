"""The records that cross folders: frozen, slotted, keyword-only.

They hold what happened and nothing that acts. Rows of a world are records too: a world subclasses `Row`.
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
# Any: pydantic and JSON Schema documents are open by nature; they are read, never computed with.
JsonSchema: TypeAlias = Mapping[str, Any]
Layer: TypeAlias = Literal["selection", "params", "outcome", "task"]
LAYERS: tuple[Layer, ...] = ("selection", "params", "outcome", "task")
INT_RANGE = range(-(2**63), 2**63)
"""The integers that JSON carries from reader to reader unchanged."""


class MessageCall(TypedDict):
    """A call that an assistant's message asks for."""

    id: str
    """What the answer's `tool_call_id` names."""
    tool: str
    arguments: JsonObject


class Message(TypedDict):
    """One chat message, as chat models read it."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    name: NotRequired[str]
    tool_call_id: NotRequired[str]
    images: NotRequired[list[str]]
    """`data:` URLs of the images that belong to the content."""
    tool_calls: NotRequired[list[MessageCall]]
    """The calls of an assistant's message. Observations hold none: an agent knows what it asked for."""


class _Worked:
    """Where a row keeps what was worked out from it; neither compared nor written down."""

    __slots__ = ("_hash", "_json")
    _hash: int
    _json: bytes


@record
class Row(_Worked):
    """One row of a world's table; a world subclasses it with its columns and sets `table`.

    A row never changes, so its JSON and its hash are worked out once, however often it is shown.
    """

    table: ClassVar[str]
    prefix: ClassVar[str]
    """What the ids of new rows start with, such as "RFD-"; empty where rows are never created."""
    id: str

    def json(self) -> bytes:
        """The row as a JSON object, its columns in the order of their declaration."""
        try:
            return self._json
        except AttributeError:
            object.__setattr__(self, "_json", orjson.dumps(self, default=as_json))
            return self._json

    def hash(self) -> int:
        """128 bits of the row, its table included."""
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
    """How many digits a value has at most, those behind the point included; 15 or fewer."""
    places: int = field(kw_only=True)
    """How many of them stand behind the point, in every value."""


@dataclass(frozen=True, slots=True)
class MaxBytes:
    """Bounds a column of bytes: `Annotated[bytes, MaxBytes(200_000)]`; without it, `DEFAULT_MAX_BYTES`."""

    size: int


DEFAULT_MAX_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Prose:
    """Marks an argument as free text for people: its wording never changes what a call does."""


@dataclass(frozen=True, slots=True)
class AuthoredText:
    """Marks an argument as text that the agent thinks out itself and that decides what a call does, such as code.

    The proof does not ask that its words were shown before, but that the task can be solved with other words.
    """


@dataclass(frozen=True, slots=True)
class Money:
    """Marks an integer argument as a sum of money in cents: `Annotated[int, Money()]`."""


@record
class RowChange:
    """One write: the row before and after; `None` where there was, or is, none."""

    table: str
    key: str
    before: Row | None
    after: Row | None


@record
class ToolCall:
    """What an agent asks for: a tool's name and its arguments as JSON."""

    tool: str
    arguments: Mapping[str, Json]


@record
class ShownColumns:
    """Some columns of rows of one table that an answer shows."""

    table: str
    keys: tuple[str, ...]
    """The rows."""
    columns: tuple[str, ...]


@record
class TriedWrite:
    """A write that a composite call ran on trial before the call was refused; it left nothing."""

    tool: str
    named: tuple[str, ...]
    """The ids of rows that its arguments name."""
    error: str | None
    """The code of its refusal; `None` where it went through and was taken back."""


@record
class ToolEvent:
    """What came of one call; there is one for every call, also for a refused one."""

    call_id: str
    tool: str
    arguments: Mapping[str, Json]
    schema_ok: bool
    """The tool exists and the arguments fit its schema."""
    semantic_ok: bool
    """Role and business rules allowed it."""
    executed: bool
    """The tool's function ran to its end; only then may rows have changed."""
    result_digest: str
    error: str | None
    """The refusal's code, such as "not_found"; `None` when the call went through."""
    cost: int
    """Price of the call in the world's own units."""
    latency: int
    """Seconds that the call took on the virtual clock."""
    duplicate_of: str | None
    """The first earlier call with the same tool and arguments."""
    named: tuple[str, ...]
    """The ids of rows that the arguments name."""
    written: int
    """How many rows the call wrote."""
    shown: tuple[tuple[str, str], ...]
    """(table, key) of every row that the result shows whole."""
    mentioned: frozenset[str]
    """Every id that the result lets the agent know, those of `shown` and of the rows they point to."""
    acts: tuple[str, ...] = ()
    """What the person who was written to understood, such as "ask:order"; empty where nobody answers."""
    said: tuple[str, ...] = ()
    """What they answered, such as "reveal:order" or "leave"."""
    columns: tuple[ShownColumns, ...] = ()
    """What the result shows of rows that it does not show whole."""
    tried: tuple[TriedWrite, ...] = ()
    """The writes that a refused composite call ran on trial."""
    guessed: tuple[str, ...] = ()
    """The ids among `named` that the code of this call spells out, and that only its own earlier calls had shown."""


@record
class CodeCall:
    """A call that code made, and what the code read of it."""

    call: ToolCall
    messages: tuple[Message, ...]
    """The answer, then what people said."""
    events: int
    """How many events of the turn belong to it."""


class EndReason(StrEnum):
    """Why an episode ended: the cause, never the verdict."""

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
        """Whether the agent did not say that the work is done: it gave up, or a budget ended the episode."""
        return self in _UNFINISHED


_TERMINAL = frozenset({EndReason.FINISHED, EndReason.GAVE_UP, EndReason.USER_LEFT, EndReason.DEADLINE})
_UNFINISHED = frozenset(EndReason) - {EndReason.FINISHED, EndReason.USER_LEFT, EndReason.DEADLINE}


@dataclass(frozen=True, slots=True, kw_only=True)
class CriterionSpec:
    """One line of a rubric, as people read it."""

    id: str
    text: str
    kind: Literal["expect", "forbid"]
    points: int
    layer: Layer
    after: tuple[str, ...]
    """The criteria that must have been met before this one can be."""


@record
class Verdict:
    """A criterion's answer and why."""

    met: bool
    reason: str


@record
class Standing:
    """What a rubric says so far."""

    points: int
    """The score so far."""
    components: Mapping[Layer, int]
    """Its points by layer."""
    met: tuple[str, ...]
    """The expectations that count."""
    violated: tuple[str, ...]
    """The prohibitions that count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A rubric's judgement of an episode so far."""

    points: int
    """Points won less points lost; at most `total`, below zero where harm outweighs."""
    total: int
    passed: bool
    """What "solved" means everywhere: every expectation met in order, nothing forbidden done, and an end that is not
    unfinished (`EndReason.is_unfinished`)."""
    verdicts: Mapping[str, Verdict]
    """By criterion id, in the rubric's order."""
    components: Mapping[Layer, int]
    """The points of each layer; they sum to `points`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """What makes a task long or hard, counted from its own solution."""

    hops: int
    """Records that the solution names and the request does not: each has to be found by way of another."""
    entities: int
    """Records that the solution names, all together."""
    exceptions: int
    """Exceptions to a rule that it turns on."""
    writes: int
    """Calls that change rows."""
    messages: int
    """Messages to the person who asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpec:
    """What the outside may know of a task: enough to name, group and schedule it, nothing to solve it by."""

    id: str
    """`world/family/index`, such as "storefront/refund-damaged-item/0007"."""
    family: str
    split: str
    level: int
    traits: tuple[str, ...]
    """What the family turns on, such as "policy-exception", "multi-hop", "refusal"."""
    unseen: bool
    """Whether the family occurs in "heldout" alone: never seen in training."""
    world_seed: int
    max_turns: int
    oracle_calls: int
    features: Features
