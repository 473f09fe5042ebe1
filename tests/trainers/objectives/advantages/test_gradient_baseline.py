"""OPOB against loops over groups, and against what it is to minimise."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages import GroupAdvantage, Opob, OpobProxy
from palaestra.trainers.objectives.advantages.gradient_baseline import Mode
from scored import Array, array, drawn, own, paid, per_trajectory


def weights(batch: TokenBatch, *, most: float = math.inf) -> Array:
    off = array(batch.column("old_T")) - array(batch.logprob_T)
    return np.array([min(math.exp(sum(float(off[place]) for place in places)), most) for places in own(batch)])


def baseline(returns: Array, weight: Array, mode: str) -> float:
    if weight.sum() == 0:
        return 0.0
    if mode == "median":
        order = np.argsort(returns, kind="stable")
        total = 0.0
        for place in order:
            total += weight[place]
            if total >= weight.sum() / 2:
                return float(returns[place])
    if mode == "winsorised":
        returns = np.clip(returns, np.quantile(returns, 0.05), np.quantile(returns, 0.95))
    return float((weight * returns).sum() / weight.sum())


def by_groups(batch: TokenBatch, norm: Array, *, power: int = 2, most: float = math.inf, mode: str = "mean") -> Array:
    returns, groups = array(batch.return_R), batch.group_R.numpy()
    weight = weights(batch, most=most) ** power * norm
    return np.array(
        [
            returns[number] - baseline(returns[groups == group], weight[groups == group], mode)
            for number, group in enumerate(groups)
        ]
    )


@pytest.mark.parametrize("mode", ["mean", "median", "winsorised"])
@pytest.mark.parametrize("seed", range(8))
def test_returns_are_weighed_by_squared_ratios_and_gradients(seed: int, mode: Mode) -> None:
    batch = drawn(seed)
    expected = by_groups(batch, array(batch.column("norm_R")), mode=mode)
    found = per_trajectory(Opob(mode=mode)(batch), batch)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_settings_change_weights_and_scope(seed: int) -> None:
    batch = drawn(seed)
    norm = array(batch.column("norm_R"))
    found = per_trajectory(Opob(most=1.1)(batch), batch)
    np.testing.assert_allclose(found, by_groups(batch, norm, most=1.1), rtol=0, atol=1e-12)
    found = per_trajectory(Opob(double_weight=True)(batch), batch)
    np.testing.assert_allclose(found, by_groups(batch, norm, power=4), rtol=0, atol=1e-12)
    together = replace(batch, group_R=torch.zeros_like(batch.group_R))
    found = per_trajectory(Opob(scope="batch")(batch), batch)
    np.testing.assert_allclose(found, by_groups(together, norm), rtol=0, atol=1e-12)
    found = per_trajectory(Opob(scope="batch", scale="owner")(batch), batch)
    expected = by_groups(together, norm) / (array(batch.return_R).std() + 1e-8)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_the_proxy_takes_gradients_of_logits(seed: int) -> None:
    batch = drawn(seed)
    energy = 1 - 2 * np.exp(array(batch.column("old_T"))) + array(batch.column("square_T"))
    norm = np.array([energy[places].sum() for places in own(batch)])
    found = per_trajectory(OpobProxy()(batch), batch)
    np.testing.assert_allclose(found, by_groups(batch, norm), rtol=0, atol=1e-12)


def weighed(returns: Sequence[float], ratios: Sequence[float], norms: Sequence[float]) -> TokenBatch:
    """Trajectories of one trained token."""
    batch = paid(returns, tokens=1)
    ratio_R = torch.tensor(ratios, dtype=torch.float64)
    return batch.with_columns(
        {
            "old_T": ratio_R.log()[batch.trajectory_T],
            "norm_R": torch.tensor(norms, dtype=torch.float64),
        }
    )


def test_golden_baseline() -> None:
    """25 / 28."""
    batch = weighed([0, 0, 0, 1], [1, 1, 1, 5], [1, 1, 1, 1])
    assert per_trajectory(Opob()(batch), batch)[0] == pytest.approx(-0.892857, abs=1e-6)


def test_with_equal_weights_it_is_the_mean_of_the_group() -> None:
    batch = weighed([1, 0, 0.5], [2, 2, 2], [3, 3, 3])
    torch.testing.assert_close(Opob()(batch), GroupAdvantage(scale="none")(batch), rtol=0, atol=1e-12)


def test_where_one_weighs_everything_its_return_is_the_baseline() -> None:
    batch = weighed([1, 0.25, 0.5], [1, 1, 1], [0, 2, 0])
    np.testing.assert_allclose(per_trajectory(Opob()(batch), batch), [0.75, 0, 0.25], rtol=0, atol=1e-12)


@pytest.mark.parametrize("mode", ["mean", "median", "winsorised"])
def test_where_nothing_weighs_the_baseline_is_0(mode: Mode) -> None:
    batch = weighed([1, 0.25], [1, 1], [0, 0])
    assert per_trajectory(Opob(mode=mode)(batch), batch).tolist() == [1.0, 0.25]


@pytest.mark.parametrize("mode", ["mean", "median", "winsorised"])
def test_equal_returns_are_exactly_0(mode: Mode) -> None:
    batch = weighed([0.1, 0.1, 0.1], [1, 2, 3], [0.3, 0.7, 0.9])
    assert not Opob(mode=mode)(batch).any()


def test_no_other_baseline_makes_gradients_vary_less() -> None:
    """Sum w^2 |g|^2 (R - b)^2 rises on both sides."""
    batch = drawn(5, groups=1)
    found = per_trajectory(Opob()(batch), batch)
    weight = weights(batch) ** 2 * array(batch.column("norm_R"))
    spread = [(weight * (found + step) ** 2).sum() for step in (-1e-3, 0.0, 1e-3)]
    assert spread[1] < min(spread[0], spread[2])


def test_however_far_off_all_is_finite() -> None:
    batch = weighed([1, 0, 0.5], [1, 1, 1], [1, 1, 1])
    off_T = torch.tensor([0, -900.0, 900.0], dtype=torch.float32)[batch.trajectory_T]
    far = batch.with_columns({"old_T": off_T, "norm_R": torch.full((3,), 1e30)})
    assert Opob(double_weight=True)(far).isfinite().all()


@pytest.mark.parametrize("kind", [Opob, OpobProxy])
def test_a_weight_of_nothing_is_refused(kind: Any) -> None:
    with pytest.raises(ValueError, match=r"most=0\.0"):
        kind(most=0.0)
