"""Rows, discounts and what tokens were paid."""

import numpy as np
import pytest
import torch

from palaestra.trainers.objectives.advantages import returns_to_go, token_rewards
from palaestra.trainers.objectives.advantages.discounts import discount, following, refuse_beyond_one
from palaestra.trainers.objectives.advantages.rows import Rows
from palaestra.trainers.objectives.advantages.weighted import exact_mean_over, off_weighted_mean
from scored import array, drawn, own, scored, token_pay


def test_what_is_spread_in_rows_is_gathered_again() -> None:
    rows = Rows.of(torch.tensor([0, 0, 2, 2, 2]), 4)
    value_X = torch.arange(1.0, 6.0)
    assert rows.spread(value_X).tolist() == [[1, 2, 0], [0, 0, 0], [3, 4, 5], [0, 0, 0]]
    assert torch.equal(rows.gather(rows.spread(value_X)), value_X)


def test_no_things_are_rows_of_no_places() -> None:
    rows = Rows.of(torch.zeros(0).long(), 3)
    empty = rows.spread(torch.zeros(0))
    assert empty.shape == (3, 0)
    assert discount(empty, 0.5).shape == following(empty).shape == (3, 0)


def test_what_follows_is_worth_less_at_each_place() -> None:
    """1 + 2 / 2 + 4 / 4 and so on."""
    found = discount(torch.tensor([[1.0, 2.0, 4.0]]), 0.5)
    assert found.tolist() == [[3.0, 4.0, 4.0]]


def test_a_discount_may_differ_from_row_to_row() -> None:
    found = discount(torch.ones(2, 3), torch.tensor([[1.0], [0.0]]))
    assert found.tolist() == [[3.0, 2.0, 1.0], [1.0, 1.0, 1.0]]


@pytest.mark.parametrize("seed", range(12))
def test_a_turn_is_paid_at_its_last_trained_token(seed: int) -> None:
    batch = drawn(seed)
    np.testing.assert_allclose(array(token_rewards(batch)), token_pay(batch), rtol=0, atol=1e-12)


def test_a_turn_of_which_nothing_is_trained_pays_the_turn_before() -> None:
    batch = scored([[(0, 8.0), (2, 1.0), (0, 2.0), (0, 4.0)], [(0, 16.0)], [(1, 32.0)]])
    assert token_rewards(batch)[batch.trained_T].tolist() == [0.0, 7.0, 32.0]


def test_tokens_that_are_not_trained_do_not_discount() -> None:
    batch = scored([[(1, 0.0), (1, 0.0), (1, 1.0)]])
    found_T = returns_to_go(token_rewards(batch), batch, gamma=0.5)
    assert [float(found_T[place]) for place in own(batch)[0]] == [0.25, 0.5, 1.0]


def test_a_weighted_mean_of_what_is_equal_is_left_exactly_at_0() -> None:
    value_X = torch.full((3,), 0.1, dtype=torch.float64)
    weight_X = torch.tensor([0.3, 0.7, 11.0], dtype=torch.float64)
    assert not off_weighted_mean(value_X, weight_X, torch.zeros(3).long(), 1).any()


def test_without_weights_the_baseline_is_0() -> None:
    value_X = torch.tensor([1.0, 3.0, 5.0])
    found = off_weighted_mean(value_X, torch.tensor([0.0, 0.0, 2.0]), torch.tensor([0, 0, 1]), 2)
    assert found.tolist() == [1.0, 3.0, 0.0]


def test_the_mean_of_what_is_equal_is_exact() -> None:
    value_X = torch.full((3,), 0.1, dtype=torch.float64)
    assert exact_mean_over(value_X, torch.zeros(3).long(), 2).tolist() == [0.1, 0.0]


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
def test_a_discount_beyond_one_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="gamma="):
        refuse_beyond_one(gamma=value)
