"""Advantages too small to be worth a step."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from palaestra.trainers.objectives.transforms import DropSmall
from scored import array, drawn


@given(st.integers(0, 100), st.floats(0, 2))
def test_only_what_is_as_large_stays(seed: int, below: float) -> None:
    batch = drawn(seed % 5)
    advantage_T = torch.from_numpy(np.random.default_rng(seed).normal(0, 1, len(batch.ids_T)))
    found = array(DropSmall(below=below)(advantage_T, batch))
    expected = [one if abs(one) >= below else 0.0 for one in advantage_T.tolist()]
    assert found.tolist() == expected


def test_what_is_just_as_large_as_the_bound_stays() -> None:
    batch = drawn(0)
    advantage_T = torch.full((len(batch.ids_T),), -0.01, dtype=torch.float64)
    assert torch.equal(DropSmall()(advantage_T, batch), advantage_T)
    assert not DropSmall()(advantage_T * 0.99, batch).any()


def test_with_no_bound_nothing_changes() -> None:
    batch = drawn(0)
    advantage_T = torch.from_numpy(np.random.default_rng(0).normal(0, 1e-9, len(batch.ids_T)))
    assert torch.equal(DropSmall(below=0.0)(advantage_T, batch), advantage_T)


@pytest.mark.parametrize("below", [-0.1, float("nan")])
def test_a_bound_below_0_is_refused(below: float) -> None:
    with pytest.raises(ValueError, match="below="):
        DropSmall(below=below)
