"""Plans that are functions of an index, and rules against their own words."""

from dataclasses import replace
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.errors import ConfigError, TaskError
from palaestra.trainers.rollouts.groups import Fate, GroupRule, OpenGroup, TaskPlan
from palaestra.trajectory import Episode
from rollouts.library import shown

PLAN = TaskPlan(["c", "a", "b"], size=4, seed=7)
FATES = st.lists(st.sampled_from(["finished", "failed", "straggled", None]), min_size=4, max_size=4)


@given(st.lists(st.integers(0, 40), max_size=8), st.integers(0, 99))
def test_a_group_depends_on_its_index_alone(indices: list[int], seed: int) -> None:
    def plan() -> TaskPlan:
        return TaskPlan(["b", "a", "c"], size=2, seed=seed)

    asked = plan()
    assert [asked.group(index) for index in indices] == [plan().group(index) for index in indices]


def test_every_task_comes_once_before_any_comes_again() -> None:
    tasks = [PLAN.group(index)[0].task for index in range(9)]
    assert [sorted(tasks[at : at + 3]) for at in (0, 3, 6)] == [["a", "b", "c"]] * 3


def test_a_groups_jobs_share_task_world_and_name_and_nothing_else() -> None:
    for index in range(5):
        jobs = [*PLAN.group(index), *(PLAN.further(index, number) for number in range(3))]
        assert len({(job.task, job.seed, job.group) for job in jobs}) == 1
        assert len({job.noise for job in jobs}) == len({job.trajectory for job in jobs}) == len(jobs)


def test_no_two_trajectories_of_any_groups_seeds_or_names_share_noise() -> None:
    plans = [TaskPlan("ab", size=3, seed=seed, name=name) for seed in (0, 1) for name in ("train", "eval")]
    jobs = list(chain.from_iterable(plan.group(index) for plan in plans for index in range(6)))
    assert len({job.noise for job in jobs}) == len(jobs)
    assert len({(job.trajectory, job.noise) for job in jobs}) == len(jobs)


def test_a_plan_without_tasks_or_trajectories_is_refused() -> None:
    with pytest.raises(TaskError, match="there is no task to play; give a split"):
        TaskPlan([], size=2, seed=0)
    with pytest.raises(ConfigError, match="size = 0: a group must have at least 1"):
        TaskPlan(["a"], size=0, seed=0)


def _grown(rule: GroupRule, fates: list[Fate | None]) -> OpenGroup:
    growing = OpenGroup(0, 0, PLAN, rule)
    for member, fate in zip(growing.members, fates, strict=True):
        member.fate = fate
        member.episode = _episode(member.job.trajectory) if fate == "finished" else None
    return growing


def _episode(trajectory: str) -> Episode:
    return replace(shown()[0], id=trajectory)


@given(FATES)
def test_complete_needs_everybody(fates: list[Fate | None]) -> None:
    verdict = _grown(GroupRule(), fates).verdict()
    assert verdict == ("broken" if {"failed", "straggled"} & set(fates) else "growing" if None in fates else "complete")


@given(FATES, st.integers(1, 5))
def test_partial_waits_for_everybody_and_needs_the_minimum(fates: list[Fate | None], minimum: int) -> None:
    verdict = _grown(GroupRule(kind="partial", minimum=minimum), fates).verdict()
    if fates.count("finished") + fates.count(None) < minimum:
        assert verdict == "broken"
    else:
        assert verdict == ("growing" if None in fates else "complete")


@given(st.lists(st.booleans(), min_size=20, max_size=20), st.integers(0, 5))
def test_top_up_replaces_each_that_failed_until_its_extras_are_spent(fails: list[bool], extras: int) -> None:
    growing = OpenGroup(3, 0, PLAN, GroupRule(kind="top_up", extras=extras))
    ends = iter(fails)
    while growing.verdict() == "growing":
        member = growing.under_way[0]
        member.fate = "failed" if next(ends) else "finished"
        while growing.top_up() is not None:
            pass
    failed = growing.count("failed")
    assert growing.verdict() == ("complete" if failed <= extras else "broken")
    assert len(growing.members) == growing.size + min(failed, extras)
    assert [member.job for member in growing.members[4:]] == [
        PLAN.further(3, number) for number in range(len(growing.members) - 4)
    ]


@given(FATES)
def test_a_group_keeps_what_finished_in_the_order_of_its_jobs_and_counts_the_rest(fates: list[Fate | None]) -> None:
    growing = _grown(GroupRule(kind="partial"), fates)
    group = growing.group()
    finished = [member.job.trajectory for member in growing.members if member.fate == "finished"]
    assert [episode.id for episode in group.episodes] == finished
    assert (group.failed, group.straggled) == (fates.count("failed"), fates.count("straggled"))


@given(FATES, st.integers(2, 4))
def test_those_who_are_slow_are_stragglers_once_enough_have_finished(fates: list[Fate | None], enough: int) -> None:
    assert not _grown(GroupRule(kind="partial"), fates).enough()
    growing = _grown(GroupRule(kind="partial", enough=enough), fates)
    assert growing.enough() == (fates.count("finished") >= enough)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: GroupRule(minimum=0), "minimum = 0"),
        (lambda: GroupRule(kind="top_up", extras=-1), "extras = -1"),
        (lambda: GroupRule(enough=3), 'enough = 3 cuts off slow trajectories, which only kind = "partial" allows'),
        (lambda: GroupRule(kind="partial", minimum=3, enough=2), "enough = 2: it must be at least minimum = 3"),
        (lambda: GroupRule(kind="partial", enough=2, straggler_seconds=-1.0), "straggler_seconds = -1.0"),
    ],
)
def test_a_rule_that_contradicts_itself_is_refused(wrong: type[GroupRule], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        wrong()
