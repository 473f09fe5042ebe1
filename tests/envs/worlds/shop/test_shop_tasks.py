"""The Shop world: its oracles on every surface, its twins, what scripts win, what a login sees, and equal bytes."""

import hashlib
import os
import subprocess
import sys
from functools import cache
from typing import Any, cast

import gymnasium as gym
import orjson
import pytest

from palaestra.agents import oracle, rollout
from palaestra.envs import SPLITS, Instance, ToolEnv, call
from palaestra.envs.kit import HandbookVariants
from palaestra.envs.rule_twin import solves
from palaestra.envs.worlds.shop.population import CUSTOMER_ID, populate
from palaestra.envs.worlds.shop.schema import SCHEMA, BasketLine, ShopOrder, Variant
from palaestra.envs.worlds.shop.terms import ShopTerms
from palaestra.records import ToolCall

pytestmark = pytest.mark.xdist_group("shop")

FINISH = call("finish")


@cache
def made(surface: str = "conventional") -> ToolEnv:
    switches: dict[str, Any] = {} if surface == "conventional" else {"surface": surface}
    env = gym.make("palaestra/Shop-v0", **switches).unwrapped
    assert isinstance(env, ToolEnv)
    return env


def first_tasks(split: str) -> list[str]:
    """The first task of every family of a split."""
    return list({task.rpartition("/")[0]: task for task in reversed(made().task_set.ids(split))}.values())


def points(task: str, calls: list[ToolCall]) -> float:
    env = made()
    env.reset(options={"task": task})
    return rollout(env, oracle(lambda: calls), name="script", seed=0, task=task).score.points


def pairs() -> list[tuple[Instance, Instance]]:
    """The first pairs of a task and its refusal twin."""
    tasks = made().task_set
    twins = [task for task in first_tasks("dev") if "-twin/" in task]
    return [(tasks.instance(twin.replace("-twin/", "/")), tasks.instance(twin)) for twin in twins]


def test_it_lists_what_was_asked_for() -> None:
    families = made().task_set.families.values()
    assert sum(f.twin_of is None for f in families) >= 12
    assert sum(f.twin_of is not None for f in families) >= 6
    assert sum(len(made().task_set.ids(split)) for split in SPLITS) >= 240


@pytest.mark.parametrize("surface", ["conventional", "generic", "pages"])
@pytest.mark.parametrize("split", SPLITS)
def test_the_oracle_gets_every_point(surface: str, split: str) -> None:
    env = made(surface)
    for task in first_tasks(split):
        env.reset(options={"task": task})
        assert rollout(env, oracle(env.oracle), name="oracle", seed=0, task=task).score.passed, task


def test_a_twin_has_the_same_request_and_the_other_answer_is_wrong() -> None:
    assert len(pairs()) >= 12
    for task, twin in pairs():
        assert task.messages == twin.messages, twin.spec.id
        assert not solves(task.oracle, twin), twin.spec.id
        assert not solves(twin.oracle, task), twin.spec.id


def test_doing_nothing_and_buying_anything_or_everything_wins_nothing() -> None:
    for task in first_tasks("dev"):
        articles = [v for v in made().task_set.instance(task).initial_state.find(Variant) if v.stock > 0][:12]
        order = [call("choose_delivery", delivery="standard"), call("choose_payment", payment="card")]
        order += [call("place_order"), call("reply", message="I have placed the order."), FINISH]
        browse = [call("search_variants"), call("search_variants", cursor=articles[9].id)]
        one = [call("add_to_basket", variant_id=articles[0].id, quantity=1)]
        every = [call("add_to_basket", variant_id=v.id, quantity=1) for v in articles]
        assert points(task, [FINISH]) <= 0, task
        assert points(task, [*browse, *one, *order]) <= 5, task
        assert points(task, [*browse, *every, *order]) <= 5, task


def test_reading_alone_wins_no_more_than_look_ups() -> None:
    for task in first_tasks("dev"):
        env = made()
        toolbox, solution = env.world.toolbox, env.task_set.instance(task).oracle
        reads = [one for one in solution if not toolbox[one.tool].writes and one.tool not in ("reply", "finish")]
        assert points(task, [*reads, FINISH]) <= 5, task


def test_a_login_sees_no_account_but_its_own() -> None:
    for seed in (1000, 2000, 3000):
        rows = populate(seed, ShopTerms()).rows
        assert set(rows["customers"]) == {CUSTOMER_ID}
        for info in SCHEMA:
            if "customer_id" in info.columns:
                owners = {cast("Any", row).customer_id for row in rows[info.name].values()}
                assert owners <= {CUSTOMER_ID}, info.name


def test_another_account_cannot_be_changed() -> None:
    env, task = made(), first_tasks("dev")[0]
    env.reset(options={"task": task})
    work = call("change_address", customer_id="CUS-1002", street="Mill Lane 1", city="1010 Wien")
    trajectory = rollout(env, oracle(lambda: [work, FINISH]), name="script", seed=0, task=task)
    assert "forbidden" in str(trajectory)


def test_orders_add_up() -> None:
    for seed in (1000, 2001, 4000):
        rows = populate(seed, made().world.rules(seed, 0)).rows
        lines = [row for row in rows["order_lines"].values() if isinstance(row, BasketLine)]
        for order in rows["orders"].values():
            assert isinstance(order, ShopOrder)
            goods = sum(line.quantity * line.unit_cents for line in lines if line.order_id == order.id)
            assert goods == order.subtotal_cents
            assert order.subtotal_cents - order.discount_cents + order.shipping_cents == order.total_cents
            assert order.placed.date() <= order.due
            assert (order.delivered is not None) == (order.status == "delivered")


def test_each_rule_changes_the_handbook() -> None:
    rules = cast("HandbookVariants[ShopTerms]", made().world.rules)
    own = populate(1000, rules.own).rows["handbook"]
    for name in rules.changes:
        changed = populate(1000, rules.one_changed(name)).rows["handbook"]
        differing = {key for key in own if own[key] != changed[key]}
        assert differing == set(rules.sections[name]), name


_DIGEST = """
import hashlib
import os
from palaestra.envs.worlds.shop.population import populate
from palaestra.envs.worlds.shop.terms import ShopTerms
rows = populate(1000, ShopTerms()).rows
print(hashlib.sha256(repr([(t, sorted(map(repr, rows[t].values()))) for t in sorted(rows)]).encode()).hexdigest())
"""


def test_rows_are_equal_in_another_process() -> None:
    rows = populate(1000, ShopTerms()).rows
    own = hashlib.sha256(repr([(t, sorted(map(repr, rows[t].values()))) for t in sorted(rows)]).encode()).hexdigest()
    told = subprocess.run(
        [sys.executable, "-c", _DIGEST],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "7"},
    )
    assert told.stdout.strip() == own


def test_held_out_requests_have_words_of_their_own() -> None:
    def bodies(split: str) -> set[str]:
        tasks = made().task_set
        contents = [str(tasks.instance(task).messages[-1]["content"]) for task in first_tasks(split)]
        return {content.partition("\n\n")[2][:12] for content in contents}

    assert bodies("train").isdisjoint(bodies("heldout"))


def test_the_release_lists_every_family() -> None:
    release = made().world.release
    assert release is not None
    listed = orjson.loads(release.read_bytes())["families"]
    assert set(listed) == set(made().task_set.families)
