"""Suites: cells, each a world with switches and some of its tasks, and ladders of cells from none to strong."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from palaestra.benchmarks.statistics import Unit
from palaestra.record import record


@record
class Cell:
    """Tasks that are played in one world with one set of switches, and reported together."""

    id: str
    """The id within the suite: "noise/2", or "multi_turn_base"."""
    label: str
    """The label in tables and plots: "20 % of calls fail"."""
    env_id: str
    """The environment id for `gymnasium.make`."""
    tasks: tuple[str, ...]
    switches: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Further arguments of `gymnasium.make`."""
    unit: Unit = Unit.TASK
    """The unit that a claim about the cell generalises over: other tasks of its families, other families, or worlds."""
    split: str = ""
    """The split of the tasks, for the report's list of used splits: "storefront/heldout"."""


@record
class Ladder:
    """An axis of shift: cells from none to strong. The first is in distribution; several ladders may begin with one."""

    axis: str
    title: str
    cells: tuple[str, ...]
    """The ids of the cells, from none to strong."""
    note: str = ""
    """A sentence about what is shifted."""
    ordered: bool = True
    """Whether a later rung is a stronger shift; if not, the worst rung and the spread of all are reported."""


@record
class Suite:
    """A named collection of cells."""

    name: str
    title: str
    cells: tuple[Cell, ...]
    ladders: tuple[Ladder, ...] = ()
    notes: tuple[str, ...] = ()
    """Notes for readers: licences, versions, known defects, scripted parts."""
    versions: Mapping[str, str] = field(default_factory=dict[str, str])
    """Tasks that are versions of another, each with that task; scores treat them as one task."""
    known_bad: Mapping[str, str] = field(default_factory=dict[str, str])
    """Tasks that are known to be broken; scores are reported with and without them."""


def place(cell: Cell, suite: Suite) -> str:
    """The name of a cell in a table: its label, preceded by the title of its axis for a rung above the first."""
    axes = [ladder for ladder in suite.ladders if cell.id in ladder.cells]
    if not axes or any(cell.id == ladder.cells[0] for ladder in axes):
        return cell.label
    return f"{axes[0].title}: {cell.label}"
