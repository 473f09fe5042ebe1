"""Other rules: the same tasks under changed handbooks, then worlds whose own rules are others."""

from palaestra.benchmarks.evaluation.suite import Cell
from palaestra.benchmarks.statistics import Unit
from palaestra.benchmarks.suites.ood.axis import Axis
from palaestra.benchmarks.suites.ood.pool import UNLISTED, TaskPool
from palaestra.envs.world import ALL_RULES_FROM, ONE_RULE_FROM

_SOME = 1
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
        pool.even(pool.listed("heldout-policy", pool.trained)),
        split="heldout-policy",
        unit=Unit.WORLD,
    )
    return Axis.of(
        pool,
        "policy",
        "Policy",
        [pool.base, one, some, worlds, every],
        note="The tasks in distribution, by id, in worlds whose past, handbook, tools and rubrics follow changed "
        "rules. A rule that a task does not turn on changes nothing of what is right in it. A few tasks do not exist "
        "under a handbook and are left out.",
    )


def _cell(pool: TaskPool, handbook: int, id: str, label: str) -> Cell:
    tasks = tuple(pool.playable(pool.base.tasks, handbook))
    return pool.cell(id, label, tasks, split=UNLISTED, switches={"handbook": handbook})
