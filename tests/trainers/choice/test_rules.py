"""Rules that choose tasks, held to their closed forms. Axes: A families."""

from collections import Counter
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.seeding import Stream
from palaestra.trainers.choice import (
    ChoiceConfig,
    DecayedRates,
    PartitionHead,
    UtilityPredictor,
    bandit_weights,
    feature_matrix,
    group_families,
    pick_best,
    pick_weighted,
    solve_utility,
)
from palaestra.trainers.data.order import Share

TASKS = [f"shop/{family}/{n:04d}" for family in ("buy", "sell", "swap") for n in range(4)]
FAMILIES = group_families(TASKS, (), {"shop/buy": 1, "shop/sell": 3, "shop/swap": 3})


# picking


def test_things_are_picked_in_proportion_to_their_weights() -> None:
    counts = Counter(pick_weighted([1, 0, 3], Stream.root("pick", n)) for n in range(4000))
    assert counts[1] == 0
    assert counts[2] / 4000 == pytest.approx(0.75, abs=3 * sqrt(0.75 * 0.25 / 4000))


@given(st.lists(st.floats(0, 5), min_size=1, max_size=6).filter(lambda ws: sum(ws) > 0), st.integers(0, 99))
def test_what_has_no_weight_is_never_picked(weights: list[float], seed: int) -> None:
    assert weights[pick_weighted(weights, Stream.root(seed))] > 0


def test_the_best_of_candidates_is_best_of_all_with_many_and_random_with_one() -> None:
    scores, weights = [0.1, 0.5, 0.3], [1.0, 1.0, 1.0]
    assert {pick_best(scores, weights, candidates=60, stream=Stream.root(n)) for n in range(40)} == {1}
    one = Counter(pick_best(scores, weights, candidates=1, stream=Stream.root(n)) for n in range(3000))
    assert min(one.values()) > 900
    two = Counter(pick_best(scores, weights, candidates=2, stream=Stream.root(n)) for n in range(6000))
    assert two[1] / 6000 == pytest.approx(5 / 9, abs=0.02)
    assert two[0] / 6000 == pytest.approx(1 / 9, abs=0.02)


# bandit


def test_rates_are_the_means_of_beta_posteriors_with_decayed_counts() -> None:
    rates = DecayedRates(2, memory=0.5)
    assert rates.values() == (0.5, 0.5)
    rates.update([(0, 3, 4)])
    assert rates.values() == ((3 + 1) / (4 + 2), 0.5)
    rates.update([(0, 0, 4), (1, 4, 4), (1, 4, 4)])
    assert rates.values() == ((1.5 + 1) / (6 + 2), (8 + 1) / (8 + 2))
    for _ in range(60):
        rates.update([])
    assert rates.values() == pytest.approx((0.5, 0.5)), "what is forgotten returns"


def test_the_bandit_weighs_p_of_1_less_p_above_its_floor() -> None:
    assert bandit_weights([0.5, 0.0, 1.0, 0.9], [1, 1, 2, 1], floor=0.1) == pytest.approx([0.35, 0.1, 0.2, 0.19])


# Goldilocks


def test_a_utility_is_the_deviation_of_an_outcome() -> None:
    assert [solve_utility(p) for p in (0.0, 0.5, 1.0)] == [0, 0.5, 0]
    assert solve_utility(0.2) == pytest.approx(0.4)


def test_a_predictor_comes_to_the_mean_utility_of_each_family() -> None:
    """Least squares on families that each have a feature of their own."""
    predictor = UtilityPredictor(feature_matrix(FAMILIES), window=1000)
    assert predictor.values() == (0.25, 0.25, 0.25)
    for _ in range(20):
        predictor.update([(0, 1, 5), (0, 4, 5), (0, 0, 5), (1, 0, 4)])
    found = predictor.values()
    assert found[0] == pytest.approx(0.8 / 3, abs=0.02)
    assert found[1] == pytest.approx(0, abs=0.03)


def test_a_family_that_was_never_tried_is_expected_to_be_like_its_level() -> None:
    predictor = UtilityPredictor(feature_matrix(FAMILIES), window=1000)
    for _ in range(10):
        predictor.update([(0, 2, 4), (1, 0, 4)])
    easy, hard, untried = predictor.values()
    assert hard < untried < easy, "swap is of sell's level"


def test_a_predictor_forgets_what_leaves_its_window() -> None:
    predictor = UtilityPredictor(feature_matrix(FAMILIES), window=2)
    predictor.update([(0, 0, 4)] * 50)
    for _ in range(20):
        predictor.update([(0, 2, 4), (0, 2, 4)])
    assert predictor.values()[0] == pytest.approx(0.5, abs=0.03)


# PACED


def test_a_partition_function_is_ridge_regression_in_closed_form() -> None:
    """One family has three features of its own: n results move the estimate by 3 n / (3 n + 2) of the way."""
    (one,) = group_families(TASKS[:4], (), {})
    head = PartitionHead(feature_matrix([one]), memory=1.0)
    assert head.values() == (0.5,)
    head.update([(0, 3, 4)])
    assert head.values()[0] == pytest.approx(0.5 + 12 / 14 * (0.75 - 0.5))
    head.update([(0, 1, 4)])
    assert head.values()[0] == pytest.approx(0.5)


def test_a_partition_function_is_what_a_solver_of_least_squares_finds() -> None:
    features = feature_matrix(FAMILIES)
    results = [(0, 3, 4), (1, 0, 4), (0, 4, 4), (1, 1, 4)]
    head = PartitionHead(features, memory=1.0)
    head.update(results)
    rows = [features[place] for place, _, tried in results for _ in range(tried)]
    paid = [float(n < solved) - 0.5 for _, solved, tried in results for n in range(tried)]
    padded = np.vstack([*rows, sqrt(2) * np.eye(features.shape[1])])
    weights, *_ = np.linalg.lstsq(padded, np.array([*paid, *[0.0] * features.shape[1]]), rcond=None)
    assert head.values() == pytest.approx(tuple(np.clip(0.5 + features @ weights, 0, 1)))


def test_many_results_make_the_estimate_the_solve_rate_and_older_ones_count_less() -> None:
    head = PartitionHead(feature_matrix(FAMILIES), memory=0.5)
    for _ in range(30):
        head.update([(0, 80, 80), (1, 0, 80)])
    assert head.values()[:2] == pytest.approx((1, 0), abs=0.02)
    for _ in range(6):
        head.update([(0, 40, 80)])
    assert head.values()[0] == pytest.approx(0.51, abs=0.02)


# families


def test_families_share_the_weight_of_their_world() -> None:
    tasks = ["a/x/0000", "a/x/0001", "a/y/0000", "b:a/x/0000"]
    found = group_families(tasks, [Share(count=3, weight=2.0), Share(count=1, weight=1.0)], {"a/x": 2})
    assert [(one.reference, one.weight, one.level, len(one.tasks)) for one in found] == [
        ("a/x", 1.0, 2, 2),
        ("a/y", 1.0, 0, 1),
        ("b:a/x", 1.0, 0, 1),
    ]
    assert [one.world for one in found] == ["a", "a", "b:a"]
    assert feature_matrix(found).sum(axis=1).tolist() == [3, 3, 3]


# settings


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"rule": "deal", "instances": "endless"}, "the rule 'deal' does not read it; .* uniform, bandit"),
        ({"rule": "uniform", "floor": 0.2}, "floor=0.2: the rule 'uniform' does not read it; .* bandit"),
        ({"rule": "bandit", "epsilon": 0.2}, "epsilon=0.2"),
        ({"rule": "bandit", "memory": 0.0}, "memory=0.0"),
        ({"rule": "bandit", "floor": 0.0}, "floor=0.0"),
        ({"rule": "goldilocks", "candidates": 0}, "candidates=0"),
        ({"rule": "goldilocks", "epsilon": 1.5}, "epsilon=1.5"),
        ({"rule": "goldilocks", "window": 0}, "window=0"),
        ({"rule": "paced", "target": 1.0}, "target=1.0"),
    ],
)
def test_settings_without_an_effect_or_a_meaning_are_refused(settings: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        ChoiceConfig(**settings)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
