"""The families from which tasks are drawn. Axes: A families, F features."""

from collections.abc import Mapping, Sequence
from itertools import islice

import numpy as np
import numpy.typing as npt

from palaestra.record import record
from palaestra.trainers.data.order import Share


@record
class TaskFamily:
    """A family of tasks in one of a run's worlds."""

    reference: str
    """The reference of its tasks without the index: "storefront/refund", "noisy:storefront/refund"."""
    level: int
    """The level, 1 to 3; 0 if the world states none."""
    tasks: tuple[str, ...]
    """The references of the listed tasks, in order."""
    weight: float
    """The share of draws without known solve rates, relative to other families: the world's weight, evenly divided."""

    @property
    def world(self) -> str:
        """The name of the world in references."""
        return self.reference.partition("/")[0]


def group_families(tasks: Sequence[str], shares: Sequence[Share], levels: Mapping[str, int]) -> tuple[TaskFamily, ...]:
    """The families of a run's tasks, sorted by their references.

    Args:
        tasks: References of tasks, world by world.
        shares: The number of tasks of each world, and the world's weight; by default all tasks are of one world.
        levels: The levels of families by their references; a missing level counts as 0.
    """
    found: list[TaskFamily] = []
    left = iter(tasks)
    for share in shares or [Share(count=len(tasks), weight=1.0)]:
        own: dict[str, list[str]] = {}
        for task in sorted(islice(left, share.count)):
            own.setdefault(task.rpartition("/")[0], []).append(task)
        found += [
            TaskFamily(
                reference=reference, level=levels.get(reference, 0), tasks=tuple(ids), weight=share.weight / len(own)
            )
            for reference, ids in own.items()
        ]
    return tuple(sorted(found, key=lambda family: family.reference))


def feature_matrix(families: Sequence[TaskFamily]) -> npt.NDArray[np.float64]:
    """The features of each family that are known before it is tried, [A, F]: 1 at itself, its world and its level.

    So the estimate for an untried family equals that of others with its world and level.
    """
    columns = [
        *(("family", family.reference) for family in families),
        *(("world", world) for world in sorted({family.world for family in families})),
        *(("level", str(level)) for level in sorted({family.level for family in families})),
    ]
    rows = [
        {("family", family.reference), ("world", family.world), ("level", str(family.level))} for family in families
    ]
    return np.array([[float(column in row) for column in columns] for row in rows], dtype=np.float64)
