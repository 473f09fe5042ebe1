"""The thermometer reads what is known: 0 for an unbiased estimator, and the bias and variance of biased ones."""

from collections.abc import Sequence
from dataclasses import replace
from math import isnan, sqrt
from statistics import fmean

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from forked import LIMIT, exact_advantages, moments, play, sample, state_values
from palaestra.benchmarks.credit.near_exact import near_exact_advantages
from palaestra.benchmarks.credit.resampling import CreditEstimator, Estimates, resample_estimates
from palaestra.benchmarks.credit.sample import CreditDesign, TaskSample, one_group, trained_tokens
from palaestra.benchmarks.credit.scores import FIGURES, CreditFigures, ScoredTurns, score_method
from palaestra.benchmarks.statistics import Unit
from palaestra.benchmarks.statistics.distributions import t_quantile
from palaestra.seeding import Stream
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages.group import group_advantages
from palaestra.trainers.objectives.advantages.turns import at_tokens, turn_returns

DESIGN = CreditDesign(group_size=4, groups=24, continuations=200)
TASKS = 60


@pytest.fixture(scope="module")
def samples() -> list[TaskSample]:
    return [replace(one, batch=one_group(one.batch)) for one in (sample(DESIGN, number) for number in range(TASKS))]


def scored(samples: Sequence[TaskSample]) -> ScoredTurns:
    return ScoredTurns(
        exact=tuple(value for one in samples for value in one.exact.advantages),
        errors=tuple(value for one in samples for value in one.exact.errors),
        tasks=tuple(one.task for one in samples for _ in one.exact.advantages),
        families=tuple(one.family for one in samples for _ in one.exact.advantages),
    )


def figures(samples: Sequence[TaskSample], estimate: CreditEstimator, *, scale: float | None = 1.0) -> CreditFigures:
    found = resample_estimates(samples, {"method": estimate}, DESIGN)
    return score_method(scored(samples), found["method"], scale=scale).figures


def reward_to_go(batch: TokenBatch) -> Tensor:
    """What a turn and those after it were paid, less the exact value: unbiased."""
    follows_U = turn_returns(batch.reward_U, batch.trajectory_U, batch.trajectories)
    return at_tokens(follows_U - batch.column("truth_U"), batch)


def centred_returns(batch: TokenBatch) -> Tensor:
    """Dr.GRPO's."""
    return group_advantages(batch.return_R, batch.group_R, scale="none")[batch.trajectory_T]


def test_an_unbiased_estimator_reads_no_bias(samples: list[TaskSample]) -> None:
    found = resample_estimates(samples, {"method": reward_to_go}, DESIGN)["method"]
    score = score_method(scored(samples), found, scale=1.0)
    assert score.low["mean_bias"] < 0 < score.high["mean_bias"]
    assert abs(score.figures.mean_bias) < 0.02
    assert score.figures.bias < 0.05 < score.figures.deviation
    assert score.figures.mean_correlation > 0.97
    assert score_method(scored(samples), found).figures.scale == pytest.approx(1, abs=0.1)


def test_a_constant_beside_it_is_read_as_bias(samples: list[TaskSample]) -> None:
    plain = figures(samples, reward_to_go)
    off = figures(samples, lambda batch: reward_to_go(batch) + 0.3)
    assert off.mean_bias - plain.mean_bias == pytest.approx(0.3)
    assert off.bias == pytest.approx(0.3, abs=0.05)
    assert off.deviation == pytest.approx(plain.deviation)


def test_another_unit_is_undone_by_the_scale(samples: list[TaskSample]) -> None:
    plain = figures(samples, reward_to_go, scale=None)
    tenth = figures(samples, lambda batch: reward_to_go(batch) / 10, scale=None)
    assert tenth.scale == pytest.approx(10 * plain.scale)
    for name in FIGURES:
        if name != "scale":
            assert getattr(tenth, name) == pytest.approx(getattr(plain, name))


def test_the_deviation_is_that_of_what_follows(samples: list[TaskSample]) -> None:
    """In closed form: what follows is paid 0 or 1, so its variance is p (1 - p) with p its value."""
    variances: list[float] = []
    for number in range(TASKS):
        reference = play(Stream.root("forked", number).split("reference"))
        variances += [value * (1 - value) for value in [*state_values(reference)[1:], 0.0]]
    assert figures(samples, reward_to_go).deviation == pytest.approx(sqrt(fmean(variances)), rel=0.05)


def test_the_returns_of_whole_episodes_have_the_bias_of_their_baseline(samples: list[TaskSample]) -> None:
    """In closed form: E[estimate | s, a] = (1 - 1 / n) (Q - V_0), where nothing is paid before the end."""
    start, size = moments(0, LIMIT)[0], DESIGN.group_size
    off: list[float] = []
    for number in range(TASKS):
        reference = play(Stream.root("forked", number).split("reference"))
        exact = exact_advantages(reference)
        promised = [a + v for a, v in zip(exact.advantages, exact.values, strict=True)]
        off += [(1 - 1 / size) * (q - start) - a for q, a in zip(promised, exact.advantages, strict=True)]
    found = figures(samples, centred_returns)
    assert found.bias == pytest.approx(sqrt(fmean(value**2 for value in off)), rel=0.06)
    assert found.mean_bias == pytest.approx(fmean(off), abs=0.02)
    # The companions' part: the variance of the mean that is taken off.
    assert found.group_deviation == pytest.approx(sqrt((size - 1) * start * (1 - start)) / size, rel=0.06)


def test_an_estimator_that_says_nothing_has_the_advantages_as_its_bias(samples: list[TaskSample]) -> None:
    found = figures(samples, lambda batch: torch.zeros(len(batch.ids_T)), scale=None)
    exact = [value for one in samples for value in one.exact.advantages]
    assert (found.scale, found.deviation, found.sign_agreement, found.zeros) == (0.0, 0.0, 0.0, 100.0)
    assert found.bias == pytest.approx(sqrt(fmean(value**2 for value in exact)))
    assert isnan(found.correlation)


def test_the_wrong_sign_agrees_nowhere(samples: list[TaskSample]) -> None:
    right = CreditDesign(group_size=4, groups=24, continuations=2)
    turns = scored(samples)
    exact = np.repeat(np.array(turns.exact)[:, None], right.groups, 1)[:, :, None].repeat(2, 2)
    assert score_method(turns, exact).figures.sign_agreement == 100
    against = score_method(turns, -exact).figures
    assert (against.sign_agreement, against.scale) == (0, 0)


def test_near_exact_advantages_are_within_their_errors_of_the_exact_ones() -> None:
    off: list[float] = []
    for number in range(40):
        known = sample(CreditDesign(group_size=2, groups=2, continuations=200), number).exact
        found = sample(CreditDesign(group_size=2, groups=2, continuations=200), number, known=False).exact
        for a, b, error in zip(found.advantages, known.advantages, found.errors, strict=True):
            assert abs(a - b) <= 5 * error
            off += [(a - b) / error] if error else []
    assert fmean(value**2 for value in off) == pytest.approx(1, abs=0.3)


def test_noise_of_near_exact_values_is_no_bias() -> None:
    """With few continuations the advantages are noisy; the bias of an unbiased estimator stays near 0."""
    design = CreditDesign(group_size=4, groups=12, continuations=8)
    few = [replace(one, batch=one_group(one.batch)) for one in (sample(design, n, known=False) for n in range(150))]
    found = resample_estimates(few, {"method": reward_to_go}, design)["method"]
    score = score_method(scored(few), found, scale=1.0)
    raw = sqrt(float(np.mean((found.mean((1, 2)) - np.array(scored(few).exact)) ** 2)))
    assert raw > 0.15
    assert score.figures.bias < raw / 2


def test_tokens_that_nothing_is_trained_on_change_no_estimate(samples: list[TaskSample]) -> None:
    some = samples[:5]
    bare = [replace(one, batch=trained_tokens(one.batch)) for one in some]
    assert bare[0].batch.trained_T.all()
    estimators = {"go": reward_to_go, "centred": centred_returns}
    whole, found = resample_estimates(some, estimators, DESIGN), resample_estimates(bare, estimators, DESIGN)
    for name in estimators:
        assert np.array_equal(whole[name], found[name])


def test_a_group_holds_the_scored_turn_and_companions_of_its_task(samples: list[TaskSample]) -> None:
    """Every batch has one group a task, and its first member took the reference's actions up to the scored turn."""
    some, seen = samples[:6], list[int]()

    def look(batch: TokenBatch) -> Tensor:
        assert batch.group_R.tolist() == [task for task in range(len(some)) for _ in range(DESIGN.group_size)]
        seen.append(batch.trajectories)
        return torch.zeros(len(batch.ids_T))

    resample_estimates(some, {"method": look}, DESIGN)
    assert len(seen) == max(one.turns for one in some) * DESIGN.groups * 2


def test_intervals_hold_their_figures_and_stop_where_these_do(samples: list[TaskSample]) -> None:
    found = resample_estimates(samples, {"method": centred_returns}, DESIGN)["method"]
    score = score_method(scored(samples), found)
    for name in FIGURES:
        assert score.low[name] <= getattr(score.figures, name) <= score.high[name]
    assert all(score.low[one] >= -1 and score.high[one] <= 1 for one in ("correlation", "mean_correlation"))
    assert score.low["bias"] >= 0
    assert score.low["sign_agreement"] >= 0
    assert score.high["zeros"] <= 100
    assert score.low["scale"] < score.high["scale"]


def test_the_interval_of_a_mean_is_students() -> None:
    """In closed form: with one turn a unit, the mean bias is a mean of units, and its interval t s / sqrt(K)."""
    off = np.array([0.3, -1.2, 0.7, 2.0, -0.4, 0.1, 1.5, -0.8])
    names = tuple(map(str, range(8)))
    turns = ScoredTurns(exact=(1.0,) * 8, errors=(0.0,) * 8, tasks=names, families=names)
    score = score_method(turns, (1 + off)[:, None, None] * np.ones((8, 3, 2)), scale=1.0)
    half = t_quantile(0.975, 7) * off.std(ddof=1) / sqrt(8)
    assert score.high["mean_bias"] - score.figures.mean_bias == pytest.approx(half, rel=0.03)


def test_few_units_have_no_interval_and_families_come_before_tasks() -> None:
    estimates: Estimates = np.ones((4, 3, 2))
    turns = ScoredTurns(exact=(1.0,) * 4, errors=(0.1,) * 4, tasks=("a", "b", "c", "d"), families=("x",) * 4)
    assert score_method(turns, estimates).low == {}
    names = tuple(map(str, range(9)))
    many = ScoredTurns(exact=(1.0,) * 9, errors=(0.1,) * 9, tasks=names, families=names)
    assert (turns.unit, many.unit) == (Unit.TASK, Unit.FAMILY)


def test_advantages_within_their_noise_have_no_correlation_and_no_interval_of_one() -> None:
    """Squares less their noise are below 0 on both sides: two negative variances are no correlation."""
    names = tuple(map(str, range(9)))
    turns = ScoredTurns(exact=(0.1, -0.1, 0.2) * 3, errors=(1.0,) * 9, tasks=names, families=names)
    one = np.array([[1.0, 2.0], [-1.0, -2.0], [1.0, -1.0]])
    estimates: Estimates = np.stack([np.roll(one, number, axis=0) for number in range(9)])
    score = score_method(turns, estimates)
    assert isnan(score.figures.correlation)
    assert isnan(score.figures.mean_correlation)
    assert isnan(score.figures.sign_agreement)
    for name in ("correlation", "mean_correlation", "sign_agreement", "zeros"):
        assert isnan(score.low[name])
        assert isnan(score.high[name])


def test_rounding_decides_no_sign() -> None:
    found = near_exact_advantages([0.1, 0.0], [[0.3, 0.3], [0.2, 0.2]])
    assert 0 < found.advantages[0] < 1e-15
    turns = ScoredTurns(exact=found.advantages[:1], errors=(0.0,), tasks=("a",), families=("x",))
    assert not turns.decided.any()
    assert isnan(score_method(turns, np.ones((1, 3, 2))).figures.sign_agreement)


def test_rows_that_do_not_fit_the_turns_are_refused() -> None:
    turns = ScoredTurns(exact=(1.0,), errors=(0.1,), tasks=("a",), families=("x",))
    with pytest.raises(ValueError, match="2 rows of estimates for 1 turns"):
        score_method(turns, np.ones((2, 3, 2)))


@pytest.mark.parametrize(
    ("rewards", "continuations", "message"),
    [([1.0, 2.0], [[0.0, 1.0]], "1 states for 2 turns"), ([1.0], [[0.5]], "has 1 continuations")],
)
def test_continuations_that_do_not_fit_the_turns_are_refused(
    rewards: list[float], continuations: list[list[float]], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        near_exact_advantages(rewards, continuations)


@pytest.mark.parametrize("setting", ["group_size", "groups", "continuations"])
def test_a_design_that_draws_less_than_two_is_refused(setting: str) -> None:
    with pytest.raises(ValueError, match=f"{setting}=1"):
        CreditDesign(**{setting: 1})


@given(st.lists(st.tuples(st.floats(-9, 9), st.lists(st.floats(-9, 9), min_size=2, max_size=5)), min_size=1))
def test_advantages_add_up_to_what_was_paid_beyond_the_value_of_the_start(
    turns: list[tuple[float, list[float]]],
) -> None:
    """The sum telescopes: sum_t A_t = sum_t r_t - V(s_0)."""
    found = near_exact_advantages([paid for paid, _ in turns], [ahead for _, ahead in turns])
    assert sum(found.advantages) == pytest.approx(sum(paid for paid, _ in turns) - found.values[0], abs=1e-9)
