"""What is held out is held out: worlds, families, rules and tools, each shown disjoint from what is trained on."""

from functools import cache
from typing import Any

import gymnasium as gym
import pytest

from palaestra.envs import SPLITS, Instance, ToolEnv
from palaestra.envs.kit import Section
from palaestra.envs.task import Split
from palaestra.envs.worlds.storefront.policy import POLICY, StorePolicy
from palaestra.envs.worlds.storefront.rules import CHANGES, rules
from palaestra.records import TaskSpec
from palaestra.tools import CONTROL

# The tests go through all tasks, which one process makes once. Of the code,
# `tests/envs/test_release.py` covers as much.
pytestmark = [pytest.mark.xdist_group("storefront-splits"), pytest.mark.unmeasured]

HELD_OUT = ("heldout-records", "heldout-world", "heldout-family", "heldout-policy", "heldout-surface")


@cache
def made(**switches: Any) -> ToolEnv:
    env = gym.make("palaestra/Storefront-v0", **switches)
    assert isinstance(env, ToolEnv)
    return env


@cache
def instances(split: str) -> tuple[Instance, ...]:
    return tuple(made().task_set.instance(task) for task in made().task_set.ids(split))


def specs(split: str) -> tuple[TaskSpec, ...]:
    return tuple(instance.spec for instance in instances(split))


def rules_of(split: str) -> list[StorePolicy]:
    return [instance.rules for instance in instances(split)]


def test_there_are_a_thousand_tasks_to_train_on_and_enough_to_measure_on() -> None:
    assert len(specs("train")) >= 1_000
    assert len(specs("heldout")) >= 150
    assert len(specs("dev")) >= 50
    assert len({spec.family for spec in specs("train")}) >= 40
    calls = [spec.oracle_calls for spec in specs("train")]
    assert min(calls) <= 3  # a look-up, the reply, and the end
    assert max(calls) >= 30


def test_no_task_is_in_two_splits_and_no_world_either() -> None:
    for one, other in ((one, other) for one in SPLITS for other in SPLITS if one < other):
        assert not {spec.id for spec in specs(one)} & {spec.id for spec in specs(other)}
        assert not {spec.world_seed for spec in specs(one)} & {spec.world_seed for spec in specs(other)}


def test_families_held_out_are_in_no_other_split() -> None:
    unseen = {spec.family for spec in specs("heldout-family")}
    assert unseen
    assert all(spec.unseen for spec in specs("heldout-family"))
    for split in ("train", "dev", "heldout-records", "heldout-world"):
        assert not unseen & {spec.family for spec in specs(split)}


def test_records_held_out_have_the_families_and_the_rules_of_training_in_worlds_of_their_own() -> None:
    records = specs("heldout-records")
    assert {spec.family for spec in records} == {spec.family for spec in specs("train")}
    assert {spec.world_seed for spec in records} == {2_500, 2_501, 2_502}
    assert not any(spec.unseen for spec in records)


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
    assert specs("heldout-surface") == specs("heldout-world")


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
