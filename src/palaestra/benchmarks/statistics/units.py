"""Units of resampling, over which a claim generalises, and observations with the units that they belong to.

A claim about families must hold for families that were not sampled, so its sample size is the number of families. A
claim about worlds counts worlds, and a claim about training counts training seeds. A claim about tasks of given
families counts tasks within these families.
"""

import math
from collections import Counter
from collections.abc import Iterable
from enum import StrEnum

from palaestra.record import record


class Unit(StrEnum):
    """The unit that would be sampled again if a claim were tested again."""

    TASK = "task"
    """Other tasks of the same families. Families are fixed: they are strata."""
    FAMILY = "family"
    WORLD = "world"
    TRAINING_SEED = "training seed"

    def format_count(self, count: int) -> str:
        """The number with its noun: "1 family", "21 families"."""
        plural = "families" if self is Unit.FAMILY else f"{self}s"
        return f"{count:,} {self if count == 1 else plural}"


@record
class Observation:
    """One value, such as an episode's score, and the units that it belongs to."""

    value: float
    task: str
    family: str = ""
    world: str = ""
    """The world's seed, or its name where a claim is about several worlds."""
    training_seed: int = 0

    def key(self, unit: Unit) -> str:
        """The id of the unit that the observation belongs to."""
        if unit is Unit.TRAINING_SEED:
            return str(self.training_seed)
        return {Unit.TASK: self.task, Unit.FAMILY: self.family, Unit.WORLD: self.world}[unit]


def unit_means(observations: Iterable[Observation], unit: Unit) -> dict[str, float]:
    """The mean of each unit: the mean over its tasks of the means of each task's values.

    Units are in alphabetical order, and sums are exact, so that the result does not depend on the order of
    observations.

    Raises:
        ValueError: there are no observations, or a value is not finite.
    """
    tasks: dict[str, dict[str, list[float]]] = {}
    for one in observations:
        if not math.isfinite(one.value):
            raise ValueError(f"task {one.task!r} holds {one.value}; every value must be a finite number")
        tasks.setdefault(one.key(unit), {}).setdefault(one.task, []).append(one.value)
    if not tasks:
        raise ValueError("no observations: a mean needs one at least")
    return {key: mean(mean(values) for values in tasks[key].values()) for key in sorted(tasks)}


def strata(observations: Iterable[Observation], unit: Unit) -> dict[str, str]:
    """The stratum of each unit: a task's family; other units share one stratum.

    A family with a single task has no variance of its own, so such families form one stratum together.
    """
    if unit is not Unit.TASK:
        return {one.key(unit): "" for one in observations}
    families = dict(sorted({(one.task, one.family) for one in observations}, reverse=True))  # of two, the first by name
    sizes = Counter(families.values())
    alone = {family for family, size in sizes.items() if size == 1}
    if len(alone) == 1:  # a stratum of one unit has no variance, so all tasks form one stratum
        return dict.fromkeys(families, "")
    return {task: "" if family in alone else f"family {family}" for task, family in families.items()}


def mean(values: Iterable[float]) -> float:
    """The mean, with an exact sum."""
    own = list(values)
    return math.fsum(own) / len(own)
