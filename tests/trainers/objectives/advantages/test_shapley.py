"""SHARP against z-scores in numpy; Shapley's values against the mean over all orders in which agents can join."""

from itertools import permutations

import numpy as np
import pytest
import torch

from credit import column, drawn_rewards, played
from palaestra.trainers.objectives.advantages import GroupAdvantage, Sharp, leave_one_out_values, shapley_values

GROUPS = [4, 4, 4, 4, 9, 9]
AGENTS = [1, 1, 7, 7, 1, 7]
SEEDS = range(10)


def by_orders(worth: list[float], agents: int) -> list[float]:
    """The mean of what each adds when it joins, over all orders."""
    added = np.zeros(agents)
    orders = list(permutations(range(agents)))
    for order in orders:
        there = 0
        for agent in order:
            added[agent] += worth[there | 1 << agent] - worth[there]
            there |= 1 << agent
    found: list[float] = (added / len(orders)).tolist()
    return found


@pytest.mark.parametrize("agents", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", SEEDS)
def test_shapleys_values_are_means_over_orders_and_share_out_all_there_is(seed: int, agents: int) -> None:
    worth = np.random.default_rng(seed).normal(size=2**agents).tolist()
    found = shapley_values(column(worth)).tolist()
    np.testing.assert_allclose(found, by_orders(worth, agents), atol=1e-12)
    assert sum(found) == pytest.approx(worth[-1] - worth[0])


@pytest.mark.parametrize(
    ("worth", "shared", "left"),
    [
        ([0, 0, 0, 0, 0, 0, 0, 1], [1 / 3] * 3, [1, 1, 1]),  # all are needed
        ([0, 1, 1, 1, 1, 1, 1, 1], [1 / 3] * 3, [0, 0, 0]),  # any one will do
        ([0, 1, 2, 3, 4, 5, 6, 7], [1, 2, 4], [1, 2, 4]),  # what they add adds up
    ],
)
def test_leaving_one_out_is_shapleys_value_only_of_what_adds_up(
    worth: list[float], shared: list[float], left: list[float]
) -> None:
    np.testing.assert_allclose(shapley_values(column(worth)).numpy(), shared, atol=1e-12)
    assert leave_one_out_values(column(worth)).tolist() == left


def test_nobody_has_no_share() -> None:
    assert len(shapley_values(column([1.0]))) == len(leave_one_out_values(column([1.0]))) == 0


@pytest.mark.parametrize("count", [0, 3, 6])
def test_coalitions_that_are_missing_are_named(count: int) -> None:
    with pytest.raises(ValueError, match=rf"{count} coalitions: A agents have 2 \*\* A"):
        shapley_values(torch.zeros(count))
    with pytest.raises(ValueError, match=f"{count} coalitions"):
        leave_one_out_values(torch.zeros(count))


@pytest.mark.parametrize("seed", SEEDS)
def test_advantages_are_z_scores_of_the_three_rewards_within_a_role(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rewards = drawn_rewards(rng, GROUPS)
    invalid = [rng.integers(0, 2, len(paid)).tolist() for paid in rewards]
    without = rng.normal(size=len(GROUPS)).tolist()
    columns = {
        "agent_R": torch.tensor(AGENTS),
        "counterfactual_R": column(without),
        "invalid_U": torch.tensor([x for own in invalid for x in own]),
    }
    batch = played(rewards, GROUPS, columns=columns)
    total = [
        sum(paid) + 0.5 * (sum(paid) - other) + 0.25 * (1 - float(np.mean(own)))
        for paid, other, own in zip(rewards, without, invalid, strict=True)
    ]
    expected: list[float] = []
    for value, key in zip(total, zip(GROUPS, AGENTS, strict=True), strict=True):
        rivals = [x for x, its in zip(total, zip(GROUPS, AGENTS, strict=True), strict=True) if its == key]
        expected.append(0.0 if len(rivals) == 1 else float((value - np.mean(rivals)) / (np.std(rivals, ddof=1) + 1e-6)))
    found_T = Sharp(contribution=0.5, validity=0.25)(batch)
    np.testing.assert_allclose(found_T.numpy(), np.array(expected)[batch.trajectory_T.numpy()], rtol=1e-8, atol=1e-8)


def test_with_one_role_and_no_coefficients_it_is_grpo() -> None:
    batch = played([[1.0], [0.0, 0.5], [0.25]], [0, 0, 0])
    columns = {"agent_R": torch.zeros(3), "counterfactual_R": column([9, 9, 9]), "invalid_U": torch.ones(4)}
    found_T = Sharp(contribution=0.0, validity=0.0)(batch.with_columns(columns))
    torch.testing.assert_close(found_T, GroupAdvantage()(batch), rtol=1e-12, atol=1e-12)


def test_a_role_that_nobody_else_had_has_advantage_exactly_0() -> None:
    columns = {"agent_R": torch.tensor([0, 1]), "counterfactual_R": column([0, 0]), "invalid_U": torch.zeros(2)}
    assert not Sharp()(played([[1.0], [0.0]], [0, 0], columns=columns)).any()
