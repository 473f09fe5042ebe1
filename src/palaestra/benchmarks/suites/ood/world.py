"""Other worlds: held-out tasks of training worlds, then of other worlds."""

from collections.abc import Sequence
from dataclasses import replace

from palaestra.benchmarks.evaluation.suite import Ladder
from palaestra.benchmarks.statistics import Unit
from palaestra.benchmarks.suites.ood.axis import Axis
from palaestra.benchmarks.suites.ood.pool import TaskPool

NAME = "world"


def world_axis(pools: Sequence[TaskPool], trained: frozenset[str]) -> Axis:
    """The axis of worlds, over several worlds.

    Args:
        pools: The worlds' tasks, training worlds first.
        trained: The ids of the training worlds.
    """
    first = pools[0]
    cells = [first.base]
    for pool in pools:
        name = pool.world.name
        label = f"{name}, held out" if name in trained else f"{name}, never trained in"
        tasks = pool.even(pool.listed_tasks("heldout", pool.trained))
        cells.append(replace(pool.cell(NAME, label, tasks, split="heldout", unit=Unit.FAMILY), id=f"{NAME}/{name}"))
    kept = tuple(cell for cell in cells if cell.tasks)
    note = (
        "Held-out tasks of every world, first of those that were trained in. Worlds differ in their records, "
        "tools, rules and requests at once, so a difference says that something did not carry over, and not what."
    )
    return Axis(ladder=Ladder(axis=NAME, title="Worlds", cells=tuple(cell.id for cell in kept), note=note), cells=kept)
