"""A variant of the oracle's work: a kind, a sentence, and the turns to play."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from palaestra.records import ToolCall

MutantKind: TypeAlias = Literal[
    "dropped",
    "argument",
    "entity",
    "neighbour",
    "reason",
    "swapped",
    "extra",
    "repeated",
    "undone",
    "claimed",
    "said",
    "order",
    "truncated",
    "ending",
    "attempted",
]
MUTANT_KINDS: Mapping[MutantKind, str] = {
    "dropped": "a needed call dropped",
    "argument": "an argument changed",
    "entity": "the wrong entity",
    "neighbour": "another row of the same customer, order or case",
    "reason": "another record given as the reason",
    "swapped": "two values that changed places",
    "extra": "an extra write",
    "repeated": "a write made twice",
    "undone": "a write undone",
    "claimed": "a write only claimed",
    "said": "a message that is false, confidential or indecent",
    "order": "order that breaks policy",
    "truncated": "stopped before the end",
    "ending": "ended otherwise than as done",
    "attempted": "an attempt on others' records, or one repeated in vain",
}
"""The kinds of wrong work, and how each differs from the oracle's."""
RouteKind: TypeAlias = Literal["reordered", "extra read", "paraphrased", "batched", "alternative", "named columns"]
ROUTE_KINDS: Mapping[RouteKind, str] = {
    "reordered": "independent calls reordered",
    "extra read": "extra reads and refused calls",
    "paraphrased": "other words",
    "batched": "several calls in a turn",
    "alternative": "the author's other routes",
    "named columns": "columns asked for by name, all at once or in parts",
}
"""The kinds of other right work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SolutionVariant:
    """Work that differs from the oracle's in one way."""

    kind: MutantKind | RouteKind
    what: str
    """What differs, in a few words."""
    turns: tuple[tuple[ToolCall, ...], ...]


def variant(kind: MutantKind | RouteKind, what: str, calls: Sequence[ToolCall]) -> SolutionVariant:
    """A variant with one call per turn."""
    return SolutionVariant(kind=kind, what=what, turns=tuple((call,) for call in calls))


def replace_call(calls: tuple[ToolCall, ...], position: int, *new: ToolCall) -> list[ToolCall]:
    """`calls` with the one at `position` replaced by the calls `new`, which may be empty."""
    return [*calls[:position], *new, *calls[position + 1 :]]


def insert_calls(calls: tuple[ToolCall, ...], position: int, *new: ToolCall) -> list[ToolCall]:
    """`calls` with `new` put in before `position`."""
    return [*calls[:position], *new, *calls[position:]]


def move_call(calls: tuple[ToolCall, ...], origin: int, target: int) -> list[ToolCall]:
    """`calls` with the one at `origin` moved so that it stands at `target`."""
    rest = [*calls[:origin], *calls[origin + 1 :]]
    return [*rest[:target], calls[origin], *rest[target:]]


def format_call(call: ToolCall) -> str:
    """A call in a line, for reports."""
    return f"{call.tool}({', '.join(f'{k}={v!r}' for k, v in call.arguments.items())})"
