"""What is measured on: cells, each a world as it is made and tasks of it, and ladders of cells from none to strong."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from palaestra.benchmarks.statistics import Unit
from palaestra.record import record


@record
class Cell:
    """Tasks that are played in one world under one set of switches, and reported together."""

    id: str
    """Within the suite: "noise/2", or "multi_turn_base"."""
    label: str
    """As it stands in tables and plots: "20 % of calls fail"."""
    env_id: str
    """As `gymnasium.make` knows it."""
    tasks: tuple[str, ...]
    switches: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What `gymnasium.make` takes besides."""
    unit: Unit = Unit.TASK
    """What a claim about the cell generalises over: other tasks of its families, other families, or other worlds."""
    split: str = ""
    """Which split the tasks are from, for the report's list of what was touched: "storefront/heldout"."""


@record
class Ladder:
    """An axis of shift: cells from none to strong. The first is in distribution; several ladders may begin with one."""

    axis: str
    title: str
    cells: tuple[str, ...]
    """Ids, from none to strong."""
    note: str = ""
    """What is shifted, in a sentence."""
    ordered: bool = True
    """Whether a later rung is a stronger shift; where not, the worst rung and the spread of all are reported."""


@record
class Suite:
    """A named collection of cells."""

    name: str
    title: str
    cells: tuple[Cell, ...]
    ladders: tuple[Ladder, ...] = ()
    notes: tuple[str, ...] = ()
    """What an honest reader must know: licences, versions, what is known to be broken, what was scripted."""
    versions: Mapping[str, str] = field(default_factory=dict[str, str])
    """Tasks that are versions of one, each with what it is a version of: scores take them together as one task."""
    known_bad: Mapping[str, str] = field(default_factory=dict[str, str])
    """Tasks that are held to be broken; scores are reported with and without them."""


def place(cell: Cell, suite: Suite) -> str:
    """What stands for a cell in a table: its label, after the title of its axis where it is a rung above the first."""
    axes = [ladder for ladder in suite.ladders if cell.id in ladder.cells]
    if not axes or any(cell.id == ladder.cells[0] for ladder in axes):
        return cell.label
    return f"{axes[0].title}: {cell.label}"
