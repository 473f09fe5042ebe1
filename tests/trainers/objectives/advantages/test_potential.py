"""Shaping by a potential: the formula turn by turn, and the sum that telescopes."""

import numpy as np
import pytest
import torch

from credit import column, drawn_rewards, played
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages import Potential, potential_differences

SEEDS = range(10)


def drawn(seed: int) -> tuple[list[list[float]], list[list[float]], TokenBatch]:
    """Rewards, values before the first and after each turn, and the batch of both."""
    rng = np.random.default_rng(seed)
    rewards = drawn_rewards(rng, [0, 0, 0, 0])
    value = [rng.normal(size=len(paid) + 1).tolist() for paid in rewards]
    columns = {
        "potential_U": column([x for own in value for x in own[1:]]),
        "potential_R": column([own[0] for own in value]),
    }
    return rewards, value, played(rewards, [0] * 4, columns=columns)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_turn_is_paid_what_it_did_to_the_value_too(seed: int) -> None:
    rewards, value, batch = drawn(seed)
    expected = [
        reward + 0.5 * (0.9 * own[t + 1] - own[t])
        for paid, own in zip(rewards, value, strict=True)
        for t, reward in enumerate(paid)
    ]
    np.testing.assert_allclose(Potential(weight=0.5, gamma=0.9)(batch).numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("gamma", [1.0, 0.8])
@pytest.mark.parametrize("seed", SEEDS)
def test_shaping_adds_up_to_the_last_value_less_the_first(seed: int, gamma: float) -> None:
    _, value, batch = drawn(seed)
    shaping_U = potential_differences(
        batch.column("potential_U"), batch.column("potential_R"), batch.trajectory_U, gamma=gamma
    )
    for place, own in enumerate(value):
        extra = shaping_U[batch.trajectory_U == place].tolist()
        total = sum(gamma**t * x for t, x in enumerate(extra))
        assert total == pytest.approx(gamma ** len(extra) * own[-1] - own[0])


def test_a_value_that_never_changes_pays_nothing() -> None:
    batch = played(
        [[1.0, 0.5], [0.25]], [0, 0], columns={"potential_U": column([3] * 3), "potential_R": column([3, 3])}
    )
    assert torch.equal(Potential()(batch), batch.reward_U)


@pytest.mark.parametrize("seed", SEEDS)
def test_without_weight_rewards_are_as_they_were(seed: int) -> None:
    _, _, batch = drawn(seed)
    assert torch.equal(Potential(weight=0.0)(batch), batch.reward_U)


def test_a_discount_beyond_its_range_is_refused() -> None:
    with pytest.raises(ValueError, match=r"gamma=-1"):
        Potential(gamma=-1.0)
