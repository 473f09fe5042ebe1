"""Estimates by unit: closed forms and published examples first, then identities, then what has no interval."""

import math
import random
from collections.abc import Sequence
from statistics import fmean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.benchmarks.statistics import (
    FEWEST,
    MeanEstimate,
    Observation,
    Unit,
    estimate_mean,
    estimate_share,
    independent_difference,
    paired_difference,
    sign_flip_p,
)

EIGHT = [3.0, 5.0, 1.0, 9.0, 4.0, 6.0, 2.0, 8.0]
T_7 = 2.364624  # Student's t at 97.5 % and 7 degrees of freedom, from tables
WHOLE = st.integers(-100, 100).map(float)


def families(values: Sequence[float]) -> list[Observation]:
    """One task of one value for each family."""
    return [
        Observation(value=value, task=f"task-{number:03d}", family=f"family-{number:03d}")
        for number, value in enumerate(values)
    ]


def tasks(values: Sequence[Sequence[float]]) -> list[Observation]:
    """A row of tasks for each family."""
    return [
        Observation(value=value, task=f"task-{row}-{column}", family=f"family-{row}")
        for row, own in enumerate(values)
        for column, value in enumerate(own)
    ]


def ends(estimate: MeanEstimate) -> tuple[float, float]:
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.low, estimate.high


def test_the_mean_of_families_has_students_interval() -> None:
    found = estimate_mean(families(EIGHT), Unit.FAMILY)
    off = T_7 * stdev(EIGHT) / math.sqrt(8)
    assert (found.mean, found.units, found.unit) == (4.75, 8, Unit.FAMILY)
    assert ends(found) == pytest.approx((4.75 - off, 4.75 + off), abs=1e-5)


def test_a_familys_value_is_the_mean_over_its_tasks_of_their_means() -> None:
    one = [Observation(value=value, task="often", family="a") for value in (0.0, 0.0, 0.0)]
    found = estimate_mean([*one, Observation(value=6.0, task="once", family="a")], Unit.FAMILY)
    assert found.values == {"a": 3.0}


@pytest.mark.parametrize(
    ("unit", "values"),
    [
        (Unit.TASK, {"t0": 2.0, "t1": 8.0}),
        (Unit.FAMILY, {"f": 5.0}),
        (Unit.WORLD, {"w0": 1.0, "w1": 6.0, "w2": 7.0}),
        (Unit.TRAINING_SEED, {"0": 4.0, "1": 6.0}),
    ],
)
def test_each_unit_groups_the_same_observations_its_own_way(unit: Unit, values: dict[str, float]) -> None:
    observations = [
        Observation(value=1.0, task="t0", family="f", world="w0", training_seed=0),
        Observation(value=3.0, task="t0", family="f", world="w2", training_seed=1),
        Observation(value=7.0, task="t1", family="f", world="w2", training_seed=0),
        Observation(value=9.0, task="t1", family="f", world="w2", training_seed=1),
        Observation(value=6.0, task="t1", family="f", world="w1", training_seed=1),
    ]
    expected = {**values}
    if unit is Unit.TASK:
        expected = {"t0": 2.0, "t1": fmean([7.0, 9.0, 6.0])}
    if unit is Unit.WORLD:
        expected = {"w0": 1.0, "w1": 6.0, "w2": fmean([3.0, 8.0])}
    if unit is Unit.TRAINING_SEED:
        expected = {"0": 4.0, "1": fmean([3.0, 7.5])}
    if unit is Unit.FAMILY:
        expected = {"f": fmean([2.0, fmean([7.0, 9.0, 6.0])])}
    assert estimate_mean(observations, unit).values == expected


def test_fewer_than_eight_units_are_listed_and_have_no_interval() -> None:
    few = estimate_mean(families(EIGHT[: FEWEST - 1]), Unit.FAMILY)
    assert (few.low, few.high, len(few.values)) == (None, None, 7)
    enough = estimate_mean(families(EIGHT), Unit.FAMILY)
    assert enough.low is not None
    assert enough.values == {}


def test_tasks_are_strata_by_family_so_that_differences_between_families_do_not_widen_the_interval() -> None:
    rows = [[0.0, 2.0], [100.0, 102.0], [50.0, 52.0], [20.0, 22.0]]
    found = estimate_mean(tasks(rows), Unit.TASK)
    # Each family's variance is 2, the mean's (4 * 2 * 2) / 8**2 = 1 / 4 with 4 degrees of freedom, t 2.776.
    assert ends(found) == pytest.approx((43.5 - 2.7764 / 2, 43.5 + 2.7764 / 2), abs=1e-3)
    apart = [Observation(value=one.value, task=one.task, family="all") for one in tasks(rows)]
    low, high = ends(estimate_mean(apart, Unit.TASK))
    assert high - low > 10 * 2.7764


def test_families_of_one_task_are_one_stratum() -> None:
    alone = [Observation(value=value, task=f"t{n}", family=f"f{n}") for n, value in enumerate(EIGHT)]
    together = [Observation(value=value, task=f"t{n}", family="f") for n, value in enumerate(EIGHT)]
    assert estimate_mean(alone, Unit.TASK) == estimate_mean(together, Unit.TASK)
    mixed = [*tasks([EIGHT]), Observation(value=4.0, task="alone", family="alone")]
    one = [Observation(value=own.value, task=own.task, family="f") for own in mixed]
    assert estimate_mean(mixed, Unit.TASK) == estimate_mean(one, Unit.TASK)


@pytest.mark.parametrize(("share", "low", "high"), [(0.0, 0.0, 0.1684), (100.0, 83.16, 100.0)])
def test_none_or_all_of_20_have_the_exact_interval(share: float, low: float, high: float) -> None:
    # Clopper and Pearson's of 0 of 20 is [0, 1 - 0.025 ** (1 / 20)] = [0, 0.1684], as tables have it.
    whole = 100 if share else 1
    found = estimate_share(families([share] * 20), Unit.FAMILY, whole=whole)
    assert found.mean == share
    assert ends(found) == pytest.approx((low, high), abs=0.01 if share else 5e-5)


def test_yes_or_no_units_have_wilsons_interval_with_t() -> None:
    values = [1.0] * 12 + [0.0] * 28
    found = estimate_share(families(values), Unit.FAMILY)
    # The variance of yes-or-no units with n - 1 is 40/39 of p(1 - p): the size is a little below 40, t is 2.0227.
    rare = 4 / 12
    size = (39 + rare) / (40 + rare) * 40
    square = 2.02269**2 / size
    centre = (0.3 + square / 2) / (1 + square)
    off = 2.02269 / (1 + square) * math.sqrt(0.21 / size + square / (4 * size))
    assert ends(found) == pytest.approx((centre - off, centre + off), abs=1e-5)


def test_samples_of_a_task_that_agree_do_not_narrow_its_share() -> None:
    once = families([1.0, 0.0] * 10)
    often = [one for one in once for _ in range(8)]
    assert estimate_share(often, Unit.FAMILY) == estimate_share(once, Unit.FAMILY)


@given(st.lists(WHOLE, min_size=8, max_size=12), WHOLE)
def test_the_same_gain_for_every_unit_is_that_gain(values: list[float], gain: float) -> None:
    found = paired_difference(families(values), families([value + gain for value in values]), Unit.FAMILY)
    assert found.mean == pytest.approx(gain, abs=1e-9)
    if found.low is not None:  # but for rounding, units are alike and have no interval
        assert ends(found) == pytest.approx((gain, gain), abs=1e-6)


@given(st.lists(st.tuples(WHOLE, WHOLE), min_size=8, max_size=12))
def test_sides_changed_over_turn_a_difference_around(pairs: list[tuple[float, float]]) -> None:
    before, after = (families([pair[side] for pair in pairs]) for side in (0, 1))
    for difference in (paired_difference, independent_difference):
        there, back = difference(before, after, Unit.FAMILY), difference(after, before, Unit.FAMILY)
        assert there.mean == pytest.approx(-back.mean, abs=1e-9)
        assert there.p == pytest.approx(back.p, abs=1e-9)
        if there.low is not None and back.high is not None:
            assert there.low == pytest.approx(-back.high, abs=1e-6)


@given(st.lists(WHOLE, min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_no_order_shows(values: list[float], rng: random.Random) -> None:
    rows = tasks([values, values[::-1]])
    shuffled = rng.sample(rows, k=len(rows))
    assert estimate_mean(shuffled, Unit.TASK) == estimate_mean(rows, Unit.TASK)


def test_a_paired_differences_p_is_that_of_the_sign_flip_test() -> None:
    found = paired_difference(families([0.0] * 8), families(EIGHT), Unit.FAMILY)
    assert found.p == sign_flip_p(EIGHT) == 2 / 2**8


def test_an_independent_difference_is_welchs() -> None:
    error = math.sqrt(2 * stdev(EIGHT) ** 2 / 8)
    gain = 4.140454 * error  # equal sizes and variances: 14 degrees of freedom, t 4.140454 at 0.1 % and 2.144787 at 5 %
    found = independent_difference(families(EIGHT), families([value + gain for value in EIGHT]), Unit.FAMILY)
    assert ends(found) == pytest.approx((gain - 2.144787 * error, gain + 2.144787 * error), abs=1e-5)
    assert found.p == pytest.approx(0.001, rel=1e-4)


def test_a_difference_of_independent_shares_is_newcombes() -> None:
    # Newcombe 1998, table II, method 10: 56/70 - 48/80 is [0.0524, 0.3339] with the normal quantile; t is wider.
    sides = [[1.0] * 48 + [0.0] * 32, [1.0] * 56 + [0.0] * 14]
    found = independent_difference(families(sides[0]), families(sides[1]), Unit.FAMILY, whole=1)
    assert found.mean == pytest.approx(0.2)
    assert ends(found) == pytest.approx((0.0524, 0.3339), abs=0.005)
    assert ends(found)[0] < 0.0524


def test_shares_that_are_0_before_and_after_leave_room_for_a_difference() -> None:
    nothing = families([0.0] * 21)
    low, high = ends(paired_difference(nothing, nothing, Unit.FAMILY, whole=1))
    assert (low, high) == pytest.approx((0.025 ** (1 / 21) - 1, 1 - 0.025 ** (1 / 21)))


def test_an_independent_difference_with_few_units_lists_how_far_they_are_from_the_mean() -> None:
    found = independent_difference(families(EIGHT), families([1.75, 7.75]), Unit.WORLD)
    assert found.low is None
    few = independent_difference(families(EIGHT), families([1.75, 7.75]), Unit.FAMILY)
    assert few.values == {"family-000": -3.0, "family-001": 3.0}
    assert (few.mean, few.units, few.p) == (0.0, 2, None)


def test_units_without_a_partner_are_named() -> None:
    with pytest.raises(ValueError, match="after lacks 'family-001': a paired difference needs the same family"):
        paired_difference(families([1.0, 2.0]), families([1.0]), Unit.FAMILY)


@pytest.mark.parametrize(
    ("estimate", "shown"),
    [
        (MeanEstimate(mean=12.34, unit=Unit.FAMILY, units=21, low=8.06, high=16.4), "12.3 [8.1, 16.4], 21 families"),
        (MeanEstimate(mean=2, unit=Unit.WORLD, units=2, values={"a": 1.0, "b": 3.0}), "2.0, 2 worlds: 1.0, 3.0"),
        (MeanEstimate(mean=2, unit=Unit.TRAINING_SEED, units=1, values={"0": 2.0}), "2.0, 1 training seed"),
        (MeanEstimate(mean=20, unit=Unit.TASK, units=1063), "20.0, 1,063 tasks alike"),
    ],
)
def test_text_counts_the_units(estimate: MeanEstimate, shown: str) -> None:
    assert estimate.text() == shown


def test_text_of_a_difference_is_signed() -> None:
    estimate = MeanEstimate(mean=1.0, unit=Unit.TASK, units=9, low=-0.04, high=2.0)
    assert estimate.text(signed=True) == "+1.0 [+0.0, +2.0], 9 tasks"
    assert estimate.text(signed=True, digits=2) == "+1.00 [-0.04, +2.00], 9 tasks"


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_values_without_a_mean_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match=r"task 'task-000' holds"):
        estimate_mean(families([value]), Unit.FAMILY)


def test_no_observations_are_refused() -> None:
    with pytest.raises(ValueError, match="no observations"):
        estimate_mean([], Unit.TASK)


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan])
def test_what_is_no_share_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="task 'task-000' holds"):
        estimate_share(families([value]), Unit.FAMILY)
