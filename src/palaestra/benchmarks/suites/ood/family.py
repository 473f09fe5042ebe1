"""Other task families: refusal twins, families similar to training families, and distant ones."""

from collections.abc import Sequence
from fractions import Fraction

from palaestra.benchmarks.evaluation.suite import Cell
from palaestra.benchmarks.statistics import Unit
from palaestra.benchmarks.suites.ood.axis import Axis
from palaestra.benchmarks.suites.ood.pool import TaskPool, families_of
from palaestra.benchmarks.suites.ood.wording import held_out_wording
from palaestra.envs.task import FIRST_INDEX

HANDBOOK = "handbook"
"""The table of a world's rules, if it has one."""


def family(pool: TaskPool) -> Axis:
    """The axis of families."""
    foreign = untrained_families(pool)
    twins = [name for name in foreign if pool.family(name).twin_of in pool.trained]
    others = sorted((name for name in foreign if name not in twins), key=lambda name: (distance(pool, name), name))
    middle = len(others) // 2
    return Axis.of(
        pool,
        "family",
        "Task families",
        [
            pool.base,
            held_out_wording(pool),
            _cell(pool, "family/twins", "refusal twins of trained families", twins),
            _cell(pool, "family/near", "untrained families, the nearer half", others[:middle]),
            _cell(pool, "family/far", "untrained families, the farther half", others[middle:]),
        ],
        note="All but the first cell have the worlds and the wordings of heldout, so the second is what the others "
        "are read against. A family's distance is the share of its solution's steps (tools, and sections of the "
        "handbook that are read) that it does not share with the nearest family trained on: 1 less the Jaccard index.",
    )


def untrained_families(pool: TaskPool) -> list[str]:
    """The families of the held-out tasks that the agent was not trained on."""
    if "heldout" not in pool.task_set.splits:
        return []
    return [name for name in families_of(pool.task_set.ids("heldout")) if name not in pool.trained]


def _cell(pool: TaskPool, id: str, label: str, families: Sequence[str]) -> Cell:
    tasks = pool.even(pool.listed_tasks("heldout", sorted(families)))
    return pool.cell(id, label, tasks, split="heldout", unit=Unit.FAMILY)


def distance(pool: TaskPool, name: str) -> Fraction:
    """The distance of a family to the nearest training family, from 0 for the same steps to 1 for none in common."""
    own = steps(pool, name)
    return min(1 - Fraction(len(own & other), len(own | other)) for other in (steps(pool, f) for f in pool.trained))


def steps(pool: TaskPool, name: str) -> frozenset[str]:
    """The steps of a family's first listed solution: its tools, and the handbook sections that it reads."""
    splits = pool.family(name).splits
    first = FIRST_INDEX["heldout" if "heldout" in splits else splits[0]]
    oracle, toolbox = pool.instance(f"{name}/{first:04d}").oracle, pool.world.toolbox
    sections = {
        str(call.arguments.get(argument))
        for call in oracle
        for argument, table in toolbox[call.tool].references.items()
        if table == HANDBOOK
    }
    return frozenset({call.tool for call in oracle} | sections - {"None"})
