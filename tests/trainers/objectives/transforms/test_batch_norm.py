"""Advantages against the whole batch, against numpy."""

import math

import numpy as np
import pytest
import torch

from palaestra.trainers.objectives.advantages import ReinforcePlus, reinforce_plus_baseline, rloo
from palaestra.trainers.objectives.transforms import BatchNorm
from scored import array, drawn, own, paid, per_trajectory, scored


@pytest.mark.parametrize("seed", range(8))
def test_trajectories_count_once(seed: int) -> None:
    batch = drawn(seed)
    advantage_T = rloo(batch)
    each = per_trajectory(advantage_T, batch)
    used = np.array([len(places) > 0 for places in own(batch)])
    over = each[used]
    expected = np.clip((each - over.mean()) / over.std(ddof=1), -3, 3)
    found = per_trajectory(BatchNorm()(advantage_T, batch), batch)
    np.testing.assert_allclose(found[used], expected[used], rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_tokens_count_once(seed: int) -> None:
    batch = drawn(seed)
    advantage_T = ReinforcePlus(gamma=0.5)(batch) * 2 + 1
    values = array(advantage_T[batch.trained_T])
    expected = np.clip((values - values.mean()) / values.std(ddof=1), -1.5, 1.5)
    found_T = BatchNorm(over="tokens", clamp=1.5)(advantage_T, batch)
    np.testing.assert_allclose(array(found_T[batch.trained_T]), expected, rtol=0, atol=1e-12)


def test_advantages_that_differ_within_a_trajectory_count_by_their_mean() -> None:
    """Means 1 and 3: mean 2, deviation the root of 2."""
    batch = scored([[(2, 0.0)], [(1, 0.0)]])
    advantage_T = torch.tensor([0.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0])
    found = BatchNorm()(advantage_T, batch)[batch.trained_T]
    assert found.tolist() == pytest.approx([-2 / 2**0.5, 0.0, 1 / 2**0.5])


def test_reinforce_plus_with_a_baseline_is_a_batch_norm_over_tokens() -> None:
    batch = drawn(2)
    found_T = BatchNorm(over="tokens", clamp=math.inf)(rloo(batch), batch)[batch.trained_T]
    assert found_T.mean().item() == pytest.approx(0, abs=1e-12)
    again_T = BatchNorm(over="tokens", clamp=math.inf)(reinforce_plus_baseline(batch), batch)
    torch.testing.assert_close(
        again_T[batch.trained_T], reinforce_plus_baseline(batch)[batch.trained_T], rtol=0, atol=1e-6
    )


def test_far_ones_are_held_at_3() -> None:
    batch = paid([0.0] * 30 + [1.0])
    found = per_trajectory(BatchNorm()(batch.return_R[batch.trajectory_T], batch), batch)
    assert found[-1] == 3.0


@pytest.mark.parametrize("over", ["trajectories", "tokens"])
def test_what_does_not_differ_is_exactly_0(over: str) -> None:
    part = BatchNorm(over="tokens") if over == "tokens" else BatchNorm()
    batch = paid([0.0] * 3, tokens=3)
    advantage_T = torch.full((len(batch.ids_T),), 0.1, dtype=torch.float64)
    assert not part(advantage_T, batch)[batch.trained_T].any()


def test_a_batch_without_trained_tokens_is_finite() -> None:
    batch = scored([[(0, 1.0)], []])
    assert BatchNorm()(torch.zeros(len(batch.ids_T)), batch).isfinite().all()


@pytest.mark.parametrize("clamp", [0.0, -1.0, math.nan])
def test_a_bound_that_leaves_nothing_is_refused(clamp: float) -> None:
    with pytest.raises(ValueError, match="clamp="):
        BatchNorm(clamp=clamp)
