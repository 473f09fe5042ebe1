"""The other half of a task's pair: the refusal twin of a task, or the task that it is the twin of."""

from functools import lru_cache
from typing import Any

from palaestra.envs.instance import Instance, instantiate
from palaestra.envs.task import Family
from palaestra.envs.world import World
from palaestra.errors import TaskError


def base_family(task: Instance) -> Family[Any]:
    """The family of a task, or of the task that it is the twin of."""
    name = task.family.twin_of or task.family.id
    return next(one for one in task.world.families if not isinstance(one, str) and one.id == name)


def other_half(task: Instance) -> Instance | None:
    """The task's refusal twin, or the task that it is the twin of; `None` where it has none."""
    base = base_family(task)
    if not base.twin:
        return None
    family = base if task.family.twin_of is not None else base.twins()
    try:
        return instance_of(task.world, family, int(task.spec.id.rpartition("/")[2]), task.handbook)
    except TaskError:
        return None


@lru_cache(maxsize=256)
def instance_of(world: World, family: Family[Any], index: int, handbook: int = 0) -> Instance:
    """An instance, made once.

    Raises:
        TaskError: the family cannot make it.
    """
    return instantiate(world, family, index, handbook=handbook)
