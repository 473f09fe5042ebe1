"""The switches `wording` and `temper`: the same task from a user who speaks otherwise."""

import pickle
import re
from collections import Counter
from typing import Any

import pytest

from palaestra.agents import oracle, rollout
from palaestra.envs import ToolEnv, check_env
from palaestra.envs.check.subject import make
from palaestra.envs.user.tempers import FURIOUS_PUSHES, TEMPERS
from palaestra.envs.wording import WORDINGS
from palaestra.envs.worlds.storefront.schema import Customer, Order, Product
from palaestra.errors import CapabilityError, TaskError, UnknownNameError
from palaestra.records import EndReason
from worlds.noisy import ALL, STOREFRONT

FACTS = re.compile(r"\S+@\S+\w|[\w-]*\d[\w-]*")
TASK = "storefront/cancel-order/5000"
HOLD = "storefront/talk-hold-the-line/5000"


@pytest.fixture(scope="module")
def plain() -> ToolEnv:
    return make(STOREFRONT)


@pytest.fixture(scope="module")
def first(plain: ToolEnv) -> list[str]:
    """One task of every family."""
    tasks = (*plain.task_set.ids("dev"), *plain.task_set.ids("heldout-family"))
    return list({task.rpartition("/")[0]: task for task in reversed(tasks)}.values())


def request(env: ToolEnv, task: str) -> str:
    observation, _ = env.reset(seed=0, options={"task": task})
    return observation[1]["content"]


@pytest.mark.unmeasured
@pytest.mark.parametrize("wording", WORDINGS)
def test_every_family_stays_solvable_in_other_words(wording: str, plain: ToolEnv, first: list[str]) -> None:
    env = make(STOREFRONT, wording=wording)
    assert len(first) == len(plain.task_set.families)
    for task in first:
        before, after = request(plain, task), request(env, task)
        assert before != after, task
        assert Counter(FACTS.findall(before)) == Counter(FACTS.findall(after)), task
        score = rollout(env, oracle(env.oracle), name="oracle", seed=0, task=task).score
        assert score.passed, task
        assert score.points == 100, task


@pytest.mark.unmeasured
@pytest.mark.parametrize("wording", WORDINGS)
def test_names_that_a_request_holds_stay_as_they_are(wording: str, plain: ToolEnv, first: list[str]) -> None:
    env = make(STOREFRONT, wording=wording)
    for task in first:
        before, after = request(plain, task), request(env, task)
        people = [customer.name for customer in plain.state.find(Customer)]
        for name in {*people, *(product.name for product in plain.state.find(Product))}:
            assert (name in after) == (name in before), (task, name)


def test_a_twin_says_what_its_sibling_says_in_every_wording() -> None:
    for wording in WORDINGS:
        env = make(STOREFRONT, wording=wording)
        for family in ("cancel-order", "talk-which-order", "price-match"):
            said = {request(env, f"storefront/{name}/5001") for name in (family, f"{family}-twin")}
            assert len(said) == 1, (wording, family)


def test_a_slip_makes_no_other_word_that_customers_use(plain: ToolEnv, first: list[str]) -> None:
    env = make(STOREFRONT, wording="typos")
    words = re.compile(r"[a-z]{5,}")
    said = {task: words.findall(request(plain, task)) for task in first}
    used = {word for own in said.values() for word in own}
    for task in first:
        slips = {*words.findall(request(env, task))} - {*said[task]}
        assert not slips & used, task


def test_the_seed_of_an_episode_changes_no_word() -> None:
    env = make(STOREFRONT, wording="garbled", task=TASK)
    assert env.reset(seed=0)[0] == env.reset(seed=1)[0]


def test_off_is_the_same_to_the_byte(plain: ToolEnv) -> None:
    env = make(STOREFRONT, wording=None, temper=None)
    for task in (TASK, HOLD):
        assert request(env, task) == request(plain, task)
        assert env.digest() == plain.digest()
        assert env.instance is plain.instance


def test_a_guessed_id_is_still_ungrounded_and_a_named_one_is_not() -> None:
    env = make(STOREFRONT, wording="garbled", task=TASK)
    env.reset(seed=0)
    named = next(str(call.arguments["order_id"]) for call in env.oracle() if call.tool == "cancel_order")
    unsent = [order.id for order in env.state.find(Order, status="processing")]
    other = next(order_id for order_id in unsent if order_id not in env.instance.given)
    for order_id, counts in ((named, False), (other, True)):
        env.reset(seed=0)
        *_, info = env.step({"tool": "cancel_order", "arguments": {"order_id": order_id}})
        assert ("ungrounded" in info["violated"]) is counts, (order_id, info["violated"])


@pytest.mark.parametrize(
    "switches",
    [{"wording": "verbose"}, {"temper": "furious"}, {"wording": "garbled", "temper": "heated"}],
    ids=["wording", "temper", "both"],
)
@pytest.mark.usefixtures("light_collections")
def test_the_contract_is_kept(switches: dict[str, Any]) -> None:
    check_env(make(STOREFRONT, split="dev", **switches), steps=10, seeds=(0,))


@pytest.mark.usefixtures("light_collections")
def test_the_contract_is_kept_in_a_dialogue_and_under_noise() -> None:
    check_env(make(STOREFRONT, task=HOLD, wording="casual", temper="furious", noise=ALL), steps=12, seeds=(1,))


def test_forks_and_snapshots_keep_the_manner() -> None:
    switches: dict[str, Any] = {"wording": "garbled", "temper": "furious"}
    env, other = (make(STOREFRONT, task=HOLD, **switches) for _ in range(2))
    env.reset(seed=3)
    calls = env.oracle()
    for call in calls[:9]:
        env.step({"tool": call.tool, "arguments": dict(call.arguments)})
    fork = env.fork()
    other.restore(pickle.loads(pickle.dumps(env.snapshot())))
    assert fork.digest() == other.digest() == env.digest()
    for call in calls[9:]:
        outcomes = {str(e.step({"tool": call.tool, "arguments": dict(call.arguments)})[0]) for e in (env, fork, other)}
        assert len(outcomes) == 1
    assert env.score().passed
    assert fork.digest() == other.digest() == env.digest()


@pytest.mark.parametrize("switches", [{}, {"wording": "formal"}, {"temper": "calm"}])
def test_a_snapshot_of_another_manner_is_refused(switches: dict[str, Any]) -> None:
    env = make(STOREFRONT, task=TASK, wording="casual")
    env.reset(seed=0)
    with pytest.raises(TaskError, match="make the environment with the same wording and temper"):
        make(STOREFRONT, **switches).restore(env.snapshot())


@pytest.mark.parametrize(
    ("switches", "says"),
    [
        ({"wording": "formall"}, "unknown wording 'formall'; did you mean 'formal'"),
        ({"temper": "heatd"}, "unknown temper 'heatd'; did you mean 'heated'"),
        ({"wording": ""}, "unknown wording ''"),
    ],
)
def test_an_unknown_manner_is_refused_when_the_environment_is_made(switches: dict[str, Any], says: str) -> None:
    with pytest.raises(UnknownNameError, match=says):
        make(STOREFRONT, **switches)


@pytest.mark.unmeasured
@pytest.mark.parametrize("temper", TEMPERS)
def test_every_dialogue_stays_solvable_in_every_temper(temper: str, plain: ToolEnv) -> None:
    env = make(STOREFRONT, temper=temper)
    tasks = [task for split in ("dev", "heldout") for task in plain.task_set.ids(split) if "/talk-" in task]
    for task in tasks:
        env.reset(seed=0, options={"task": task})
        for calls in (env.oracle(), *env.alternatives()):
            score = rollout(env, oracle(lambda calls=calls: calls), name="oracle", seed=0, task=task).score  # type: ignore[misc]
            assert score.passed, task
            assert score.points == 100, task


def test_a_temper_changes_words() -> None:
    said: list[Any] = []
    for env in (make(STOREFRONT, temper=temper) for temper in ("calm", "heated")):
        env.reset(seed=0, options={"task": "storefront/talk-which-order/5000"})
        said.append(env.step({"tool": "reply", "arguments": {"message": "?", "act": "ask", "about": "repair"}})[0][-1])
    assert said[0]["role"] == said[1]["role"] == "user"
    assert said[0]["content"] != said[1]["content"]


def test_a_temper_is_refused_where_nobody_answers() -> None:
    env = make(STOREFRONT, temper="heated")
    with pytest.raises(CapabilityError, match="nobody answers in the task 'storefront/cancel-order/5000'"):
        env.reset(seed=0, options={"task": TASK})
    for seed in range(5):
        env.reset(seed=seed)
        assert "dialogue" in env.task.traits


def test_a_furious_user_leaves_at_the_first_irritation() -> None:
    ends: dict[str, Any] = {}
    for temper in ("heated", "furious"):
        env = make(STOREFRONT, temper=temper, task="storefront/talk-which-order/5000")
        env.reset(seed=0)
        ask = {"tool": "reply", "arguments": {"message": "Which order?", "act": "ask", "about": "order"}}
        env.step(ask)
        *_, info = env.step(ask)
        ends[temper] = info["end"]
    assert ends == {"heated": None, "furious": EndReason.USER_LEFT}


def test_a_furious_user_argues_longer_and_the_solution_holds_the_line(plain: ToolEnv) -> None:
    env = make(STOREFRONT, temper="furious", task=HOLD)
    request(plain, HOLD)
    env.reset(seed=0)
    assert env.instance.user is not None
    assert plain.instance.user is not None
    assert env.instance.user.pushes == plain.instance.user.pushes + FURIOUS_PUSHES
    assert len(env.oracle()) == len(plain.oracle()) + FURIOUS_PUSHES
    score = rollout(env, oracle(plain.oracle), name="too short", seed=0, task=HOLD).score
    assert not score.passed
