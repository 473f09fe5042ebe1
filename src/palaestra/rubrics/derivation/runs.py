"""Runs that solve a task, as a rubric is derived from them: what each call said, showed and wrote."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from palaestra.records import Json, JsonObject, Row, RowChange, ToolEvent


class TableFacts(Protocol):
    """One table of a world's schema, as far as derivation asks."""

    @property
    def kind(self) -> type[Row]:
        """The class of its rows."""
        ...

    @property
    def references(self) -> Sequence[str]:
        """The columns that name rows, the row's parent first."""
        ...


Tables = Mapping[str, TableFacts]


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceStep:
    """One call of a run, and what came of it."""

    event: ToolEvent
    changes: tuple[RowChange, ...]
    """The writes of this call, in order."""
    said: Json
    """Its answer."""
    prose: frozenset[str]
    """The arguments of its tool whose wording is free."""
    by_world: Mapping[tuple[str, str], Row]
    """By table and key: the rows that the world had written by itself before this call, as it had left them."""

    @property
    def is_lookup(self) -> bool:
        """Whether it looked something up: it ran, wrote nothing and said nothing to anybody."""
        return self.event.executed and not self.event.written and not self.prose

    @property
    def spoke(self) -> bool:
        """Whether it told somebody something, and did no more."""
        return self.event.executed and not self.event.written and bool(self.prose)

    def arguments(self) -> frozenset[Json]:
        """The single values that the call was made with, but for free wording."""
        given = (value for name, value in self.event.arguments.items() if name not in self.prose)
        return frozenset(leaf for value in given for leaf in leaves(value))

    def wording(self) -> frozenset[Json]:
        """What the call was told in free words."""
        return frozenset(leaf for name in self.prose for leaf in leaves(self.event.arguments.get(name)))


@dataclass(frozen=True, slots=True, kw_only=True)
class SolutionTrace:
    """Calls that solve a task, one a turn."""

    steps: tuple[TraceStep, ...]
    """In order, without the call that ended the episode."""
    answer: JsonObject
    """What the agent answered when it finished."""


def leaves(value: Json) -> Iterator[str | int | float | bool]:
    """The single values inside a JSON value, `None` left out."""
    if isinstance(value, dict):
        for part in value.values():
            yield from leaves(part)
    elif isinstance(value, list):
        for part in value:
            yield from leaves(part)
    elif value is not None:
        yield value


def free_name(name: str, taken: Iterable[str]) -> str:
    """`name`, or the first of name-2, name-3, ... that is not `taken`: the same in every task of a family."""
    names = set(taken)
    return next(n for n in (name, *(f"{name}-{i}" for i in range(2, len(names) + 3))) if n not in names)
