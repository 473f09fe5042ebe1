"""Two streams of advantages, each over its root mean square. Axes: T tokens."""

import numpy as np
import pytest
import torch

from complete import complete
from palaestra.trainers.objectives.advantages import Cm2, Gigpo
from palaestra.trainers.objectives.transforms import ChecklistStream, normalised_stream
from scored import array

SEEDS = range(4)


@pytest.mark.parametrize("seed", SEEDS)
def test_each_stream_is_over_its_own_root_mean_square(seed: int) -> None:
    batch = complete(seed=seed)
    first_T, second_T = Gigpo()(batch), Cm2(assignment="step")(batch)
    own = array(batch.trained_T).astype(bool)
    first, second = array(first_T)[own], array(second_T)[own]
    expected = first / np.sqrt(np.mean(first**2)) + 0.3 * second / np.sqrt(np.mean(second**2))
    found_T = ChecklistStream(weight=0.3, assignment="step")(first_T, batch)
    np.testing.assert_allclose(array(found_T)[own], expected, rtol=0, atol=1e-12)


def test_neither_the_size_of_returns_nor_that_of_points_decides_which_is_learnt_from() -> None:
    batch = complete()
    own_T = batch.trained_T
    large = batch.with_columns({"points_RC": 7 * batch.column("points_RC")})
    found_T = ChecklistStream()(Gigpo()(batch), batch)
    torch.testing.assert_close(ChecklistStream()(100 * Gigpo()(batch), large)[own_T], found_T[own_T])


def test_a_stream_that_is_0_throughout_adds_nothing_and_the_other_is_as_large_as_ever() -> None:
    batch = complete()
    own_T = batch.trained_T
    first_T = Gigpo()(batch)
    nothing = batch.with_columns({"met_UC": torch.zeros_like(batch.column("met_UC"))})
    alone_T = ChecklistStream()(first_T, nothing)
    torch.testing.assert_close(alone_T[own_T], normalised_stream(first_T, own_T)[own_T], rtol=0, atol=0)
    assert float(alone_T[own_T].square().mean()) == pytest.approx(1.0)
    only_T = ChecklistStream(weight=0.5)(torch.zeros_like(first_T), batch)
    assert float(only_T[own_T].square().mean()) == pytest.approx(0.25)
    assert not ChecklistStream()(torch.zeros_like(first_T), nothing).any()


def test_the_golden_sum() -> None:
    """(3, -4, 0, 0) has the root mean square 2.5, so that it is (1.2, -1.6, 0, 0)."""
    given_T = torch.tensor([3.0, 9.0, -4.0, 0.0, 0.0], dtype=torch.float64)
    own_T = torch.tensor([True, False, True, True, True])
    assert normalised_stream(given_T, own_T)[own_T].tolist() == pytest.approx([1.2, -1.6, 0.0, 0.0])


def test_a_weight_of_nothing_leaves_advantages_and_their_scale() -> None:
    batch = complete()
    assert torch.equal(ChecklistStream(weight=0.0)(Gigpo()(batch), batch), Gigpo()(batch))


@pytest.mark.parametrize("setting", [{"weight": -1.0}, {"least": 0}])
def test_a_setting_that_makes_no_sense_is_refused(setting: dict[str, float]) -> None:
    ((name, value),) = setting.items()
    with pytest.raises(ValueError, match=f"{name}={value}"):
        ChecklistStream(**setting)  # type: ignore[arg-type]
