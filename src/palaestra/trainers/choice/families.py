"""The families that tasks are drawn from. Axes: A families, F features."""

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
    """The references of its tasks without their index: "storefront/refund", "noisy:storefront/refund"."""
    level: int
    """1 to 3; 0 where the world does not say."""
    tasks: tuple[str, ...]
    """The references that are listed, in order."""
    weight: float
    """Its share of draws where solve rates say nothing, relative to the others: its world's, evenly divided."""

    @property
    def world(self) -> str:
        """The name of its world in references."""
        return self.reference.partition("/")[0]


def group_families(tasks: Sequence[str], shares: Sequence[Share], levels: Mapping[str, int]) -> tuple[TaskFamily, ...]:
    """The families of a run's tasks, in order of their references.

    Args:
        tasks: References, world by world.
        shares: How many of them are each world's, and its weight; all of one if left out.
        levels: Of families by their references; 0 where one is missing.
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
    """What is known of each family before it was tried, [A, F]: 1 at itself, at its world and at its level.

    So a family that was never tried is expected to be like others of its world and level.
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
