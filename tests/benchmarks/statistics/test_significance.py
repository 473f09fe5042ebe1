"""The sign-flip test against every choice of signs in plain Python, and Holm's correction against its definition."""

import math
from itertools import product
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.benchmarks.statistics.significance import holm, sign_flip_p

WHOLE = st.lists(st.integers(-50, 50).map(float), max_size=8)
P_VALUES = st.lists(st.floats(0, 1), max_size=8)


def slow_p(differences: list[float]) -> float:
    """Every choice of signs, one by one, zeros and all."""
    seen = abs(math.fsum(differences))
    sums = [
        abs(math.fsum(sign * one for sign, one in zip(signs, differences, strict=True)))
        for signs in product((-1, 1), repeat=len(differences))
    ]
    return fmean(total >= seen for total in sums)


def slow_holm(p_values: list[float], level: float) -> list[bool]:
    """Holm's procedure as it is defined: from the smallest on, until one fails."""
    found = [False] * len(p_values)
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        if (len(p_values) - rank) * p_values[place] >= level:
            break
        found[place] = True
    return found


@given(WHOLE)
def test_p_is_the_share_of_signs_that_go_as_far(differences: list[float]) -> None:
    assert sign_flip_p(differences) == pytest.approx(slow_p(differences), abs=1e-12)


@given(WHOLE, st.randoms(use_true_random=False))
def test_order_side_and_scale_change_nothing(differences: list[float], rng: np.random.Generator) -> None:
    shuffled = sorted(differences, key=lambda _: rng.random())
    p = sign_flip_p(differences)
    assert sign_flip_p(shuffled) == p
    assert sign_flip_p([-one for one in differences]) == p
    assert sign_flip_p([one / 3 for one in differences]) == p


def test_all_tasks_won_alike_have_two_choices_of_signs_in_all() -> None:
    # Only all signs kept, and all changed, go as far.
    assert sign_flip_p([1.0] * 6) == 2 / 2**6


def test_no_difference_is_no_finding() -> None:
    assert sign_flip_p([]) == sign_flip_p([0.0] * 30) == 1.0


def test_drawn_signs_agree_with_every_choice() -> None:
    rng = np.random.default_rng(1)
    for _ in range(10):
        differences = list(rng.normal(0.4, 1, 14))
        exact, drawn = sign_flip_p(differences), sign_flip_p(differences, exact=0)
        # Four standard errors of a share of 20,000 draws.
        assert drawn == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 20_000) + 1 / 20_000)


def test_a_drawn_p_is_never_zero() -> None:
    assert sign_flip_p([1.0] * 200, draws=99) == 1 / 100


def test_the_seed_decides_the_draws() -> None:
    differences = list(np.random.default_rng(2).normal(0.2, 1, 40))
    assert sign_flip_p(differences, seed=1) == sign_flip_p(differences, seed=1) != sign_flip_p(differences, seed=2)


@pytest.mark.parametrize("tasks", [10, 40])
def test_under_no_difference_p_is_below_5_percent_about_as_often(tasks: int) -> None:
    # Two agents whose samples come from the same chances, task by task; 600 such comparisons: 5 % +- 3 standard errors.
    rng = np.random.default_rng(tasks)
    found = 0
    for _ in range(600):
        chances = rng.beta(1, 1, tasks)
        first, second = rng.binomial(8, chances), rng.binomial(8, chances)
        found += sign_flip_p(list(map(float, first - second)), draws=400) < 0.05
    assert 0.02 <= found / 600 <= 0.077


def test_a_difference_that_is_there_is_found() -> None:
    # 20 points with a deviation of 30 over 40 tasks: a z of 4.2, so a power above 98 %.
    rng = np.random.default_rng(5)
    found = [sign_flip_p(list(rng.normal(20, 30, 40)), draws=1_000) < 0.05 for _ in range(100)]
    assert fmean(found) >= 0.95


@given(P_VALUES)
def test_holm_finds_what_its_procedure_finds(p_values: list[float]) -> None:
    for level in (0.01, 0.05, 0.5):
        assert [p < level for p in holm(p_values)] == slow_holm(p_values, level)


@given(P_VALUES)
def test_a_correction_never_lowers_p_and_keeps_the_order(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(p <= own <= 1 for p, own in zip(p_values, adjusted, strict=True))
    ranked = [own for _, own in sorted(zip(p_values, adjusted, strict=True))]
    assert ranked == sorted(ranked)


def test_one_test_needs_no_correction() -> None:
    assert holm([0.03]) == [0.03]


def test_the_chance_of_any_false_finding_among_many_stays_below_the_level() -> None:
    rng = np.random.default_rng(6)
    any_found = [min(holm([float(p) for p in rng.uniform(0, 1, 20)])) < 0.05 for _ in range(1_000)]
    assert fmean(any_found) <= 0.07


@pytest.mark.parametrize("p", [-0.1, 1.1, math.nan])
def test_what_is_no_p_is_refused(p: float) -> None:
    with pytest.raises(ValueError, match="p-value lies between"):
        holm([0.5, p])


def test_what_cannot_be_tested_is_refused() -> None:
    with pytest.raises(ValueError, match="draws=0"):
        sign_flip_p([1.0], draws=0)
    with pytest.raises(ValueError, match="nan"):
        sign_flip_p([math.nan])
