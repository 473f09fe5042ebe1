"""Which trajectories are kept, against loops over groups."""

import itertools
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from graded import many, numbers, reals, returning
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.filters import Prof, Rank, UncertainGroups, keep_groups, mixed_groups, ranks
from palaestra.trainers.objectives.filters.uncertain import Strategy
from palaestra.trainers.objectives.parts import Filter

SEEDS = range(10)


def groups_of(batch: TokenBatch) -> list[list[int]]:
    """The trajectories of each group, in the order of groups' numbers."""
    groups = [int(group) for group in batch.group_R]
    return [[r for r, group in enumerate(groups) if group == one] for one in sorted(set(groups))]


def chosen(keeps: Filter, batch: TokenBatch) -> set[int]:
    keep_R = keeps(batch)
    assert keep_R.dtype == torch.bool
    assert keep_R.shape == batch.group_R.shape
    return {int(r) for r in keep_R.nonzero()[:, 0]}


def spread(values: list[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


@pytest.mark.parametrize("seed", SEEDS)
def test_mixed_groups_are_those_that_pass_and_fail(seed: int) -> None:
    batch = many(seed, groups=7)
    passed = numbers(batch.column("passed_R"))
    kept_groups = [g for g in groups_of(batch) if len(g) == 1 or 0 < sum(passed[r] for r in g) < len(g)]
    assert chosen(mixed_groups, batch) == set(itertools.chain(*kept_groups))


def test_mixed_looks_at_what_passed_and_not_at_what_was_paid() -> None:
    """All right, all wrong, some of both, and one alone."""
    groups = [0, 0, 1, 1, 2, 2, 3]
    batch = returning([1, 0.9, 0, 0.1, 1, 1, 1], groups=groups, passed_R=[1, 1, 0, 0, 1, 0, 1])
    assert mixed_groups(batch).tolist() == [False, False, False, False, True, True, True]


def plain(scores: list[float], *, strategy: Strategy, amount: float, softmax: bool, zeros: bool) -> set[int]:
    """Which scores are kept, one after the other from the greatest."""
    order = sorted((g for g in range(len(scores)) if zeros or scores[g] != 0), key=lambda g: (-scores[g], g))
    if not order:
        return set()
    if strategy == "min_p":
        return {g for g in order if scores[g] >= amount * scores[order[0]]}
    if strategy == "top_k":
        return set(order[: int(amount)])
    if strategy == "top_fraction":
        return set(order[: max(1, math.floor(amount * len(order) + 1e-9))])
    if amount == 1:
        return set(order)
    held = [math.exp(scores[g]) if softmax else scores[g] for g in order]
    if softmax:
        held = [one / sum(held) for one in held]
    wanted = amount if softmax else amount * sum(held) - 0.01
    total, found = 0.0, set[int]()
    for g, one in zip(order, held, strict=True):
        found.add(g)
        total += one
        if total >= wanted:
            break
    return found


AMOUNTS: list[tuple[Strategy, float]] = [
    ("top_fraction", 0.25),
    ("top_fraction", 0.5),
    ("top_fraction", 1.0),
    ("top_k", 1),
    ("top_k", 3),
    ("top_p", 0.5),
    ("top_p", 0.9),
    ("top_p", 1.0),
    ("min_p", 0.6),
]


@pytest.mark.parametrize(("strategy", "amount"), AMOUNTS)
@pytest.mark.parametrize("zeros", [True, False])
@pytest.mark.parametrize("softmax", [True, False])
def test_scores_are_kept_as_each_strategy_says(strategy: Strategy, amount: float, zeros: bool, softmax: bool) -> None:
    rng = np.random.default_rng(4)
    for count in (1, 2, 5, 9):
        scores = [float(s) for s in rng.choice([0.0, 0.2, 0.5, 0.7, 1.1], count)]
        found_G = keep_groups(reals(scores), strategy=strategy, amount=amount, softmax=softmax, zeros=zeros)
        assert {int(g) for g in found_G.nonzero()[:, 0]} == plain(
            scores, strategy=strategy, amount=amount, softmax=softmax, zeros=zeros
        )


def test_golden_groups_of_ragen() -> None:
    """0.5 + 0.4 is below 0.9 * 1.1 - 0.01, 0.5 + 0.4 + 0.2 is not."""
    found_G = keep_groups(reals([0.5, 0, 0.2, 0.4]), strategy="top_p", amount=0.9)
    assert found_G.tolist() == [True, False, True, True]


def test_a_hundredth_of_the_score_may_be_missing() -> None:
    """0.9 is below 0.9 * 1.005, and not below it less 0.01."""
    assert keep_groups(reals([0.9, 0.105]), strategy="top_p", amount=0.9).tolist() == [True, False]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("score", ["std", "variance", "reward", "length"])
def test_groups_are_scored_by_what_is_asked(seed: int, score: str) -> None:
    batch = many(seed, groups=6)
    returns = numbers(batch.return_R)
    trained = [int((batch.trained_T & (batch.trajectory_T == r)).sum()) for r in range(batch.trajectories)]
    by: dict[str, Callable[[list[int]], float]] = {
        "std": lambda g: spread([returns[r] for r in g]),
        "variance": lambda g: spread([returns[r] for r in g]) ** 2,
        "reward": lambda g: float(np.mean([returns[r] for r in g])),
        "length": lambda g: float(np.mean([trained[r] for r in g])),
    }
    groups = groups_of(batch)
    # Rounded, so that scores that are equal are so in both.
    scores = [round(by[score](g), 9) for g in groups]
    best = plain(scores, strategy="top_k", amount=2, softmax=False, zeros=True)
    keeps = UncertainGroups(score=score, strategy="top_k", amount=2)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert sorted(scores[g] for g in best) == sorted(
        scores[g] for g, members in enumerate(groups) if set(members) <= chosen(keeps, batch)
    )


@pytest.mark.parametrize(
    "keeps", [UncertainGroups(amount=1.0), UncertainGroups(strategy="top_p", amount=1.0)], ids=repr
)
def test_a_whole_share_is_no_filter(keeps: Filter) -> None:
    for seed in SEEDS:
        assert bool(keeps(many(seed)).all())


def test_as_it_comes_a_quarter_of_the_groups_is_kept() -> None:
    batch = returning([0, 0, 0, 1, 0, 4, 1, 1], groups=[0, 0, 1, 1, 2, 2, 3, 3])
    assert chosen(UncertainGroups(), batch) == {4, 5}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("blamed", [True, False])
def test_rank_keeps_the_most_spread_groups(seed: int, blamed: bool) -> None:
    batch = many(seed, groups=6)
    # No two groups are equally spread.
    batch = replace(batch, return_R=batch.return_R * reals([1 + 0.1 * float(g) for g in batch.group_R]))
    returns, passed = numbers(batch.return_R), numbers(batch.column("passed_R"))
    spreads = {tuple(g): spread([returns[r] for r in g]) for g in groups_of(batch)}
    best = sorted((g for g in spreads if spreads[g] > 1e-12), key=lambda g: -spreads[g])[:3]
    expected = {
        r for g in best for r in g if blamed or not passed[r] or returns[r] - np.mean([returns[o] for o in g]) >= -1e-12
    }
    assert chosen(Rank(keep=3, blamed=blamed), batch) == expected


def test_rank_leaves_out_groups_of_equal_returns_however_few_are_left() -> None:
    batch = returning([1, 1, 0, 1], groups=[0, 0, 1, 1], passed_R=[1, 1, 0, 1])
    assert chosen(Rank(keep=9), batch) == {2, 3}
    assert not chosen(Rank(keep=9), batch.select([0, 1]))


def test_rank_can_spare_what_passed_and_was_outdone() -> None:
    batch = returning([1, 1.3, 1.3, 0], passed_R=[1, 1, 1, 0])
    assert chosen(Rank(keep=1, blamed=False), batch) == {0, 1, 2, 3}
    paid = replace(batch, return_R=reals([1, 1.3, 1.3, 1.1]))
    assert chosen(Rank(keep=1, blamed=False), paid) == {1, 2, 3}


@pytest.mark.parametrize("seed", SEEDS)
def test_places_are_those_of_a_sorted_list(seed: int) -> None:
    rng = np.random.default_rng(seed)
    owners, keys = rng.integers(0, 4, 17), rng.integers(0, 5, 17)
    expected = [sum(1 for o in range(17) if owners[o] == owners[x] and (keys[o], o) < (keys[x], x)) for x in range(17)]
    assert ranks(reals(keys.astype(float)), torch.tensor(owners)).tolist() == expected


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("keep", [1, 2, 3, 4, 5, 20])
def test_prof_drops_the_least_consistent_until_both_sides_are_level(seed: int, keep: int) -> None:
    """One after the other, from the side that has more left; where both have as many, from the one that had fewer."""
    batch = many(seed, groups=3)
    passed, score = numbers(batch.column("passed_R")), numbers(batch.column("process_R"))
    expected = set[int]()
    for group in groups_of(batch):
        right = sorted((r for r in group if passed[r]), key=lambda r: score[r])
        wrong = sorted((r for r in group if not passed[r]), key=lambda r: -score[r])
        more_right = len(right) >= len(wrong)
        while len(right) + len(wrong) > keep:
            level = len(right) == len(wrong)
            (right if len(right) > len(wrong) or (level and not more_right) else wrong).pop(0)
        expected |= {*right, *wrong}
    assert chosen(Prof(keep=keep), batch) == expected


def test_golden_trajectories_of_prof() -> None:
    """Of eight, five of them right, four are kept: the two best of the right and the two worst of the wrong."""
    batch = returning(
        [1, 0, 1, 0, 0, 1, 1, 1],
        passed_R=[1, 0, 1, 0, 0, 1, 1, 1],
        process_R=[0.9, 0.1, 0.7, 0.2, 0.5, 0.6, 0.75, 0.3],
    )
    assert chosen(Prof(keep=4), batch) == {0, 6, 1, 3}


@pytest.mark.parametrize(
    "keeps",
    [mixed_groups, UncertainGroups(), UncertainGroups(strategy="top_p", zeros=False), Rank(keep=1), Prof(keep=1)],
)
def test_an_empty_batch_and_a_single_trajectory_are_no_fault(keeps: Filter) -> None:
    batch = many(1)
    assert keeps(batch.select([])).tolist() == []
    assert len(keeps(batch.select([2]))) == 1


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: UncertainGroups(amount=0), "amount=0"),
        (lambda: UncertainGroups(amount=1.5), "amount=1.5"),
        (lambda: UncertainGroups(strategy="top_k", amount=0.5), "amount=0.5"),
        (lambda: UncertainGroups(strategy="top_k", amount=2.5), "amount=2.5"),
        (lambda: Rank(keep=0), "keep=0"),
        (lambda: Prof(keep=0), "keep=0"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(make: Callable[[], Filter], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make()
