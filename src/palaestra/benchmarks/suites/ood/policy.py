"""Other rules: tasks that a changed handbook decides, first in training worlds, then in other worlds."""

from palaestra.benchmarks.evaluation.suite import Cell
from palaestra.benchmarks.statistics import Unit
from palaestra.benchmarks.suites.ood.axis import Axis
from palaestra.benchmarks.suites.ood.pool import UNLISTED, TaskPool
from palaestra.envs.world import ALL_RULES_FROM, ONE_RULE_FROM

_SOME = 1
_PER_CELL = 120
"""The approximate number of tasks per cell without a limit."""
_HANDBOOKS = (
    (ONE_RULE_FROM, "policy/one-rule", "one rule changed"),
    (_SOME, "policy/some-rules", "several rules changed"),
    (ALL_RULES_FROM, "policy/all-rules", "every changeable rule changed"),
)


def policy(pool: TaskPool) -> Axis:
    """The axis of the company's policy."""
    one, some, every = (_cell(pool, handbook, id, label) for handbook, id, label in _HANDBOOKS)
    worlds = pool.cell(
        "policy/other-worlds",
        "several rules changed, and other worlds",
        pool.even(pool.listed_tasks("heldout-policy", pool.trained)),
        split="heldout-policy",
        unit=Unit.WORLD,
    )
    return Axis.of(
        pool,
        "policy",
        "Policy",
        [pool.base, one, some, worlds, every],
        note="Tasks of the trained families in the worlds of training, whose past, handbook, tools and rubrics follow "
        "changed rules. Each task has the first handbook of its kind that decides it: with the same request and the "
        "same records, the answer that is right by the default handbook is wrong. Tasks that no handbook decides are "
        "left out.",
    )


def _cell(pool: TaskPool, handbook: int, id: str, label: str) -> Cell:
    tasks = pool.fresh(pool.decidable, about=_PER_CELL, where=lambda task: pool.is_decided(task, handbook))
    return pool.cell(id, label, tasks, split=UNLISTED, switches={"handbook": handbook})
