"""Other entities: worlds with other customers, orders, prices and days, for families that were trained on."""

from palaestra.benchmarks.evaluation.suite import Cell
from palaestra.benchmarks.statistics import Unit
from palaestra.benchmarks.suites.ood.axis import Axis
from palaestra.benchmarks.suites.ood.pool import TaskPool

HELD_OUT_WORLDS = "entities/held-out-worlds"
"""The cell that the axis of families is read against."""


def held_out_worlds(pool: TaskPool) -> Cell:
    """The families that were trained on, in the worlds of "heldout"."""
    tasks = pool.even(pool.listed("heldout-world", pool.trained))
    return pool.cell(HELD_OUT_WORLDS, "held-out worlds", tasks, split="heldout-world", unit=Unit.WORLD)


def entities(pool: TaskPool) -> Axis:
    """The axis of entities."""
    listed = pool.even(pool.listed("dev", pool.trained))
    dev = pool.cell("entities/dev-worlds", "worlds of the split dev", listed, split="dev", unit=Unit.WORLD)
    return Axis.of(
        pool,
        "entities",
        "Entities",
        [pool.base, dev, held_out_worlds(pool)],
        note="Families that were trained on. First in the worlds of training, then in worlds of other seeds: "
        "other people, orders, prices, stocks and days, drawn as those of training were. Worlds of dev and of "
        "heldout are equally far; dev is what a training run may have been watched on.",
    )
