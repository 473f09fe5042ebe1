"""GDPO against loops over layers and groups."""

import numpy as np
import pytest
import torch

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages import Gdpo
from scored import Array, array, drawn, own, paid, per_trajectory


def by_layers(batch: TokenBatch, weights: tuple[float, ...]) -> Array:
    layers, groups = array(batch.column("layers_UL")), batch.group_R.numpy()
    whose = batch.trajectory_U.numpy()
    found = np.zeros(batch.trajectories)
    for layer, weight in enumerate(weights):
        total = np.array([layers[whose == number, layer].sum() for number in range(batch.trajectories)])
        for number, group in enumerate(groups):
            rivals = total[groups == group]
            if len(set(rivals.tolist())) > 1:
                found[number] += weight * (total[number] - rivals.mean()) / (rivals.std(ddof=1) + 1e-6)
    return found


def white(values: Array, over: Array) -> Array:
    return np.asarray((values - over.mean()) / np.sqrt(over.var(ddof=1) + 1e-8))


@pytest.mark.parametrize("weights", [(), (1.0, 0.5, 0.0, 2.0)])
@pytest.mark.parametrize("seed", range(6))
def test_layers_are_compared_one_by_one(seed: int, weights: tuple[float, ...]) -> None:
    batch = drawn(seed)
    summed = by_layers(batch, weights or (1.0,) * 4)
    tokens = np.repeat(summed, [len(places) for places in own(batch)])
    found = array(Gdpo(weights=weights)(batch)[batch.trained_T])
    np.testing.assert_allclose(found, white(tokens, tokens), rtol=0, atol=1e-12)
    each = per_trajectory(Gdpo(weights=weights, over="trajectories")(batch), batch)
    np.testing.assert_allclose(each, white(summed, summed), rtol=0, atol=1e-12)


def test_the_scale_of_a_layer_does_not_matter() -> None:
    layers_UL = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    small = paid([0, 1, 1]).with_columns({"layers_UL": layers_UL})
    large = small.with_columns({"layers_UL": layers_UL * torch.tensor([1.0, 1000.0])})
    torch.testing.assert_close(Gdpo()(small), Gdpo()(large), rtol=0, atol=1e-5)


def test_layers_that_cancel_still_teach() -> None:
    """Both trajectories are paid 1 in all, and the second layer counts twice."""
    layers_UL = torch.tensor([[1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    batch = paid([1, 1]).with_columns({"layers_UL": layers_UL})
    first, second = per_trajectory(Gdpo(weights=(1.0, 2.0))(batch), batch)
    assert first < 0 < second


def test_weights_that_are_not_one_for_each_layer_are_refused() -> None:
    with pytest.raises(ValueError, match="rewards have 4 layers"):
        Gdpo(weights=(1.0, 2.0))(drawn(0))
