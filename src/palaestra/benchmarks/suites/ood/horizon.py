"""Longer tasks: bins by the number of calls that the solution takes."""

from palaestra.benchmarks.evaluation.suite import Cell
from palaestra.benchmarks.statistics import Unit
from palaestra.benchmarks.suites.ood.axis import Axis
from palaestra.benchmarks.suites.ood.pool import UNLISTED, TaskPool

BINS = (
    ("horizon/short", "up to 7 calls", 0, 7),
    ("horizon/medium", "8 to 10 calls", 8, 10),
    ("horizon/long", "11 to 14 calls", 11, 14),
    ("horizon/longest", "15 calls and more", 15, 1_000),
)
_PER_BIN = 60


def horizon(pool: TaskPool) -> Axis:
    """The axis of horizon."""
    return Axis.of(
        pool,
        "horizon",
        "Horizon",
        [pool.base, *(_bin(pool, id, label, low, high) for id, label, low, high in BINS)],
        note="Fresh tasks in train's worlds by the calls of their shortest stated solution, of families that were "
        "trained on where there are such tasks, else of other families of the split train, and then the label says "
        "so. Longer tasks are of other families too, so length is not all that differs between the bins.",
    )


def _bin(pool: TaskPool, id: str, label: str, low: int, high: int) -> Cell:
    def fits(task: str) -> bool:
        return low <= pool.instance(task).spec.oracle_calls <= high

    def gather_tasks(families: tuple[str, ...]) -> tuple[str, ...]:
        able = [f for f in families if any(fits(task) for task in pool.listed_tasks("train", [f])[:3])]
        return pool.fresh(able, about=_PER_BIN, where=fits)

    tasks = gather_tasks(pool.trained)
    if not tasks:
        tasks = gather_tasks(tuple(f for f in pool.trainable if f not in pool.trained))
        label = f"{label}, untrained families"
    return pool.cell(id, label, tasks, split=UNLISTED, unit=Unit.FAMILY)
