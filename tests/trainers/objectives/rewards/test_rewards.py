"""What is done to rewards, turn by turn in plain numbers. U turns."""

import json
from collections.abc import Callable

import numpy as np
import pytest
import torch

from complete import complete
from graded import Array, graded, many, numbers, reals
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives import ObjectiveConfig
from palaestra.trainers.objectives.parts import Reward, Stateful
from palaestra.trainers.objectives.rewards import (
    KlInReward,
    Laconic,
    SoftOverlong,
    ToolBonus,
    overlong_penalty,
    pay_at_end,
)
from palaestra.trainers.updates import reshape_rewards


def turns_of(batch: TokenBatch) -> list[list[int]]:
    """The turns of each trajectory."""
    return [[u for u, owner in enumerate(batch.trajectory_U) if int(owner) == r] for r in range(batch.trajectories)]


def lengths_of(batch: TokenBatch) -> list[int]:
    return [int((batch.trained_T & (batch.trajectory_T == r)).sum()) for r in range(batch.trajectories)]


def changed(batch: TokenBatch, changes: list[float]) -> Array:
    """The rewards, each trajectory's change on its last turn."""
    reward = numbers(batch.reward_U).copy()
    for turns, change in zip(turns_of(batch), changes, strict=True):
        if turns:
            reward[turns[-1]] += change
    return reward


def of_lengths(lengths: list[int]) -> TokenBatch:
    """A turn of each length, each paid 1."""
    return graded([[length] for length in lengths], rewards=[[1.0]] * len(lengths))


@pytest.mark.parametrize("seed", range(6))
def test_a_change_is_paid_with_the_last_turn(seed: int) -> None:
    batch = many(seed)
    changes = np.random.default_rng(seed).normal(size=batch.trajectories)
    np.testing.assert_allclose(numbers(pay_at_end(reals(changes), batch)), changed(batch, changes.tolist()), rtol=1e-12)


def test_a_trajectory_without_a_turn_is_paid_nothing() -> None:
    batch = graded([[2], [], [1, 1]], rewards=[[1], [], [2, 3]])
    assert pay_at_end(reals([10, 20, 30]), batch).tolist() == [11, 2, 33]


@pytest.mark.parametrize("seed", range(6))
def test_the_price_of_coming_near_the_greatest_length(seed: int) -> None:
    batch = many(seed)
    changes = [0.5 * max(-1.0, min(0.0, (8 - 4 - length) / 4)) for length in lengths_of(batch)]
    found_U = SoftOverlong(longest=8, cache=4, factor=0.5)(batch)
    np.testing.assert_allclose(numbers(found_U), changed(batch, changes), rtol=1e-12)


@pytest.mark.parametrize(
    ("length", "price"),
    [(16384, 0.0), (17000, -0.150391), (18432, -0.5), (20480, -1.0), (20481, -1.0), (10**6, -1.0), (0, 0.0)],
)
def test_golden_prices_of_dapo(length: int, price: float) -> None:
    assert overlong_penalty(reals([length]), longest=20480, cache=4096).item() == pytest.approx(price, abs=1e-6)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("longest", [None, 6])
def test_the_price_of_laconic_is_what_its_formula_says(seed: int, longest: int | None) -> None:
    batch = many(seed)
    reward = Laconic(budget=3.0, start=0.1, rate=0.05, floor=0.01, ceiling=0.2, most=0.06, longest=longest, hit=0.1)
    price = 0.1
    for _ in range(4):
        lengths = lengths_of(batch)
        costs = [min(price * max(0.0, (length - 3) / 3), 0.06) for length in lengths]
        costs = [
            cost + (0.1 if longest is not None and n >= longest else 0.0)
            for cost, n in zip(costs, lengths, strict=True)
        ]
        np.testing.assert_allclose(numbers(reward(batch)), changed(batch, [-cost for cost in costs]), rtol=1e-12)
        price = min(0.2, max(0.01, price + 0.05 * (sum(lengths) / len(lengths) / 3 - 1)))
        assert reward.price == pytest.approx(price, rel=1e-12)


def test_golden_prices_of_laconic() -> None:
    """lambda 0.001: the excess is 0, 0.2, 1 and 0; the mean length is 1.25 budgets, so that lambda becomes 0.0015."""
    reward = Laconic(budget=1000, start=0.001)
    assert reward.penalty(reals([800, 1200, 2000, 1000])).tolist() == pytest.approx([0, 0.0002, 0.001, 0], abs=1e-12)
    assert reward(of_lengths([800, 1200, 2000, 1000])).tolist() == pytest.approx([1, 0.9998, 0.999, 1], abs=1e-12)
    assert reward.price == pytest.approx(0.0015, abs=1e-12)


def test_golden_steps_of_lambda() -> None:
    reward = Laconic(budget=1000)
    reward(of_lengths([2000, 2000]))
    assert reward.price == pytest.approx(0.002, abs=1e-12)
    reward(of_lengths([500]))
    assert reward.price == pytest.approx(0.001, abs=1e-12)


def test_a_batch_is_priced_with_the_lambda_before_it() -> None:
    assert Laconic(budget=1)(of_lengths([9, 9])).tolist() == [1, 1]


def test_lambda_stays_between_floor_and_ceiling() -> None:
    reward = Laconic(budget=10, floor=0.0003)
    for _ in range(3):
        reward(of_lengths([90]))
    assert reward.price == 0.002
    for _ in range(9):
        reward(of_lengths([1]))
    assert reward.price == 0.0003


def test_what_is_right_and_long_is_above_what_is_wrong_and_short() -> None:
    reward = Laconic(budget=10, start=0.002)
    found = reward(graded([[5], [4000], [5]], rewards=[[1], [1], [0]])).tolist()
    assert found[0] > found[1] > found[2]
    assert found[1] == pytest.approx(1 - 0.04)


def test_lambda_holds_a_policy_to_its_budget() -> None:
    """One that writes 200 tokens at no price, and 40 less for each thousandth of lambda."""
    reward = Laconic(budget=100, rate=1e-4, ceiling=0.01)
    length = 200
    for _ in range(400):
        reward(of_lengths([length]))
        length = round(200 - 40_000 * reward.price)
    assert length == pytest.approx(100, abs=3)


def test_an_empty_batch_moves_no_price() -> None:
    reward = Laconic(budget=10, start=0.001)
    assert not len(reward(of_lengths([3]).select([])))
    assert reward.price == 0.001


def test_laconic_goes_on_from_its_state() -> None:
    one, other = Laconic(budget=7, rate=1e-4 / 3), Laconic(budget=7, rate=1e-4 / 3)
    one(of_lengths([11, 20]))
    assert isinstance(one, Stateful)
    other.restore(json.loads(json.dumps(one.state())))
    assert torch.equal(one(of_lengths([30])), other(of_lengths([30])))
    assert one.state() == other.state()


@pytest.mark.parametrize("seed", range(6))
def test_the_bonus_for_tools_is_what_its_formula_says(seed: int) -> None:
    batch = many(seed)
    calls, passed = numbers(batch.column("tools_U")), numbers(batch.column("passed_R"))
    changes = [0.3 * min(3, sum(calls[u] for u in turns)) * passed[r] for r, turns in enumerate(turns_of(batch))]
    np.testing.assert_allclose(
        numbers(ToolBonus(most=3, coefficient=0.3)(batch)), changed(batch, [float(c) for c in changes]), rtol=1e-12
    )


@pytest.mark.parametrize(
    ("passed", "calls", "expected"), [(1, [2, 1], 1.3), (0, [5, 0], 0.0), (1, [9, 9], 2.0), (1, [0, 0], 1.0)]
)
def test_golden_bonuses(passed: int, calls: list[float], expected: float) -> None:
    batch = graded([[1, 1]], rewards=[[0, float(passed)]], columns={"tools_U": calls, "passed_R": [passed]})
    assert ToolBonus(most=10)(batch).tolist() == pytest.approx([0, expected], abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_the_price_of_leaving_the_reference_is_paid_by_turn(seed: int) -> None:
    batch = many(seed)
    expected = numbers(batch.reward_U).copy()
    for place, turn in enumerate(batch.turn_T):
        if bool(batch.trained_T[place]):
            expected[int(turn)] -= 0.2 * float(batch.logprob_T[place] - batch.column("ref_T")[place])
    np.testing.assert_allclose(numbers(KlInReward(beta=0.2)(batch)), expected, rtol=1e-10, atol=1e-12)


def test_rewards_in_another_unit_are_divided_by_it_and_so_are_returns() -> None:
    made = ObjectiveConfig(parts={"rewards": [{"part": "unit", "size": 4.0}]}).build()
    batch = complete()
    found = reshape_rewards(batch, made)
    assert found.reward_U.tolist() == [reward / 4 for reward in batch.reward_U.tolist()]
    torch.testing.assert_close(found.return_R, batch.return_R / 4)


def test_a_policy_that_is_the_reference_pays_nothing() -> None:
    batch = many(1)
    assert torch.equal(KlInReward(beta=0.5)(batch.with_columns({"ref_T": batch.logprob_T})), batch.reward_U)


@pytest.mark.parametrize(
    "reward",
    [
        SoftOverlong(longest=4, cache=2, factor=0.0),
        Laconic(budget=2, ceiling=0.0),
        ToolBonus(most=5, coefficient=0.0),
        ToolBonus(most=0),
        KlInReward(beta=0.0),
    ],
    ids=repr,
)
def test_at_neutral_settings_rewards_stay_as_they_are(reward: Reward) -> None:
    for seed in range(4):
        batch = many(seed)
        assert torch.equal(reward(batch), batch.reward_U)


@pytest.mark.parametrize(
    "reward",
    [SoftOverlong(longest=4, cache=2), Laconic(budget=2, start=0.001), ToolBonus(most=5), KlInReward(beta=0.1)],
    ids=repr,
)
def test_what_is_given_stays_as_it_is(reward: Reward) -> None:
    batch, same = many(3), many(3)
    reward(batch)
    assert batch.equals(same)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: SoftOverlong(longest=4, cache=0), "cache=0"),
        (lambda: SoftOverlong(longest=4, cache=5), "cache=5"),
        (lambda: SoftOverlong(longest=4, cache=2, factor=-1), "factor=-1"),
        (lambda: Laconic(budget=0), "budget=0"),
        (lambda: Laconic(budget=1, rate=-1), "rate=-1"),
        (lambda: Laconic(budget=1, floor=1, ceiling=0.5), "floor=1"),
        (lambda: Laconic(budget=1, start=1, ceiling=0.5), "start=1"),
        (lambda: ToolBonus(most=-1), "most=-1"),
        (lambda: ToolBonus(most=1, coefficient=-1), "coefficient=-1"),
        (lambda: KlInReward(beta=-1), "beta=-1"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(make: Callable[[], Reward], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make()
