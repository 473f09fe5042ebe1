"""A variant of the oracle's work: a kind, a sentence, and the turns to play."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from palaestra.records import ToolCall

MutantKind: TypeAlias = Literal["dropped", "argument", "entity", "extra", "undone", "order"]
MUTANT_KINDS: tuple[MutantKind, ...] = ("dropped", "argument", "entity", "extra", "undone", "order")
RouteKind: TypeAlias = Literal["reordered", "extra read", "paraphrased", "batched", "alternative"]
ROUTE_KINDS: tuple[RouteKind, ...] = ("reordered", "extra read", "paraphrased", "batched", "alternative")


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """Work that differs from the oracle's in one way."""

    kind: MutantKind | RouteKind
    what: str
    """What differs, in a few words."""
    turns: tuple[tuple[ToolCall, ...], ...]


def variant(kind: MutantKind | RouteKind, what: str, calls: list[ToolCall]) -> Variant:
    """A variant that makes one call a turn."""
    return Variant(kind=kind, what=what, turns=tuple((call,) for call in calls))


def replaced(calls: tuple[ToolCall, ...], position: int, *new: ToolCall) -> list[ToolCall]:
    """`calls` with the one at `position` replaced by `new`, which may be none or several."""
    return [*calls[:position], *new, *calls[position + 1 :]]


def inserted(calls: tuple[ToolCall, ...], position: int, *new: ToolCall) -> list[ToolCall]:
    """`calls` with `new` put in before `position`."""
    return [*calls[:position], *new, *calls[position:]]


def moved(calls: tuple[ToolCall, ...], origin: int, target: int) -> list[ToolCall]:
    """`calls` with the one at `origin` moved so that it stands at `target`."""
    rest = [*calls[:origin], *calls[origin + 1 :]]
    return [*rest[:target], calls[origin], *rest[target:]]


def written(call: ToolCall) -> str:
    """A call in a line, for reports."""
    return f"{call.tool}({', '.join(f'{k}={v!r}' for k, v in call.arguments.items())})"
