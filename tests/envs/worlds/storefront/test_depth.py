"""How deep the tasks are: what they change, how many calls they take, how many sections of the handbook they need."""

from collections.abc import Callable, Iterator
from functools import cache
from statistics import median

import pytest

from palaestra.envs import Instance, TaskSet, bundled_tasks, open_world
from palaestra.envs.task import Split
from palaestra.rubrics import Criterion

pytestmark = [pytest.mark.xdist_group("storefront"), pytest.mark.unmeasured]

SPLITS: tuple[Split, ...] = ("train", "dev", "heldout")
CLOSING = frozenset({"tickets"})
"""What every case changes in its end."""


@cache
def tasks() -> TaskSet:
    return bundled_tasks(open_world("storefront"))


@cache
def measured() -> tuple[tuple[Instance, int], ...]:
    """The first task of every family in every split, and how many tasks of it the split has."""
    found: dict[tuple[str, Split], list[str]] = {}
    for split in SPLITS:
        for task in tasks().candidates(split):
            found.setdefault((task.rpartition("/")[0], split), []).append(task)
    return tuple((tasks().instance(first), 1 + len(rest)) for first, *rest in found.values())


def share(holds: Callable[[Instance], bool], of: Callable[[Instance], bool] = lambda _: True) -> float:
    """The share of the tasks `of` that kind for which it `holds`, in percent."""
    counted = [(holds(instance), times) for instance, times in measured() if of(instance)]
    return 100 * sum(times for held, times in counted if held) / sum(times for _, times in counted)


def is_granted(instance: Instance) -> bool:
    return "refusal" not in instance.spec.traits


def expectations(instance: Instance) -> Iterator[Criterion]:
    return (criterion for criterion in instance.rubric.criteria if criterion.kind == "expect")


def changes_rows(instance: Instance) -> bool:
    """Whether the task expects a change beside the end of its case."""
    expected = {change.table for criterion in expectations(instance) for change in criterion.allows}
    return bool(expected - CLOSING)


def sections_needed(instance: Instance) -> set[str]:
    """The sections of the handbook that the task expects to be read, by the ids of those criteria."""
    return {criterion.id for criterion in expectations(instance) if criterion.id.startswith("read-")}


def test_most_tasks_that_are_not_refusals_change_more_than_the_case() -> None:
    assert share(changes_rows, of=is_granted) >= 85


def test_the_median_of_the_hardest_tasks_takes_twelve_calls() -> None:
    calls = [len(i.oracle) for i, times in measured() if i.spec.level == 3 for _ in range(times)]
    assert median(calls) >= 12


def test_a_third_of_the_tasks_needs_several_sections_of_the_handbook() -> None:
    assert share(lambda instance: len(sections_needed(instance)) >= 2) >= 100 / 3


def test_four_families_wait_for_days() -> None:
    waiting = {i.spec.family for i, _ in measured() if any(c.tool == "wait_days" for c in i.oracle)}
    assert len({family.removesuffix("-twin") for family in waiting}) >= 4
    assert all(i.later for i, _ in measured() if i.spec.family in waiting)
