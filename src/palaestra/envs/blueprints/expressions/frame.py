"""What an expression is evaluated on, and what the evaluation has read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Protocol

from palaestra.envs.kit.calculation import Operation
from palaestra.protocols import R
from palaestra.records import Json, Row


class RowSource(Protocol):
    """Rows by class: a world's state, or what has been drawn of one."""

    def get(self, kind: type[R], key: str) -> R:
        """The row of an id."""
        ...

    def find(self, kind: type[R], /, **equal: Json) -> list[R]:
        """The rows whose columns have these values."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """A set of rows that was gone through: those of a table whose columns have these values."""

    entity: str
    equal: tuple[tuple[str, Json], ...]
    keys: tuple[str, ...]
    """The ids of the rows that were found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calculation:
    """A value that was worked out of others."""

    operation: Operation
    values: tuple[int, ...]


@dataclass(slots=True)
class EvaluationTrace:
    """What an evaluation has read, in order: what has to be known to come to its result."""

    cells: dict[tuple[str, str], dict[str, None]] = field(default_factory=dict[tuple[str, str], dict[str, None]])
    """By entity and id: the columns."""
    steps: list["Scan | tuple[str, str]"] = field(default_factory=list["Scan | tuple[str, str]"])
    """The sets of rows that were gone through, and the rows of which something was read, in order."""
    rules: dict[str, None] = field(default_factory=dict[str, None])
    calculations: list[Calculation] = field(default_factory=list[Calculation])

    def read(self, entity: str, key: str, column: str) -> None:
        """Note that a column of a row was read."""
        if (entity, key) not in self.cells:
            self.cells[entity, key] = {}
            self.steps.append((entity, key))
        self.cells[entity, key][column] = None

    def columns_of(self, entity: str, key: str) -> tuple[str, ...]:
        """The columns of a row that were read."""
        return tuple(self.cells.get((entity, key), ()))

    def scan(self, scan: Scan) -> None:
        """Note that rows were gone through, by the columns whose values chose them."""
        if scan not in self.steps:
            self.steps.append(scan)
        for key in scan.keys:
            for column, _ in scan.equal:
                self.read(scan.entity, key, column)


@dataclass(slots=True, kw_only=True)
class Frame:
    """The rows, the rules and the values of names."""

    state: RowSource
    kinds: Mapping[str, type[Row]]
    """The row class of each entity."""
    rules: Any
    """Has an attribute for each rule. Any: its class is made from the blueprint."""
    today: date
    names: dict[str, Any]
    """A row stands as its id. Any: a value of whatever type its expression has."""
    trace: EvaluationTrace | None = None
