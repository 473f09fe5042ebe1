"""Runs that solve a task, as input of rubric derivation: what each call said, showed and wrote."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from palaestra.records import Json, JsonObject, Row, RowChange, ToolEvent


class TableFacts(Protocol):
    """One table of a world's schema, with the facts that derivation needs."""

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
    """One call of a run and its effects."""

    event: ToolEvent
    changes: tuple[RowChange, ...]
    """The writes of this call, in order."""
    said: Json
    """Its answer."""
    prose: frozenset[str]
    """The arguments of its tool whose wording is free."""
    by_world: Mapping[tuple[str, str], Row]
    """By table and key: the rows that the world had written by itself before this call."""

    @property
    def is_lookup(self) -> bool:
        """Whether it is a look-up: it ran, wrote nothing and told nobody anything."""
        return self.event.executed and not self.event.written and not self.prose

    @property
    def spoke(self) -> bool:
        """Whether it only told somebody something."""
        return self.event.executed and not self.event.written and bool(self.prose)

    def arguments(self) -> frozenset[Json]:
        """The single values in the call's arguments, except free text."""
        given = (value for name, value in self.event.arguments.items() if name not in self.prose)
        return frozenset(leaf for value in given for leaf in leaves(value))

    def wording(self) -> frozenset[Json]:
        """The free text in the call's arguments."""
        return frozenset(leaf for name in self.prose for leaf in leaves(self.event.arguments.get(name)))


@dataclass(frozen=True, slots=True, kw_only=True)
class SolutionTrace:
    """Calls that solve a task, one per turn."""

    steps: tuple[TraceStep, ...]
    """The steps in order, without the call that ended the episode."""
    answer: JsonObject
    """The agent's answer when it finished."""


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
    """`name`, or the first of name-2, name-3, ... that is not `taken`; the same in every task of a family."""
    names = set(taken)
    return next(n for n in (name, *(f"{name}-{i}" for i in range(2, len(names) + 3))) if n not in names)
