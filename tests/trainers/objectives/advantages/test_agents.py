"""Dr.MAS against loops over agents."""

import numpy as np
import pytest
import torch

from palaestra.trainers.objectives.advantages import DrMas, GroupAdvantage
from scored import array, drawn, paid, per_trajectory


@pytest.mark.parametrize("seed", range(8))
def test_an_agent_is_compared_with_itself(seed: int) -> None:
    batch = drawn(seed)
    returns, groups, agents = array(batch.return_R), batch.group_R.numpy(), batch.column("agent_R").numpy()
    expected = np.zeros(len(returns))
    for number in range(len(returns)):
        rivals = returns[(groups == groups[number]) & (agents == agents[number])]
        if len(rivals) == 1:
            expected[number] = returns[number] / (1 + 1e-6)
        elif len(set(rivals.tolist())) > 1:
            expected[number] = (returns[number] - rivals.mean()) / (rivals.std(ddof=1) + 1e-6)
    np.testing.assert_allclose(per_trajectory(DrMas()(batch), batch), expected, rtol=0, atol=1e-12)


def test_with_one_agent_it_is_grpo() -> None:
    batch = paid([1, 0, 0.5, 2, 2, 0], [0, 0, 0, 1, 1, 1]).with_columns({"agent_R": torch.zeros(6)})
    torch.testing.assert_close(DrMas()(batch), GroupAdvantage()(batch), rtol=0, atol=1e-12)


def test_one_that_acted_once_keeps_its_return_unless_told() -> None:
    batch = paid([1, 0, 2]).with_columns({"agent_R": torch.tensor([0, 0, 1])})
    assert per_trajectory(DrMas()(batch), batch)[2] == pytest.approx(2, abs=1e-5)
    assert per_trajectory(DrMas(alone="zero")(batch), batch)[2] == 0.0


@pytest.mark.parametrize(("mean", "variance", "factor"), [(0.8, 0.04, 0.52), (0.0, 0.25, 2.0)])
def test_a_mean_of_all_agents_inflates_the_variance_of_one(mean: float, variance: float, factor: float) -> None:
    """(std_k^2 + (mean_k - mean)^2) / std^2 with mean 0.5 and std^2 0.25 of all."""
    returns = mean + variance**0.5 * np.array([1.0, -1.0])
    assert np.mean((returns - 0.5) ** 2 / 0.25) == pytest.approx(factor)
