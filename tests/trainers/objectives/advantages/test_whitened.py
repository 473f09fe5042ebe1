"""REINFORCE++ against loops over tokens."""

import numpy as np
import pytest
import torch

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages import (
    ReinforcePlus,
    ReinforcePlusKl,
    reinforce_plus_baseline,
    whiten,
)
from scored import Array, array, drawn, own, paid, scored, token_pay


def white(values: Array) -> Array:
    if len(values) < 2:
        return np.zeros(len(values))
    return np.asarray((values - values.mean()) / np.sqrt(values.var(ddof=1) + 1e-8))


def to_go(batch: TokenBatch, pay: Array, *, gamma: float) -> Array:
    """Of trained tokens, in order."""
    found: list[float] = []
    for places in own(batch):
        for number in range(len(places)):
            later = places[number:]
            found.append(sum(gamma**distance * float(pay[place]) for distance, place in enumerate(later)))
    return np.array(found)


@pytest.mark.parametrize("gamma", [1.0, 0.9, 0.0])
@pytest.mark.parametrize("seed", range(6))
def test_returns_to_go_are_whitened_over_all_trained_tokens(seed: int, gamma: float) -> None:
    batch = drawn(seed)
    found = array(ReinforcePlus(gamma=gamma)(batch)[batch.trained_T])
    np.testing.assert_allclose(found, white(to_go(batch, token_pay(batch), gamma=gamma)), rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_leaving_the_reference_policy_is_paid_for_at_each_token(seed: int) -> None:
    batch = drawn(seed)
    pay = token_pay(batch) - 0.3 * (array(batch.column("old_T")) - array(batch.column("ref_T")))
    found = array(ReinforcePlusKl(beta=0.3, gamma=0.95)(batch)[batch.trained_T])
    np.testing.assert_allclose(found, white(to_go(batch, pay, gamma=0.95)), rtol=0, atol=1e-12)


def test_leaving_it_for_nothing_is_reinforce_plus() -> None:
    batch = drawn(3)
    assert torch.equal(ReinforcePlusKl(beta=0.0)(batch), ReinforcePlus()(batch))


@pytest.mark.parametrize("seed", range(6))
def test_the_baseline_is_taken_off_before_whitening(seed: int) -> None:
    batch = drawn(seed)
    returns, groups = array(batch.return_R), batch.group_R.numpy()
    off = returns - np.array([returns[groups == group].mean() for group in groups])
    tokens = np.repeat(off, [len(places) for places in own(batch)])
    found = array(reinforce_plus_baseline(batch)[batch.trained_T])
    np.testing.assert_allclose(found, white(tokens), rtol=0, atol=1e-12)


def test_longer_trajectories_weigh_more_in_the_mean() -> None:
    """Three tokens of return 1, one of 0: mean 3/4, variance 1/4."""
    batch = scored([[(3, 1.0)], [(1, 0.0)]])
    found = ReinforcePlus()(batch)[batch.trained_T].tolist()
    assert found == pytest.approx([0.5, 0.5, 0.5, -1.5], abs=1e-6)


def test_equal_returns_are_exactly_0() -> None:
    batch = paid([0.1, 0.1, 0.1])
    assert not ReinforcePlus()(batch).any()
    assert not reinforce_plus_baseline(batch).any()


def test_whitening_looks_at_trained_tokens_only() -> None:
    own_T = torch.tensor([True, False, True])
    assert whiten(torch.tensor([1.0, 1e6, -1.0]), own_T).tolist() == pytest.approx([2**-0.5, 0, -(2**-0.5)])


def test_bad_settings_are_refused() -> None:
    with pytest.raises(ValueError, match=r"gamma=1\.5"):
        ReinforcePlus(gamma=1.5)
    with pytest.raises(ValueError, match=r"gamma=-1"):
        ReinforcePlusKl(beta=0.1, gamma=-1)
    with pytest.raises(ValueError, match=r"beta=-0\.1"):
        ReinforcePlusKl(beta=-0.1)
