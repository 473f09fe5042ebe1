"""Quantiles against numpy's."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from palaestra.trainers.objectives.quantile import quantile


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=30), st.floats(0, 1))
def test_quantiles_are_those_of_numpy(values: list[float], share: float) -> None:
    found = quantile(torch.tensor(values, dtype=torch.float64), share).item()
    assert found == pytest.approx(float(np.quantile(values, share)), abs=1e-9)


def test_equal_values_are_their_quantile_exactly() -> None:
    assert quantile(torch.full((7,), 0.1), 0.37).item() == torch.tensor(0.1).item()


def test_infinite_neighbours_make_nothing_undefined() -> None:
    assert quantile(torch.tensor([-torch.inf, -torch.inf, 1.0]), 0.25).item() == -torch.inf


def test_nothing_has_the_quantile_0() -> None:
    assert quantile(torch.zeros(0), 0.5).item() == 0
