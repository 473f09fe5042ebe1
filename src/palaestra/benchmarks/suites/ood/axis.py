"""One axis of shift: the cells that it adds, and the ladder that orders them."""

from collections.abc import Mapping, Sequence
from typing import Any

from palaestra.benchmarks.evaluation.suite import Cell, Ladder
from palaestra.benchmarks.suites.ood.pool import UNLISTED, TaskPool
from palaestra.record import record


@record
class Axis:
    """The result of an axis: its cells and ladder."""

    ladder: Ladder
    cells: tuple[Cell, ...]
    """Every cell of the ladder with tasks, including shared ones."""

    @classmethod
    def of(
        cls, pool: TaskPool, name: str, title: str, cells: Sequence[Cell], *, note: str, ordered: bool = True
    ) -> "Axis":
        """The axis whose ladder has these cells, from none to strong; cells without a task are left out."""
        kept = tuple(cell for cell in cells if cell.tasks)
        ladder = Ladder(
            axis=f"{pool.prefix}{name}",
            title=pool.title(title),
            cells=tuple(cell.id for cell in kept),
            note=note,
            ordered=ordered,
        )
        return cls(ladder=ladder, cells=kept)


def cell_under_switches(pool: TaskPool, id: str, label: str, switches: Mapping[str, Any]) -> Cell:
    """The in-distribution tasks with some switches, so that only the switches differ."""
    return pool.cell(id, label, pool.base.tasks, split=UNLISTED, switches=switches)
