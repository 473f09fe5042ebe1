"""Intervals by the cluster bootstrap: identities first, then a second implementation, then coverage."""

import math
import random
from collections.abc import Mapping, Sequence
from statistics import fmean, quantiles

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.benchmarks import statistics
from palaestra.benchmarks.statistics import (
    Interval,
    clustered_mean,
    clustered_share,
    independent_difference,
    paired_difference,
)

Scores = dict[str, list[float]]

WHOLE = st.integers(-100, 100).map(float)  # sums of whole numbers are exact, so identities hold to the last bit
SCORES = st.dictionaries(st.text(max_size=4), st.lists(WHOLE, min_size=1, max_size=5), min_size=1, max_size=8)


def simulated(rng: np.random.Generator, *, tasks: int = 30, samples: int = 4, within: float = 0.5) -> Scores:
    """Scores around 0: tasks differ with deviation 1, samples of a task with deviation `within`."""
    return {f"task-{i}": list(rng.normal(rng.normal(), within, samples)) for i in range(tasks)}


def slow_interval(values: Mapping[str, Sequence[float]], *, draws: int, seed: int) -> Interval:
    """The same interval in plain Python, with another generator: a second implementation."""
    rng = random.Random(seed)  # noqa: S311
    means = [fmean(scores) for scores in values.values()]
    drawn = [fmean(rng.choices(means, k=len(means))) for _ in range(draws)]
    cuts = quantiles(drawn, n=40, method="inclusive")
    return Interval(mean=fmean(means), low=cuts[0], high=cuts[-1])


def unclustered(values: Mapping[str, Sequence[float]]) -> Scores:
    """Every value as a task of its own: what ignoring the clusters would do."""
    return {f"{task}/{i}": [score] for task, scores in values.items() for i, score in enumerate(scores)}


def width(interval: Interval) -> float:
    return interval.high - interval.low


@given(SCORES, st.randoms(use_true_random=False))
def test_no_order_of_tasks_or_of_a_tasks_values_shows(values: Scores, rng: random.Random) -> None:
    shuffled = {task: rng.sample(values[task], k=len(values[task])) for task in rng.sample(list(values), k=len(values))}
    assert clustered_mean(shuffled, draws=50) == clustered_mean(values, draws=50)


@given(SCORES)
def test_a_tasks_values_twice_over_change_nothing(values: Scores) -> None:
    twice = {task: scores * 2 for task, scores in values.items()}
    assert clustered_mean(twice, draws=50) == clustered_mean(values, draws=50)


@given(SCORES, WHOLE)
def test_the_same_gain_on_every_task_is_a_certain_difference(values: Scores, gain: float) -> None:
    raised = {task: [fmean(scores) + gain] for task, scores in values.items()}
    difference = paired_difference(values, raised, draws=50)
    assert (difference.mean, difference.low, difference.high) == pytest.approx((gain, gain, gain), abs=1e-9)


@given(SCORES)
def test_a_difference_from_nothing_is_the_mean(values: Scores) -> None:
    nothing = {task: [0.0] for task in values}
    assert paired_difference(nothing, values, draws=50) == clustered_mean(values, draws=50)


@given(SCORES)
def test_sides_changed_over_turn_the_difference_around(values: Scores) -> None:
    other = {task: [scores[0]] for task, scores in values.items()}
    one, back = paired_difference(values, other, draws=50), paired_difference(other, values, draws=50)
    assert (-one.mean, -one.high, -one.low) == pytest.approx((back.mean, back.low, back.high), abs=1e-9)


@given(SCORES)
def test_interval_lies_within_the_task_means(values: Scores) -> None:
    means = [fmean(scores) for scores in values.values()]
    found = clustered_mean(values, draws=50)
    assert min(means) - 1e-9 <= found.low <= found.high <= max(means) + 1e-9
    assert found.mean == pytest.approx(fmean(means), abs=1e-9)


@given(st.lists(WHOLE, min_size=1))
def test_one_task_is_a_point(scores: list[float]) -> None:
    found = clustered_mean({"only": scores}, draws=50)
    assert found.low == found.mean == found.high


def test_every_task_counts_the_same_however_many_values_it_has() -> None:
    assert clustered_mean({"often": [0.0] * 99, "once": [1.0]}).mean == 0.5


def test_two_tasks_resample_to_three_means() -> None:
    # The mean of two draws is 0, 1/2 or 1 with chances 1/4, 1/2, 1/4: its middle 95 % hold all three, its middle 40 %
    # the half alone.
    assert clustered_mean({"a": [0.0], "b": [1.0]}) == Interval(mean=0.5, low=0.0, high=1.0)
    assert clustered_mean({"a": [0.0], "b": [1.0]}, level=0.4) == Interval(mean=0.5, low=0.5, high=0.5)


def test_plain_python_finds_the_same_interval() -> None:
    values = simulated(np.random.default_rng(1), tasks=40)
    fast, slow = clustered_mean(values), slow_interval(values, draws=10_000, seed=2)
    assert fast.mean == pytest.approx(slow.mean)
    assert (fast.low, fast.high) == pytest.approx((slow.low, slow.high), abs=0.03 * width(slow))


def test_interval_approaches_the_normal_one_for_many_tasks() -> None:
    values = {f"task-{i}": [float(i)] for i in range(400)}
    error = float(np.std(np.arange(400))) / math.sqrt(400)  # the bootstrap's own variance: over n, not n - 1
    found = clustered_mean(values)
    assert (found.low, found.high) == pytest.approx((199.5 - 1.96 * error, 199.5 + 1.96 * error), abs=0.1 * error)


def test_interval_covers_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    found = [clustered_mean(simulated(rng), draws=400) for _ in range(200)]
    assert 0.88 <= fmean(interval.low <= 0 <= interval.high for interval in found) <= 0.99


def test_interval_of_a_difference_covers_the_truth() -> None:
    rng = np.random.default_rng(4)
    covered: list[bool] = []
    for _ in range(200):
        before = simulated(rng)
        gains = {task: rng.normal(0.5, 0.3) for task in before}
        after = {task: [score + gains[task] for score in scores] for task, scores in before.items()}
        found = paired_difference(before, after, draws=400)
        covered.append(found.low <= 0.5 <= found.high)
    assert 0.88 <= fmean(covered) <= 0.99


def test_agreeing_samples_of_a_task_do_not_narrow_the_interval() -> None:
    values = simulated(np.random.default_rng(5), samples=8, within=0.1)
    # Eight samples that agree look like eight times the tasks: too narrow by the square root of eight.
    assert width(clustered_mean(values)) > 2 * width(clustered_mean(unclustered(values)))


def test_pairing_narrows_the_interval_where_tasks_differ_more_than_sides() -> None:
    rng = np.random.default_rng(6)
    before = simulated(rng, within=0.1)
    after = {task: [score + 0.2 + rng.normal(0, 0.1) for score in scores] for task, scores in before.items()}
    assert width(paired_difference(before, after)) < width(clustered_mean(after)) / 2


def test_a_higher_level_gives_a_wider_interval() -> None:
    values = simulated(np.random.default_rng(7))
    assert (
        width(clustered_mean(values, level=0.99))
        > width(clustered_mean(values))
        > width(clustered_mean(values, level=0.5))
    )


def test_the_seed_decides_the_draws() -> None:
    values = simulated(np.random.default_rng(8))
    assert clustered_mean(values, seed=1) == clustered_mean(values, seed=1) != clustered_mean(values, seed=2)


def test_small_chunks_give_the_same_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    values = simulated(np.random.default_rng(9))
    whole = clustered_mean(values, draws=1_000)
    monkeypatch.setattr(statistics, "_CHUNK", 100)
    assert clustered_mean(values, draws=1_000) == whole


@pytest.mark.parametrize(
    ("signed", "digits", "shown"),
    [(False, 1, "12.3 [-8.1, 0.0]"), (True, 1, "+12.3 [-8.1, +0.0]"), (True, 2, "+12.34 [-8.06, -0.04]")],
)
def test_text_shows_estimate_and_ends(signed: bool, digits: int, shown: str) -> None:
    assert Interval(mean=12.34, low=-8.06, high=-0.04).text(signed=signed, digits=digits) == shown


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "no tasks"),
        ({"a": [1.0], "b": []}, "task 'b' has no values"),
        ({"a": [1.0, math.nan]}, "task 'a' holds nan"),
        ({"a": [math.inf]}, "task 'a' holds inf"),
    ],
)
def test_values_without_a_mean_are_refused(values: Scores, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        clustered_mean(values)
    with pytest.raises(ValueError, match=message):
        paired_difference(values, values)


def test_tasks_without_a_partner_are_named() -> None:
    before = {"both": [1.0], "old": [1.0]}
    after = {"both": [1.0], **{f"new-{i}": [1.0] for i in range(7)}}
    with pytest.raises(ValueError, match=r"before lacks 'new-0', .*'new-4' and 2 more; after lacks 'old': a paired"):
        paired_difference(before, after)


@pytest.mark.parametrize("draws", [0, -1])
def test_no_draws_are_refused(draws: int) -> None:
    with pytest.raises(ValueError, match=f"draws={draws}"):
        clustered_mean({"a": [1.0]}, draws=draws)


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0, math.nan])
def test_a_level_outside_its_range_is_refused(level: float) -> None:
    with pytest.raises(ValueError, match="level="):
        clustered_mean({"a": [1.0]}, level=level)


SHARES = st.dictionaries(
    st.text(max_size=4), st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=5), min_size=1, max_size=8
)


@given(SHARES)
def test_a_share_between_none_and_all_is_the_mean(values: Scores) -> None:
    found = clustered_share(values, draws=50)
    assert found.mean == clustered_mean(values, draws=50).mean
    if {score for scores in values.values() for score in scores} == {0.0, 1.0}:
        assert found == clustered_mean(values, draws=50)


@given(SHARES)
def test_percent_are_a_hundred_times_the_share(values: Scores) -> None:
    percent = {task: [100 * score for score in scores] for task, scores in values.items()}
    found, times = clustered_share(values, draws=50), clustered_share(percent, whole=100, draws=50)
    assert (times.mean, times.low, times.high) == pytest.approx((100 * found.mean, 100 * found.low, 100 * found.high))


def test_all_is_none_turned_around() -> None:
    none = clustered_share({f"task-{i}": [0.0] for i in range(7)})
    all_of = clustered_share({f"task-{i}": [1.0] for i in range(7)})
    assert (1 - none.mean, 1 - none.high, 1 - none.low) == pytest.approx((all_of.mean, all_of.low, all_of.high))


def test_none_of_20_tasks_is_compatible_with_17_percent() -> None:
    # Clopper and Pearson's interval for 0 of 20 is [0, 1 - 0.025 ** (1 / 20)] = [0, 0.1684], as tables have it.
    found = clustered_share({f"task-{i}": [0.0, 0.0] for i in range(20)})
    assert (found.mean, found.low) == (0, 0)
    assert found.high == pytest.approx(0.1684, abs=5e-5)
    # At the end of the interval, 20 tasks all fail with a chance of half of what is left out.
    assert (1 - found.high) ** 20 == pytest.approx(0.025)


def test_all_of_800_tasks_are_hardly_compatible_with_less() -> None:
    found = clustered_share({f"task-{i}": [100.0] for i in range(800)}, whole=100)
    assert (found.mean, found.high) == (100, 100)
    assert found.low == pytest.approx(99.54, abs=5e-3)


@pytest.mark.parametrize("score", [-0.1, 1.1, math.nan])
def test_what_is_no_share_is_refused(score: float) -> None:
    with pytest.raises(ValueError, match="task 'a' holds"):
        clustered_share({"a": [score]})


@given(SCORES, SCORES)
def test_an_independent_difference_is_that_of_the_means(before: Scores, after: Scores) -> None:
    found = independent_difference(before, after, draws=50)
    means = [clustered_mean(values, draws=50).mean for values in (before, after)]
    assert found.mean == pytest.approx(means[1] - means[0], abs=1e-9)
    assert found.low <= found.high


def test_an_independent_difference_has_the_errors_of_both_sides() -> None:
    rng = np.random.default_rng(10)
    before, after = simulated(rng, tasks=300), simulated(rng, tasks=200)
    found = independent_difference(before, after)
    errors = [float(np.std([fmean(row) for row in side.values()])) / math.sqrt(len(side)) for side in (before, after)]
    assert width(found) == pytest.approx(2 * 1.96 * math.hypot(*errors), rel=0.06)


def test_an_independent_difference_takes_the_same_ids_for_other_tasks() -> None:
    values = simulated(np.random.default_rng(11), tasks=40)
    assert width(paired_difference(values, values)) == 0 < width(independent_difference(values, values))


@pytest.mark.parametrize(("draws", "level", "message"), [(0, 0.95, "draws=0"), (10, 1.0, "level=1")])
def test_an_independent_difference_refuses_what_the_mean_refuses(draws: int, level: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        independent_difference({"a": [1.0]}, {"b": [1.0]}, draws=draws, level=level)
