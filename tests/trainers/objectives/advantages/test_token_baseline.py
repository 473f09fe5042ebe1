"""OTB against loops over groups and places."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages import GroupAdvantage, Otb
from scored import Array, array, drawn, own, scored, token_pay


def by_places(batch: TokenBatch, *, zero_tail: bool = True, most: float | None = None) -> Array:
    pay, old = token_pay(batch), array(batch.column("old_T"))
    energy = np.maximum(1 - 2 * np.exp(old) + array(batch.column("square_T")), 0)
    if most is not None:
        energy = energy * np.minimum(np.exp(old - array(batch.logprob_T)), most) ** 2
    groups, found = batch.group_R.tolist(), np.zeros(len(pay))
    trajectories = own(batch)
    for number, places in enumerate(trajectories):
        rivals = [one for r, one in enumerate(trajectories) if groups[r] == groups[number] and one]
        for t, place in enumerate(places):
            there = [one for one in rivals if len(one) > t]
            top = sum(pay[one[t:]].sum() * energy[one[: t + 1]].sum() for one in there)
            baseline = top / sum(energy[one[: t + 1]].sum() for one in there)
            if len(rivals) == 1 or (zero_tail and len(there) == 1):
                baseline = 0.0
            found[place] = pay[places[t:]].sum() - baseline
    return found


@pytest.mark.parametrize(("zero_tail", "most"), [(True, None), (False, None), (True, 1.2)])
@pytest.mark.parametrize("seed", range(8))
def test_each_place_has_a_baseline_of_its_own(seed: int, zero_tail: bool, most: float | None) -> None:
    batch = drawn(seed)
    expected = by_places(batch, zero_tail=zero_tail, most=most)
    found = Otb(zero_tail=zero_tail, most=most)(batch)
    np.testing.assert_allclose(array(found), expected, rtol=0, atol=1e-11)


def alike(lengths: list[int], returns: list[float], groups: list[int] | None = None) -> TokenBatch:
    """Tokens of probability 1/2, of two that there are: each counts 1 - 1 + 1/2."""
    batch = scored([[(length, one)] for length, one in zip(lengths, returns, strict=True)], groups)
    half_T = torch.full((len(batch.ids_T),), 0.5, dtype=torch.float64)
    return replace(batch, logprob_T=half_T.log()).with_columns({"old_T": half_T.log(), "square_T": half_T})


def test_tokens_alike_have_the_mean_of_the_group_as_their_baseline() -> None:
    batch = alike([3, 3, 3], [1, 0, 0.5])
    expected = GroupAdvantage(scale="none")(batch)[batch.trained_T]
    torch.testing.assert_close(Otb()(batch)[batch.trained_T], expected, rtol=0, atol=1e-12)


def test_behind_the_second_longest_the_baseline_is_0() -> None:
    batch = alike([4, 2], [1, 0])
    assert Otb()(batch)[batch.trained_T].tolist() == [0.5, 0.5, 1.0, 1.0, -0.5, -0.5]
    assert Otb(zero_tail=False)(batch)[batch.trained_T].tolist() == [0.5, 0.5, 0.0, 0.0, -0.5, -0.5]


@pytest.mark.parametrize("zero_tail", [True, False])
def test_one_that_is_alone_has_its_return(zero_tail: bool) -> None:
    batch = alike([2, 3], [1, 2], [0, 1])
    assert Otb(zero_tail=zero_tail)(batch)[batch.trained_T].tolist() == [1.0, 1.0, 2.0, 2.0, 2.0]


def test_a_trajectory_of_no_tokens_is_nobodys_rival() -> None:
    batch = alike([2, 0], [1, 2])
    assert Otb(zero_tail=False)(batch)[batch.trained_T].tolist() == [1.0, 1.0]


def test_equal_returns_of_equal_lengths_are_exactly_0() -> None:
    batch = drawn(0)
    batch = scored([[(3, 0.1)]] * 3).with_columns(
        {name: batch.column(name)[:15] for name in ("old_T", "square_T")},
    )
    assert not Otb()(batch).any()


def test_a_weight_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match=r"most=0\.0"):
        Otb(most=0.0)
