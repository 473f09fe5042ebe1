"""The bundled tasks: enough of them, kept apart by split, solvable, reproducible, and silent about their answers."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from palaestra.agents import as_action, oracle, rollout
from palaestra.digest import digest
from palaestra.envs import SPLITS, Instance, TaskSet, ToolEnv, bundled_tasks, instantiate
from palaestra.envs.task import FIRST_INDEX, LAST_INDEX
from palaestra.envs.worlds.storefront.schema import SCHEMA, Build, Order, Ticket
from palaestra.envs.worlds.storefront.world import STOREFRONT
from palaestra.errors import TaskError, UnknownNameError
from palaestra.records import Json

# The tests go through all tasks, which one process makes once. Of the code,
# `tests/envs/test_release.py` covers as much.
pytestmark = [pytest.mark.xdist_group("storefront"), pytest.mark.unmeasured]

ENV_ID = "palaestra/Storefront-v0"
OPEN_TABLES = {"tickets", "orders", "builds", "promotions"}
"""What a customer can name: their ticket, their order, their build, a code that was advertised."""


@cache
def tasks() -> TaskSet:
    return bundled_tasks(STOREFRONT)


@cache
def instances() -> list[Instance]:
    return [tasks().instance(task) for split in SPLITS for task in tasks().ids(split)]


@cache
def firsts() -> list[Instance]:
    """The first task of every family in every split. The gate proves all of them, and a release names what it proved
    (`tests/envs/test_release.py`), so these show what has changed since."""
    found = {(i.spec.family, i.spec.split): i for i in reversed(instances())}
    assert len(found) > 300
    return list(reversed(found.values()))


def make(**kwargs: Any) -> ToolEnv:
    env = gym.make(ENV_ID, **kwargs).unwrapped
    assert isinstance(env, ToolEnv)
    return env


# How many, and where


def test_there_are_enough_tasks_in_every_split() -> None:
    assert len(tasks().ids("train")) >= 300
    assert len(tasks().ids("dev")) >= 40
    assert len(tasks().ids("heldout")) >= 60


def test_families_cover_levels_and_traits() -> None:
    families = tasks().families.values()
    traits = Counter(trait for family in families for trait in family.traits)
    assert len(families) >= 12
    assert {family.level for family in families} == {1, 2, 3}
    assert traits["policy-exception"] >= 4
    assert traits["multi-hop"] >= 3
    assert traits["refusal"] >= 2


def test_no_world_is_in_two_splits() -> None:
    seeds = [(seed, split) for split, found in STOREFRONT.seeds.items() for seed in found]
    assert len({seed for seed, _ in seeds}) == len(seeds)
    for instance in instances():
        assert instance.spec.world_seed in STOREFRONT.seeds[instance.spec.split]  # type: ignore[index]


def test_some_families_are_never_seen_in_training() -> None:
    unseen = [f.id for f in tasks().families.values() if f.splits == ("heldout",)]
    assert len(unseen) >= 2
    for split in ("train", "dev"):
        assert not {i.rpartition("/")[0] for i in tasks().ids(split)} & set(unseen)
    assert {i.rpartition("/")[0] for i in tasks().ids("heldout")} == set(tasks().families)


def test_an_id_names_its_family_and_an_index_of_its_split() -> None:
    for instance in instances():
        spec = instance.spec
        family, _, index = spec.id.rpartition("/")
        assert family == spec.family
        assert spec.id == f"{spec.family}/{int(index):04d}"
        assert FIRST_INDEX[spec.split] <= int(index) <= LAST_INDEX  # type: ignore[index]
        assert spec.oracle_calls == len(instance.oracle) < spec.max_turns


@pytest.mark.parametrize("split", SPLITS)
def test_prompts_of_a_split_differ(split: str) -> None:
    told_apart = [i for i in instances() if i.spec.split == split and "twin" not in i.spec.traits]
    prompts = Counter(i.messages[1]["content"] for i in told_apart)
    assert [prompt for prompt, times in prompts.items() if times > 1] == []


# Solvable


@pytest.mark.parametrize("reward", ["checklist", "outcome"])
def test_the_oracle_solves_the_first_tasks_with_every_point(reward: str) -> None:
    env = make(reward=reward)
    for instance in firsts():
        env.reset(seed=0, options={"task": instance.spec.id})
        steps = [env.step(as_action(call)) for call in env.oracle()]
        rewards, info, score = [step[1] for step in steps], steps[-1][4], env.score()
        assert (steps[-1][2:4], info["violated"]) == ((True, False), ()), instance.spec.id
        assert sum(rewards) == score.points == score.total == 100, instance.spec.id
        assert score.passed, instance.spec.id
        if reward == "outcome":
            assert rewards[:-1] == [0] * (len(rewards) - 1)


def test_the_oracles_alternatives_solve_their_tasks_too() -> None:
    routes = [(i.spec.id, calls) for i in firsts() for calls in i.alternatives]
    assert len({task.rpartition("/")[0] for task, _ in routes}) >= 1
    env = make()
    for task, calls in routes:
        episode = rollout(env, oracle(lambda calls=calls: calls), name="alternative", seed=0, task=task)  # type: ignore[misc]
        assert episode.score.passed, task
        assert episode.score.points == 100, task


def test_the_oracle_names_no_id_that_it_has_not_been_shown() -> None:
    env = make()
    for instance in firsts():
        env.reset(seed=0, options={"task": instance.spec.id})
        for call in env.oracle():
            known = set(env.episode.evidence.given).union(*(e.mentioned for e in env.events))
            env.step(as_action(call))
            named = set(env.events[-1].named)
            assert named <= known, (instance.spec.id, call)


@cache
def _sections() -> frozenset[str]:
    return frozenset(STOREFRONT.base(1000).rows["handbook"])


# Silent about the answer


def ids_in(instance: Instance) -> dict[str, str]:
    """The ids that a prompt names, and the table of each."""
    words = re.findall(r"[\w-]+", instance.messages[1]["content"])
    return {w: info.name for w in words for info in SCHEMA if instance.initial_state.peek(info.kind, w) is not None}


TELLS_ITS_ACCOUNT = {"storefront/find-store-credit", "storefront/find-store-credit-twin"}
"""Families in which the customer gives the number of their own account, and which are so short for it."""


def test_a_prompt_names_only_what_a_customer_can_name() -> None:
    for instance in instances():
        known = OPEN_TABLES | {"customers"} if instance.spec.family in TELLS_ITS_ACCOUNT else OPEN_TABLES
        assert set(ids_in(instance).values()) <= known, instance.spec.id


NAMED = (Order.prefix, Build.prefix)
HIDDEN = ("policy_id", "evidence_id", "approver_id", "payment_id", "shipment_id", "line_id", "product_id")
"""Arguments whose values an agent has to find."""


def test_a_prompt_names_neither_the_grounds_nor_what_the_oracle_acts_on() -> None:
    checked = 0
    for instance in instances():
        words = set(re.findall(r"[\w-]+", instance.messages[1]["content"]))
        for call in instance.oracle:
            for name in HIDDEN:
                value = call.arguments.get(name)
                if not isinstance(value, str) or (name == "evidence_id" and value.startswith(NAMED)):
                    continue  # where the order or build itself is the evidence, its number cannot be a secret
                if name == "evidence_id" and value.startswith(Ticket.prefix) and instance.handbook:
                    continue  # another rule may work on another of several tickets, and the request comes from one
                checked += 1
                assert value not in words, (instance.spec.id, name)
    assert checked > 500


def written_amounts(cents: int) -> list[str]:
    """How an amount could stand in a message."""
    return [str(cents), f"{cents / 100:.2f}", f"{cents / 100:,.2f}", f"{cents / 100:.2f}".replace(".", ",")]


def test_a_prompt_states_no_amount_that_has_to_be_worked_out() -> None:
    checked = 0
    for instance in instances():
        words = set(re.findall(r"[\d.,]*\d", instance.messages[1]["content"]))
        for call in instance.oracle:
            for name in ("amount_cents", "fee_cents"):
                value = call.arguments.get(name)
                if isinstance(value, int) and value:
                    checked += 1
                    assert not words.intersection(written_amounts(value)), (instance.spec.id, name)
    assert checked > 150


def test_a_prompt_asks_for_an_answer_without_giving_it() -> None:
    checked = 0
    for instance in instances():
        answer: Json = instance.oracle[-1].arguments.get("answer")
        if isinstance(answer, dict):
            for name, value in answer.items():
                checked += 1
                assert name in instance.messages[1]["content"]
                assert str(value) not in instance.messages[1]["content"]
    assert checked > 40


def test_the_briefing_lists_the_handbooks_sections_and_none_of_their_text() -> None:
    section_words = {"restocking", "EUR", "15 %", "platinum"}
    for instance in instances()[::50]:
        briefing = instance.messages[0]["content"]
        assert all(section in briefing for section in _sections())
        assert not [word for word in section_words if word in briefing]


# Reproducible


def digest_of(instance: Instance) -> str:
    return digest(
        (
            instance.spec,
            instance.messages,
            instance.initial_state.state_hash(),
            instance.oracle,
            instance.alternatives,
            instance.rubric.specs,
            sorted(instance.given),
        )
    )


def test_making_an_instance_again_gives_the_same_one() -> None:
    for instance in instances()[::7]:
        family, _, index = instance.spec.id.rpartition("/")
        again = instantiate(STOREFRONT, tasks().families[family], int(index), handbook=instance.handbook)
        assert again is not instance
        assert digest_of(again) == digest_of(instance)


def test_instances_do_not_depend_on_the_order_in_which_they_are_made() -> None:
    some = [i.spec.id for i in instances()[::29]]
    backwards = TaskSet(STOREFRONT, (f for f in tasks().families.values() if f.twin_of is None))
    for task in reversed(some):
        made = tasks().instance(task)
        assert digest_of(backwards.instance(task, made.handbook)) == digest_of(made)


ELSEWHERE = """
import json, multiprocessing, sys
import gymnasium as gym
import palaestra
from palaestra.agents import as_action


def digests(tasks):
    env, found = gym.make("palaestra/Storefront-v0").unwrapped, []
    for task in tasks:
        env.reset(seed=0, options={"task": task})
        opening = env.digest()
        for call in env.oracle():
            env.step(as_action(call))
        found.append([opening, env.digest()])
    return found


def send(pipe, tasks):
    pipe.send(digests(tasks))


if __name__ == "__main__":
    method, *tasks = sys.argv[1:]
    if method == "fork":
        digests(tasks[:1])  # a world that has been at work is forked with its caches
    context = multiprocessing.get_context(method)
    here, there = context.Pipe()
    process = context.Process(target=send, args=(there, tasks))
    process.start()
    print(json.dumps(here.recv()))
    process.join()
"""


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_a_task_is_the_same_in_another_process(method: str, tmp_path: Path) -> None:
    some = [i.spec.id for i in instances()[::12]]
    env, here = make(), list[list[str]]()
    for task in some:
        env.reset(seed=0, options={"task": task})
        opening = env.digest()
        for call in env.oracle():
            env.step(as_action(call))
        here.append([opening, env.digest()])
    script = tmp_path / "elsewhere.py"
    script.write_text(ELSEWHERE)
    other_seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    told = subprocess.run(
        [sys.executable, str(script), method, *some],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONHASHSEED": other_seed, "TZ": "Pacific/Auckland", "LC_ALL": "C"},
    )
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout) == here


def test_instances_of_one_world_share_its_rows_and_none_of_their_own() -> None:
    # Made one after the other: the rows of the latest worlds alone are kept.
    first, second = (tasks().rebuild(f"storefront/cancel-order/{index}") for index in ("0000", "0008"))
    assert first.spec.world_seed == second.spec.world_seed
    assert first.initial_state.base is second.initial_state.base
    orders = [next(w for w, table in ids_in(i).items() if table == "orders") for i in (first, second)]
    assert orders[0] != orders[1]
    assert first.initial_state.get(Order, orders[1]).status == "processing"


# Ids that name nothing


@pytest.mark.parametrize(
    ("task", "near"),
    [
        ("storefront/cancel-ordr/0000", "'storefront/cancel-order/0000'"),
        ("cancel-order/0000", "'storefront/cancel-order/0000'"),
        ("storefront/cancel-order/-001", "'storefront/cancel-order/0000'"),
        ("storefront/dubble-charge/0012", "'storefront/double-charge/0012'"),
        ("storefront/delay-credits/7000", "'storefront/delay-credit/7000'"),
    ],
)
def test_an_unknown_task_is_answered_with_near_ones(task: str, near: str) -> None:
    with pytest.raises(UnknownNameError, match=rf"unknown task '{task}'; did you mean .*{near}.*palaestra tasks list"):
        make(task=task)


@pytest.mark.parametrize("index", ["1", "00001", "10000", "99999"])
def test_an_index_out_of_range_says_what_the_range_is(index: str) -> None:
    with pytest.raises(
        TaskError, match=rf"task 'storefront/cancel-order/{index}': an index has four digits, 0000 to 9999"
    ):
        make(task=f"storefront/cancel-order/{index}")


@pytest.mark.parametrize(("index", "split"), [("0000", "train"), ("5000", "dev"), ("6999", "dev")])
def test_an_index_of_a_split_without_the_family_says_where_it_occurs(index: str, split: str) -> None:
    says = f"index {index} belongs to split '{split}', in which .*/delay-credit does not occur; it occurs in heldout"
    with pytest.raises(TaskError, match=says):
        make(task=f"storefront/delay-credit/{index}")


def test_an_index_that_is_not_listed_is_a_task_all_the_same() -> None:
    env = make(task="storefront/cancel-order/0999")
    assert "storefront/cancel-order/0999" not in tasks().ids("train")
    episode = rollout(env, oracle(env.oracle), name="oracle", seed=0)
    assert (episode.task.split, episode.score.points) == ("train", 100)


@pytest.mark.parametrize("split", ["test", "held-out", "Train"])
def test_an_unknown_split_is_answered_with_the_known_ones(split: str) -> None:
    with pytest.raises(UnknownNameError, match=f"unknown split '{split}'; "):
        make(split=split)


def test_the_seed_alone_draws_the_instance() -> None:
    drawn = [make(split="train").reset(seed=seed)[1]["task"].id for seed in range(40)]
    assert drawn == [make(split="train").reset(seed=seed)[1]["task"].id for seed in range(40)]
    assert len(set(drawn)) > 30
    assert {make(split="heldout").reset(seed=s)[1]["task"].split for s in range(10)} == {"heldout"}
