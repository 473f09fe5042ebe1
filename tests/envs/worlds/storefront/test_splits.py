"""What is held out is held out: worlds, families, rules and tools, each shown disjoint from what is trained on."""

from functools import cache
from itertools import combinations
from typing import Any

import gymnasium as gym
import pytest

from palaestra.envs import SPLITS, Instance, ToolEnv
from palaestra.envs.instance import seed_of
from palaestra.envs.kit import Section
from palaestra.envs.task import Split
from palaestra.envs.worlds.storefront.policy import POLICY, StorePolicy
from palaestra.envs.worlds.storefront.rules import CHANGES, rules
from palaestra.records import TaskSpec
from palaestra.tools import CONTROL

# One process makes the tasks once, for this file and the other two of its group. Of the code,
# `tests/envs/test_release.py` covers as much.
pytestmark = [pytest.mark.xdist_group("storefront"), pytest.mark.unmeasured]

HELD_OUT = ("heldout-records", "heldout-world", "heldout-family", "heldout-policy", "heldout-surface")


@cache
def made(**switches: Any) -> ToolEnv:
    env = gym.make("palaestra/Storefront-v0", **switches)
    assert isinstance(env, ToolEnv)
    return env


@cache
def instances(split: str) -> tuple[Instance, ...]:
    """The first task of every family of a split."""
    first = {family_of(task): task for task in reversed(made().task_set.ids(split))}
    return tuple(made().task_set.instance(task) for task in first.values())


def specs(split: str) -> tuple[TaskSpec, ...]:
    return tuple(instance.spec for instance in instances(split))


def family_of(task: str) -> str:
    return task.rpartition("/")[0]


def families(split: str) -> set[str]:
    return {family_of(task) for task in made().task_set.ids(split)}


def seeds(split: str) -> set[int]:
    """The world seeds of all tasks of a split, which follow from their indices."""
    return {seed_of(made().world, int(task[-4:])) for task in made().task_set.ids(split)}


def rules_of(split: str) -> list[StorePolicy]:
    """The rules of all tasks of a split, which follow from their indices and handbooks."""
    tasks, world = made().task_set, made().world
    return [world.rules(seed_of(world, int(task[-4:])), tasks.handbook_of(task, 0)) for task in tasks.ids(split)]


def test_there_are_a_thousand_tasks_to_train_on_and_enough_to_measure_on() -> None:
    ids = made().task_set.ids
    assert len(ids("train")) >= 1_000
    assert len(ids("heldout")) >= 150
    assert len(ids("dev")) >= 50
    assert len(families("train")) >= 40
    calls = [spec.oracle_calls for spec in specs("train")]
    assert min(calls) <= 3  # a look-up, the reply, and the end
    assert max(calls) >= 30


def test_no_task_is_in_two_splits_and_no_world_either() -> None:
    ids = made().task_set.ids
    for one, other in combinations(SPLITS, 2):
        assert not {*ids(one)} & {*ids(other)}
        assert not seeds(one) & seeds(other)


def test_index_and_handbook_of_a_task_fix_its_world_and_its_rules() -> None:
    world, tasks = made().world, made().task_set
    for instance in (instance for split in SPLITS for instance in instances(split)):
        spec = instance.spec
        assert spec.world_seed == seed_of(world, int(spec.id[-4:])), spec.id
        assert instance.rules == world.rules(spec.world_seed, tasks.handbook_of(spec.id, 0)), spec.id


def test_families_held_out_are_in_no_other_split() -> None:
    unseen = families("heldout-family")
    assert unseen
    assert all(spec.unseen for spec in specs("heldout-family"))
    for split in ("train", "dev", "heldout-records", "heldout-world"):
        assert not unseen & families(split)


def test_records_held_out_have_the_families_and_the_rules_of_training_in_worlds_of_their_own() -> None:
    assert families("heldout-records") == families("train")
    assert seeds("heldout-records") == {2_500, 2_501, 2_502}
    assert not any(spec.unseen for spec in specs("heldout-records"))


@pytest.mark.parametrize("split", ["train", "dev", "heldout", "heldout-records"])
def test_two_to_three_tasks_of_five_are_refusals(split: Split) -> None:
    # All that a split could list: what a release leaves out must not hide a wrong number of twins.
    tasks = made().task_set
    traits = [tasks.family_of(task).traits for task in tasks.candidates(split)]
    assert 0.4 <= sum("refusal" in found for found in traits) / len(traits) <= 0.5


def test_rules_held_out_are_no_world_s_to_train_on() -> None:
    for split in ("train", "dev", "heldout", "heldout-records"):
        assert all(policy == POLICY for policy in rules_of(split))
    held_out = rules_of("heldout-policy")
    assert all(policy != POLICY for policy in held_out)
    assert len({repr(policy) for policy in held_out}) >= 24


def test_tools_held_out_are_no_environment_s_to_train_on() -> None:
    trained = {tool.name for tool in made(split="train").toolbox} - {tool.name for tool in CONTROL}
    held_out = {tool.name for tool in made(split="heldout-surface").toolbox}
    assert not trained & held_out
    assert made().task_set.ids("heldout-surface") == made().task_set.ids("heldout-world")


@pytest.mark.parametrize("split", HELD_OUT)
def test_every_axis_can_be_played(split: str) -> None:
    env = made(split=split)
    env.reset(seed=3)
    assert env.task.id in env.task_set.ids(split)
    for call in env.oracle():
        env.step({"tool": call.tool, "arguments": dict(call.arguments)})
    assert env.score().passed


@pytest.mark.parametrize("handbook", range(1, 9))
def test_a_changed_rule_changes_what_the_handbook_says(handbook: int) -> None:
    policy = rules(1000, handbook)
    changed = [name for name in CHANGES if getattr(policy, name) != getattr(POLICY, name)]
    assert 8 <= len(changed) <= 12
    assert all(getattr(policy, name) in CHANGES[name] for name in changed)
    world = made().world
    before, after = ({s.id: s.body for s in world.base(1000, n).listings["handbook"] if isinstance(s, Section)}
                     for n in (0, handbook))  # fmt: skip
    assert before.keys() == after.keys()
    assert before != after


def test_features_count_what_a_solution_does() -> None:
    for spec in specs("dev"):
        features = spec.features
        assert 0 <= features.hops <= features.entities
        assert features.writes + features.messages <= spec.oracle_calls
        assert features.exceptions == ("policy-exception" in spec.traits)
    assert {spec.features.hops for spec in specs("train")} >= {0, 1, 2, 3, 4, 5}
