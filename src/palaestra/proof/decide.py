"""Finds the tasks of "heldout-policy": for each, a handbook that decides it and, if possible, its refusal twin.

A family gets as many indices as the split lists per family, and as many again for refusals, since a changed rule shows
more often in granted requests. If a rule decides none of these tasks, further indices are searched for one.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from palaestra.envs import Instance, TaskSet, instantiate
from palaestra.envs.rule_twin import (
    deciding_rules,
    handbook_variants,
    is_decided,
    relevant_handbooks,
    rule_twin,
    rules_asked_for,
)
from palaestra.envs.task import FIRST_INDEX, Family
from palaestra.envs.taskset import POLICY_SPLIT
from palaestra.errors import TaskError
from palaestra.record import record
from palaestra.seeding import Stream

_PATIENCE = 8
"""How many further handbooks are tried to decide both a task and its twin, once one decides either."""
_FURTHER = 6
"""How many further indices of a family are searched for a rule that does not decide a task yet."""


@record
class DecidedTask:
    """A task that its handbook decides."""

    task: str
    handbook: int
    rules: tuple[str, ...]
    """The changed rules, each of which decides it."""
    refusal: bool


def decide_tasks(task_set: TaskSet) -> Mapping[str, int]:
    """The tasks that a changed handbook decides, with the number of the handbook.

    A task and its twin get one handbook: the first that decides both, or else the first that decides either.
    """
    families = [f for f in task_set.families.values() if f.twin_of is None and POLICY_SPLIT in f.splits]
    first, count = FIRST_INDEX[POLICY_SPLIT], task_set.world.instances.get(POLICY_SPLIT, 0)
    found: list[DecidedTask] = []
    for index in range(first, first + count):
        for family in families:  # index by index, since a world keeps only its latest populations
            found += _decide([family, family.twins()] if family.twin else [family], index, task_set)
    refusals = [kind for f in families for kind in ([f.twins()] if f.twin else [f]) if "refusal" in kind.traits]
    for index in range(first + count, first + 2 * count):
        for kind in refusals:
            found += _decide([kind], index, task_set)
    found += _cover(families, range(first + 2 * count, first + 2 * count + _FURTHER), found, task_set)
    return {one.task: one.handbook for one in found}


def tasks_by_rule(found: Sequence[DecidedTask]) -> Counter[str]:
    """How many tasks each rule decides."""
    return Counter(name for one in found for name in one.rules)


def _decide(kinds: Sequence[Family[Any]], index: int, task_set: TaskSet) -> list[DecidedTask]:
    """The decided tasks of one index of a family, of its twins, or of both under one handbook."""
    found: dict[tuple[bool, ...], list[DecidedTask]] = {}
    left = _PATIENCE
    for number in _shuffle(kinds, index, task_set):
        made = [_try_handbook(kind, index, number, task_set) for kind in kinds]
        found.setdefault(tuple(one is not None for one in made), [one for one in made if one is not None])
        left -= any(found.values())
        if all(made) or not left:
            break
    return found[max(found)] if found else []


def _cover(
    families: Sequence[Family[Any]], indices: Sequence[int], found: Sequence[DecidedTask], task_set: TaskSet
) -> Iterator[DecidedTask]:
    """A task for each rule that decides none of those found, if further indices have one."""
    variants = handbook_variants(task_set.world)
    counts = tasks_by_rule(found)
    missing = [] if variants is None else [name for name in sorted(variants.changes) if not counts[name]]
    for name in missing:
        decided = next(_deciding(families, indices, name, task_set), None)
        if decided is not None:
            yield decided


def _deciding(
    families: Sequence[Family[Any]], indices: Sequence[int], rule: str, task_set: TaskSet
) -> Iterator[DecidedTask]:
    variants = handbook_variants(task_set.world)
    assert variants is not None, "it has rules to change"
    for index in indices:
        for family in families:
            for kind in [family, family.twins()] if family.twin else [family]:
                if rule not in rules_asked_for(task_set.world, kind, index):
                    continue
                for number in _shuffle([kind], index, task_set):
                    if rule in variants.list_changes(variants(0, number)):
                        one = _try_handbook(kind, index, number, task_set)
                        if one is not None and rule in one.rules:
                            yield one


def _shuffle(kinds: Sequence[Family[Any]], index: int, task_set: TaskSet) -> list[int]:
    numbers = {number for kind in kinds for number in relevant_handbooks(task_set.world, kind, index, 1)}
    return Stream.root("decide", kinds[0].id, index).permutation(sorted(numbers))


def _try_handbook(kind: Family[Any], index: int, number: int, task_set: TaskSet) -> DecidedTask | None:
    task = _try_instance(kind, index, number, task_set)
    if task is None or not is_decided(task, rule_twin(task)):
        return None
    refusal = "refusal" in kind.traits
    return DecidedTask(task=task.spec.id, handbook=number, rules=deciding_rules(task), refusal=refusal)


def _try_instance(kind: Family[Any], index: int, number: int, task_set: TaskSet) -> Instance | None:
    try:
        return instantiate(task_set.world, kind, index, handbook=number)
    except TaskError:
        return None
