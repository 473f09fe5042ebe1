"""Other words for the same request; `docs/ood.md` says by what rules."""

from palaestra.benchmarks.evaluation.suite import Cell
from palaestra.benchmarks.statistics import Unit
from palaestra.benchmarks.suites.ood.axis import Axis, cell_under_switches
from palaestra.benchmarks.suites.ood.entities import held_out_records
from palaestra.benchmarks.suites.ood.pool import TaskPool
from palaestra.envs.kit import letters_of

RUNGS = (
    ("formal", "a formal letter"),
    ("casual", "casual, contracted, hardly a capital"),
    ("verbose", "long-winded, with unrelated context"),
    ("typos", "typing errors in a quarter of long words"),
    ("garbled", "long-winded, casual and with typing errors"),
)


HELD_OUT_WORDING = "wording/held-out"
"""The cell with which the axis of families is compared."""


def held_out_wording(pool: TaskPool) -> Cell:
    """The training families in the worlds and the wording of "heldout"."""
    tasks = pool.even(pool.listed_tasks("heldout-world", pool.trained))
    return pool.cell(HELD_OUT_WORDING, "held-out wordings", tasks, split="heldout-world", unit=Unit.WORLD)


def wording(pool: TaskPool) -> Axis:
    """The axis of wording."""
    return Axis.of(
        pool,
        "wording",
        "Wording",
        [
            pool.base,
            *(cell_under_switches(pool, f"wording/{name}", label, {"wording": name}) for name, label in RUNGS),
            *([held_out_records(pool), held_out_wording(pool)] if letters_of(pool.world.draft) else []),
        ],
        note="First the same tasks with the user's own prose rewritten by rule. Ids, numbers, days, names, addresses, "
        "quoted material and the terms in parentheses stay as they are, and what a user answers later is not "
        "rewritten. Held-out wordings are composed apart, for tasks of other worlds, and are read against held-out "
        "records: the same families, other worlds, the words of training.",
    )
