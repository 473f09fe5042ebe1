"""Other entities: worlds with other customers, orders, prices and days, for training families."""

from palaestra.benchmarks.evaluation.suite import Cell
from palaestra.benchmarks.statistics import Unit
from palaestra.benchmarks.suites.ood.axis import Axis
from palaestra.benchmarks.suites.ood.pool import TaskPool

HELD_OUT_RECORDS = "entities/held-out-records"
"""The cell with which the axis of wording is compared if requests have held-out wording."""


def held_out_records(pool: TaskPool) -> Cell:
    """The training families in the wording of training, in new worlds."""
    tasks = pool.even(pool.listed_tasks("heldout-records", pool.trained))
    return pool.cell(HELD_OUT_RECORDS, "held-out records", tasks, split="heldout-records", unit=Unit.WORLD)


def entities(pool: TaskPool) -> Axis:
    """The axis of entities."""
    listed = pool.even(pool.listed_tasks("dev", pool.trained))
    dev = pool.cell("entities/dev-worlds", "worlds of the split dev", listed, split="dev", unit=Unit.WORLD)
    return Axis.of(
        pool,
        "entities",
        "Entities",
        [pool.base, dev, held_out_records(pool)],
        note="Families that were trained on. First in the worlds of training, then in worlds of other seeds: "
        "other people, orders, prices, stocks and days, drawn as those of training were. Requests "
        "have the words of training. Worlds of dev and of heldout-records are equally far; dev is what a training run "
        "may have been watched on.",
    )
