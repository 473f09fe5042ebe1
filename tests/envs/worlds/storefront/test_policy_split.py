"""The split of changed rules: each task is decided by its handbook, with the request and the records unchanged."""

from collections import Counter
from functools import cache

import gymnasium as gym
import pytest

from palaestra.envs import Instance, ToolEnv
from palaestra.envs.rule_twin import deciding_rules, is_same_case, rule_twin, solves
from palaestra.envs.worlds.storefront.policy import POLICY
from palaestra.envs.worlds.storefront.rules import CHANGES, rules
from palaestra.proof import attack_tasks

pytestmark = [pytest.mark.xdist_group("storefront"), pytest.mark.unmeasured]

SPLIT = "heldout-policy"


@cache
def env() -> ToolEnv:
    made = gym.make("palaestra/Storefront-v0", split=SPLIT).unwrapped
    assert isinstance(made, ToolEnv)
    return made


@cache
def listed() -> tuple[str, ...]:
    """The tasks that the split has, released or not."""
    return env().task_set.candidates(SPLIT)


def task_of(task_id: str) -> Instance:
    return env().task_set.instance(task_id)


@cache
def rules_that_decide(task_id: str) -> tuple[str, ...]:
    return deciding_rules(task_of(task_id))


@cache
def twin_of(task_id: str) -> Instance | None:
    return rule_twin(task_of(task_id))


def test_there_are_at_least_24_handbooks_and_all_of_them_change_more_than_constants() -> None:
    assert len({task_of(task).handbook for task in listed()}) >= 24
    assert len({repr(task_of(task).rules) for task in listed()}) >= 24
    assert all(task_of(task).rules != POLICY for task in listed())
    choices = ("window_from", "lost_remedy", "asked_first", "worked_ticket", "wrong_charge", "replaced_faults")
    exceptions = ("fee_free_tiers", "final_sale_tiers", "match_with_promotion", "bundle_claws_back")
    for kind in (choices, exceptions):
        changed = [sum(getattr(rules(0, n), name) != getattr(POLICY, name) for name in kind) for n in range(1, 33)]
        assert sum(count > 0 for count in changed) >= 24


@pytest.mark.parametrize("place", range(6))
def test_following_the_default_rules_is_wrong_on_the_same_request_and_records(place: int) -> None:
    for task_id in listed()[place::6]:
        task, twin = task_of(task_id), twin_of(task_id)
        assert twin is not None, task_id
        assert is_same_case(task, twin), task_id
        assert task.messages == twin.messages
        assert task.initial_state.state_hash() == twin.initial_state.state_hash()
        assert (task.rules != POLICY, twin.rules == POLICY) == (True, True)
        assert solves(task.oracle, task), task_id
        assert solves(twin.oracle, twin), task_id
        assert not solves(twin.oracle, task), task_id
        assert not solves(task.oracle, twin), task_id


def test_every_section_with_a_changeable_rule_decides_a_listed_task() -> None:
    decided: Counter[str] = Counter()
    for task_id in listed():
        for rule in rules_that_decide(task_id):
            decided.update(rules.sections[rule])
    assert {section for sections in rules.sections.values() for section in sections} == {*decided}
    assert min(decided.values()) >= 1


def test_a_changed_rule_alone_decides_most_of_the_tasks() -> None:
    alone = [task for task in listed() if rules_that_decide(task)]
    assert len(alone) >= 0.9 * len(listed())


def test_refusals_are_between_two_fifths_and_half_of_the_split() -> None:
    refusals = [task for task in listed() if "refusal" in task_of(task).spec.traits]
    assert 0.4 <= len(refusals) / len(listed()) <= 0.5


def test_a_task_and_its_refusal_twin_have_one_handbook_and_one_request() -> None:
    tasks = env().task_set
    pairs = [(task, f"{sibling}/{task[-4:]}") for task in listed() if (sibling := tasks.family_of(task).twin_of)]
    assert len([pair for pair in pairs if pair[1] in listed()]) >= 10
    for twin, sibling in pairs:
        assert task_of(twin).handbook == task_of(sibling).handbook
        assert task_of(twin).messages[1:] == task_of(sibling).messages[1:]


def test_an_agent_that_knows_the_default_handbook_by_heart_solves_none() -> None:
    [by_heart] = attack_tasks(env(), listed(), ["by-heart-handbook"]).results
    assert by_heart.tasks == len(listed())
    assert by_heart.solved == 0
    assert by_heart.points <= by_heart.attack.ceiling


def test_by_heart_finds_nothing_to_try_where_the_default_rules_hold() -> None:
    [by_heart] = attack_tasks(env(), env().task_set.ids("dev")[:5], ["by-heart-handbook"]).results
    assert by_heart.tasks == 0


def test_every_changeable_rule_can_decide_a_task() -> None:
    named = {rule for task in listed() for rule in rules_that_decide(task)}
    assert named == {*CHANGES}
