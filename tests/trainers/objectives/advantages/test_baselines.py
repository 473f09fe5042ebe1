"""Baselines of groups against loops in numpy, and against numbers worked out by hand."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages import (
    Gpg,
    GroupAdvantage,
    PassAtK,
    gpg_factor,
    leave_one_out,
    maxrl,
    opo,
    remax,
    rloo,
)
from palaestra.trainers.objectives.parts import Advantage
from palaestra.trainers.objectives.transforms import DropSmall
from scored import Array, array, drawn, own, paid, per_trajectory, scored


def in_groups(batch: TokenBatch, of: Callable[[Array, Array], Array]) -> Array:
    """Each group by itself, given its returns and its trajectories' trained tokens."""
    returns, groups = array(batch.return_R), batch.group_R.numpy()
    tokens = np.array([len(places) for places in own(batch)], dtype=float)
    found = np.zeros(len(returns))
    for group in sorted(set(groups.tolist())):
        found[groups == group] = of(returns[groups == group], tokens[groups == group])
    return found


def by_others(returns: Array, tokens: Array) -> Array:
    if len(returns) == 1:
        return np.zeros(1)
    return np.array([one - np.delete(returns, place).mean() for place, one in enumerate(returns)])


def by_length(returns: Array, tokens: Array) -> Array:
    return returns - ((returns * tokens).sum() / tokens.sum() if tokens.sum() else 0.0)


def by_lead(returns: Array, tokens: Array) -> Array:
    found = np.zeros(len(returns))
    if len(returns) > 1:
        second, first = sorted(returns)[-2:]
        found[int(returns.argmax())] = first - second
    return found


def by_share(returns: Array, tokens: Array) -> Array:
    return (returns - returns.mean()) / returns.mean() if returns.mean() > 0 else np.zeros(len(returns))


def gpg(batch: TokenBatch, *, std: bool) -> Array:
    taught = in_groups(batch, lambda returns, _: np.full(len(returns), float(len(set(returns.tolist())) > 1)))
    scale = len(taught) / taught.sum() if taught.any() else 1.0

    def of(returns: Array, _: Array) -> Array:
        return np.asarray((returns - returns.mean()) / (returns.std(ddof=1) + 1e-6 if std and len(returns) > 1 else 1))

    return in_groups(batch, of) * scale


BY_HAND: list[tuple[Advantage, Callable[[TokenBatch], Array]]] = [
    (rloo, lambda batch: in_groups(batch, by_others)),
    (opo, lambda batch: in_groups(batch, by_length)),
    (Gpg(), lambda batch: gpg(batch, std=False)),
    (Gpg(scale="group"), lambda batch: gpg(batch, std=True)),
    (PassAtK(), lambda batch: in_groups(batch, by_lead)),
    (maxrl, lambda batch: in_groups(batch, by_share)),
    (remax, lambda batch: array(batch.return_R) - array(batch.column("greedy_R"))),
]


@pytest.mark.parametrize(("part", "expected"), BY_HAND, ids=[str(number) for number in range(len(BY_HAND))])
@pytest.mark.parametrize("seed", range(12))
def test_advantages_are_those_of_a_loop_over_groups(
    part: Advantage, expected: Callable[[TokenBatch], Array], seed: int
) -> None:
    batch = drawn(seed)
    np.testing.assert_allclose(per_trajectory(part(batch), batch), expected(batch), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("part", "returns", "expected"),
    [
        (rloo, [1, 0, 0, 1, 1], [0.5, -0.75, -0.75, 0.5, 0.5]),  # R less the mean of the other four
        (rloo, [1, 0, 0, 1, 1, 0], [0.6, -0.6, -0.6, 0.6, 0.6, -0.6]),  # LOOP
        (PassAtK(), [0.25, 1, 0.75], [0, 0.25, 0]),
        (PassAtK(), [1, 1, 0], [0, 0, 0]),
        (maxrl, [1, 0, 0, 0], [3, -1, -1, -1]),
        (maxrl, [-1, 0.5, 0], [0, 0, 0]),
        (Gpg(), [1, 0], [0.5, -0.5]),
    ],
)
def test_golden_advantages(part: Advantage, returns: Sequence[float], expected: Sequence[float]) -> None:
    batch = paid(returns)
    np.testing.assert_allclose(per_trajectory(part(batch), batch), expected, rtol=0, atol=1e-12)


def test_the_baseline_of_opo_weighs_returns_by_length() -> None:
    """(10 + 30) / 100 = 0.4."""
    batch = scored([[(10, 1)], [(40, 0)], [(20, 0)], [(30, 1)]])
    np.testing.assert_allclose(per_trajectory(opo(batch), batch), [0.6, -0.4, -0.4, 0.6], rtol=0, atol=1e-12)


def test_with_equal_lengths_opo_is_the_mean_of_the_group() -> None:
    batch = paid([1, 0, 0.25, 3], [0, 0, 1, 1], tokens=3)
    torch.testing.assert_close(opo(batch), GroupAdvantage(scale="none")(batch), rtol=0, atol=1e-12)


def test_opo_has_baseline_0_where_nothing_is_trained() -> None:
    batch = scored([[(0, 1)], [(0, 0)]])
    assert per_trajectory(opo(batch), batch).tolist() == [1.0, 0.0]


def test_gpg_grows_by_the_groups_that_teach_nothing() -> None:
    """20 of 32 trajectories are in groups whose returns differ: 32 / 20 = 1.6."""
    returns = torch.tensor([1.0] * 4 + [0.0] * 8 + [0.0, 1.0] * 10)
    assert gpg_factor(returns, torch.tensor([0] * 4 + [1] * 8 + [2] * 20)) == pytest.approx(1.6)


def test_gpg_is_0_where_no_group_teaches_anything() -> None:
    batch = paid([1, 1, 0, 0, 0.5], [0, 0, 1, 1, 2])
    assert not Gpg()(batch).any()


def test_rloo_is_the_group_mean_over_one_less_than_the_group() -> None:
    returns = torch.tensor([1.0, 0.5, 0.0, 0.0], dtype=torch.float64)
    off = returns - returns.mean()
    torch.testing.assert_close(leave_one_out(returns, torch.zeros(4).long()), off * 4 / 3, rtol=0, atol=1e-12)


def test_loop_is_rloo_without_small_advantages() -> None:
    batch = paid([1, 0, 0, 1, 1, 0, 0.5, 0.505], [0, 0, 0, 0, 0, 0, 1, 1])
    found = DropSmall()(rloo(batch), batch)
    np.testing.assert_allclose(per_trajectory(found, batch), [0.6, -0.6, -0.6, 0.6, 0.6, -0.6, 0, 0], atol=1e-12)


def test_pass_at_k_divides_by_the_deviation_where_told() -> None:
    batch = paid([0, 0, 1])
    expected = 1 / (np.std([0, 0, 1], ddof=1) + 1e-6)
    assert per_trajectory(PassAtK(scale="group")(batch), batch)[2] == pytest.approx(expected)
