"""Tasks in which a case waits: what is done too early, too late, for the wrong order or not at all does not pass."""

from collections.abc import Iterable, Sequence

import gymnasium as gym
import pytest

from palaestra.agents import as_action
from palaestra.envs import ToolEnv
from palaestra.envs.task import call
from palaestra.envs.worlds.storefront.schema import OrderLine, Payment, Product, Return, Shipment
from palaestra.records import EndReason, Json, Score, ToolCall
from palaestra.rubrics import WORLD
from palaestra.rubrics.guards import SLIP

FAMILIES = ("await-returns", "await-search", "await-stock", "await-answer")
WORK = {
    "await-returns": "refund_payment",
    "await-search": "declare_lost",
    "await-stock": "give_credit",
    "await-answer": "authorise_return",
}
"""By family: the tool of which no call may be missing."""
AGAIN = {"await-returns": "get_returns", "await-search": "get_shipments", "await-answer": "get_order"}
"""By family: the look at records of which each has to be looked at again."""
INDICES = (0, 1, 5000, 7000)
TASKS = [f"storefront/{family}/{index:04d}" for family in FAMILIES for index in INDICES]


@pytest.fixture(scope="module")
def env() -> ToolEnv:
    made = gym.make("palaestra/Storefront-v0").unwrapped
    assert isinstance(made, ToolEnv)
    return made


def solution(env: ToolEnv, task: str) -> list[ToolCall]:
    env.reset(seed=0, options={"task": task})
    return list(env.oracle())


def play(env: ToolEnv, task: str, calls: Iterable[ToolCall]) -> Score:
    env.reset(seed=0, options={"task": task})
    for made in calls:
        env.step(as_action(made))
    return env.score(EndReason.MAX_TURNS)


def family_of(task: str) -> str:
    return task.split("/")[1].removesuffix("-twin")


def place_of(calls: Sequence[ToolCall], tool: str) -> int:
    return next(place for place, made in enumerate(calls) if made.tool == tool)


# Wrong work


@pytest.mark.parametrize("task", TASKS)
def test_work_before_the_wait_does_not_pass(env: ToolEnv, task: str) -> None:
    calls = solution(env, task)
    waiting, working = place_of(calls, "wait_days"), place_of(calls, WORK[family_of(task)])
    early = [*calls[:waiting], *calls[working:-1], calls[waiting], *calls[waiting + 1 : working], calls[-1]]
    score = play(env, task, early)
    assert not score.passed
    assert score.points <= 90


@pytest.mark.parametrize("task", TASKS)
def test_work_without_the_wait_does_not_pass(env: ToolEnv, task: str) -> None:
    calls = solution(env, task)
    assert not play(env, task, [made for made in calls if made.tool != "wait_days"]).passed


@pytest.mark.parametrize("task", TASKS)
def test_a_wait_that_is_too_short_does_not_pass(env: ToolEnv, task: str) -> None:
    calls = solution(env, task)
    place = place_of(calls, "wait_days")
    days = calls[place].arguments["days"]
    assert isinstance(days, int)
    assert days >= 2
    assert not play(env, task, [*calls[:place], call("wait_days", days=days - 1), *calls[place + 1 :]]).passed


@pytest.mark.parametrize("task", TASKS)
def test_a_wait_that_is_too_long_does_not_pass(env: ToolEnv, task: str) -> None:
    calls = solution(env, task)
    place = place_of(calls, "wait_days")
    score = play(env, task, [*calls[:place], call("wait_days", days=1), *calls[place:]])
    assert not score.passed
    assert score.verdicts["waited-longer"].met


@pytest.mark.parametrize("task", TASKS)
def test_what_was_seen_before_the_wait_does_not_count(env: ToolEnv, task: str) -> None:
    calls = solution(env, task)
    waiting, working = place_of(calls, "wait_days"), place_of(calls, WORK[family_of(task)])
    assert not play(env, task, [*calls[: waiting + 1], *calls[working:]]).passed


@pytest.mark.parametrize("task", TASKS)
def test_no_piece_of_the_work_may_be_missing(env: ToolEnv, task: str) -> None:
    calls = solution(env, task)
    tool = WORK[family_of(task)]
    places = [place for place, made in enumerate(calls) if made.tool == tool]
    assert places
    for missing in places:
        assert not play(env, task, [*calls[:missing], *calls[missing + 1 :]]).passed


@pytest.mark.parametrize("index", INDICES)
def test_a_return_that_has_not_arrived_is_not_paid(env: ToolEnv, index: int) -> None:
    task = f"storefront/await-returns/{index:04d}"
    calls = solution(env, task)
    paid = {str(made.arguments["payment_id"]) for made in calls if made.tool == "refund_payment"}
    orders = {str(made.arguments["order_id"]) for made in calls if made.tool == "get_returns"}
    [payment] = [p for order in orders for p in env.state.find(Payment, order_id=order) if p.id not in paid]
    [back] = env.state.find(Return, order_id=payment.order_id)
    pay: dict[str, Json] = {"payment_id": payment.id, "amount_cents": back.refund_due_cents, "reason": "changed_mind"}
    wrong = [call("get_payments", order_id=payment.order_id), call("refund_payment", **pay)]
    score = play(env, task, [*calls[:-3], *wrong, *calls[-3:]])
    assert score.points <= 0
    assert not score.passed


@pytest.mark.parametrize("index", INDICES)
def test_a_parcel_that_the_carrier_has_scanned_is_not_lost(env: ToolEnv, index: int) -> None:
    task = f"storefront/await-search/{index:04d}"
    calls = solution(env, task)
    lost = next(made.arguments["shipment_id"] for made in calls if made.tool == "declare_lost")
    orders = {str(made.arguments["order_id"]) for made in calls if made.tool == "get_shipments"}
    parcels = [p.id for order in orders for p in env.state.find(Shipment, order_id=order)]
    for other in parcels:
        if other != lost:
            score = play(env, task, [*calls[:-3], call("declare_lost", shipment_id=other), *calls[-3:]])
            # A parcel that has arrived cannot be declared lost, so that the attempt changes nothing.
            assert score.passed == (env.state.get(Shipment, other).status == "delivered")


@pytest.mark.parametrize("family", FAMILIES)
def test_neither_the_task_nor_its_twin_is_solved_by_the_others_work(env: ToolEnv, family: str) -> None:
    for index in INDICES:
        task, twin = f"storefront/{family}/{index:04d}", f"storefront/{family}-twin/{index:04d}"
        granted, refused = solution(env, task), solution(env, twin)
        assert not play(env, twin, granted).passed
        assert not play(env, task, refused).passed


# Right work


@pytest.mark.parametrize("task", [*TASKS, *(task.replace("/0", "-twin/0").replace("/5", "-twin/5") for task in TASKS)])
def test_the_solution_is_deep_and_wins_every_point(env: ToolEnv, task: str) -> None:
    calls = solution(env, task)
    score = play(env, task, calls)
    assert (score.passed, score.points) == (True, 100)
    assert len(calls) >= 12
    assert len({str(made.arguments["section_id"]) for made in calls if made.tool == "read_handbook"}) >= 2


@pytest.mark.parametrize("task", TASKS)
def test_what_happens_meanwhile_is_the_worlds_and_not_the_agents(env: ToolEnv, task: str) -> None:
    calls = solution(env, task)
    play(env, task, calls[: place_of(calls, "wait_days") + 1])
    assert env.events[-1].tool == WORLD
    assert env.events[-1].written
    assert env.changes == ()


def test_goods_come_in_only_while_the_case_waits(env: ToolEnv) -> None:
    task = "storefront/await-stock/0000"
    calls = solution(env, task)
    waiting = place_of(calls, "wait_days")
    products = [str(made.arguments["product_id"]) for made in calls if made.tool == "get_product"]
    play(env, task, calls[:waiting])
    assert [env.state.get(Product, p).stock for p in products] == [0, 0]
    env.step(as_action(calls[waiting]))
    assert sorted(env.state.get(Product, p).stock > 0 for p in products) == [False, True]


def test_the_word_that_comes_says_that_one_of_two_pieces_was_opened(env: ToolEnv) -> None:
    task = "storefront/await-answer/0001"
    calls = solution(env, task)
    back = [made for made in calls if made.tool == "authorise_return"]
    play(env, task, calls)
    opened = {str(b.arguments["line_id"]): env.state.get(OrderLine, str(b.arguments["line_id"])).opened for b in back}
    assert sorted(opened.values()) == [False, True]
    assert all(bool(b.arguments["fee_cents"]) == opened[str(b.arguments["line_id"])] for b in back)


# What is looked at once the case has waited


@pytest.mark.parametrize("twin", ["", "-twin"])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_record_that_decides_is_looked_at_again(env: ToolEnv, family: str, twin: str) -> None:
    for index in INDICES:
        task = f"storefront/{family}{twin}/{index:04d}"
        calls = solution(env, task)
        waiting = place_of(calls, "wait_days")
        again = [n for n in range(waiting, len(calls)) if calls[n] in calls[:waiting]]
        decisive = {"get_customer"} if family == "await-stock" or twin else {"get_customer", AGAIN[family]}
        for missing in (n for n in again if calls[n].tool in decisive):
            assert not play(env, task, [*calls[:missing], *calls[missing + 1 :]]).passed, (task, calls[missing])


@pytest.mark.parametrize("index", INDICES)
def test_who_credits_a_slow_repair_has_looked_at_its_goods_and_at_earlier_credits(env: ToolEnv, index: int) -> None:
    task = f"storefront/await-stock/{index:04d}"
    calls = solution(env, task)
    looks = [n for n, made in enumerate(calls) if made.tool in {"get_product", "get_credits"}]
    assert len(looks) == 3
    for missing in looks:
        assert not play(env, task, [*calls[:missing], *calls[missing + 1 :]]).passed, calls[missing]


def test_a_day_too_long_costs_its_price_where_goods_are_sent_again(env: ToolEnv) -> None:
    seen = 0
    for index in range(12):
        task = f"storefront/await-search/{index:04d}"
        calls = solution(env, task)
        if not any(made.tool == "send_replacement" for made in calls):
            continue
        seen += 1
        place = place_of(calls, "wait_days")
        said = [made if made.tool != "reply" else call("reply", message="We send it again.") for made in calls]
        score = play(env, task, [*said[:place], call("wait_days", days=1), *said[place:]])
        assert not score.passed
        assert score.points == 100 - SLIP
    assert seen >= 3
