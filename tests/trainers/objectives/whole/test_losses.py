"""Losses of whole trajectories against loops in numpy.

Log-probabilities stand for sums over trained tokens; D and Delta are how far they are from what drew the trajectories,
and from the reference.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import pytest
import torch
from torch import Tensor

from graded import Array, at_now, many, numbers, reals, returning, slope, sums
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.parts import WholeLoss
from palaestra.trainers.objectives.whole import (
    Dpo,
    FlowRl,
    Ipo,
    Kto,
    Oapl,
    PacedRl,
    Spin,
    Sppo,
    token_sum,
)

Plain: TypeAlias = Callable[[Array, TokenBatch], float]
SEEDS = range(12)


def acted(batch: TokenBatch) -> list[int]:
    return [int(r) for r in range(batch.trajectories) if (batch.trained_T & (batch.trajectory_T == r)).any()]


def rivals(batch: TokenBatch) -> list[list[int]]:
    groups = listed(batch.group_R)
    return [[r for r in range(len(groups)) if groups[r] == group] for group in sorted(set(groups))]


def listed(value_R: Tensor) -> list[float]:
    found: list[float] = value_R.tolist()
    return found


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def oapl(beta1: float, beta2: float, *, scaled: bool = False) -> Plain:
    def loss(logp: Array, batch: TokenBatch) -> float:
        moved, returns = logp - sums(batch.logprob_T, batch), listed(batch.return_R)
        total = 0.0
        for group in rivals(batch):
            value = beta1 * math.log(sum(math.exp(returns[r] / beta1) for r in group) / len(group))
            total += sum((beta2 * moved[r] - (returns[r] - value)) ** 2 for r in group if r in acted(batch))
        return total / len(acted(batch)) / (2 * beta2 if scaled else 1)

    return loss


def extremes(batch: TokenBatch) -> list[tuple[int, int]]:
    returns = listed(batch.return_R)
    found = [
        (max(group, key=lambda r: (returns[r], -r)), min(group, key=lambda r: (returns[r], r)))
        for group in rivals(batch)
    ]
    return [(best, worst) for best, worst in found if returns[best] > returns[worst]]


def demonstrated(batch: TokenBatch) -> list[tuple[int, int]]:
    chosen = listed(batch.column("chosen_R"))
    return [(w, o) for group in rivals(batch) for w in group for o in group if chosen[w] == 1 and chosen[o] == 0]


def of_pairs(
    pairs: Callable[[TokenBatch], list[tuple[int, int]]],
    each: Callable[[float, float], float],
    *,
    mean: bool = False,
) -> Plain:
    def loss(logp: Array, batch: TokenBatch) -> float:
        delta = logp - sums(batch.column("ref_T"), batch)
        if mean:
            delta = delta / np.maximum(1, sums(torch.ones_like(batch.logprob_T), batch))
        found = [each(delta[w], delta[other]) for w, other in pairs(batch)]
        return sum(found) / max(1, len(found))

    return loss


def kto(*, good: float, bad: float, column: str = "") -> Plain:
    def loss(logp: Array, batch: TokenBatch) -> float:
        delta = logp - sums(batch.column("ref_T"), batch)
        drift = numbers(batch.column(column)) if column else delta
        z = max(0.0, sum(drift[r] for r in acted(batch)) / len(acted(batch)))
        passed = listed(batch.column("passed_R"))
        each = [
            good * (1 - sigmoid(0.1 * (delta[r] - z))) if passed[r] else bad * (1 - sigmoid(0.1 * (z - delta[r])))
            for r in acted(batch)
        ]
        return sum(each) / len(each)

    return loss


def rates(beta: float) -> Plain:
    def loss(logp: Array, batch: TokenBatch) -> float:
        delta, returns = logp - sums(batch.column("ref_T"), batch), listed(batch.return_R)
        total = 0.0
        for group in rivals(batch):
            for r in group:
                others = [returns[o] for o in group if o != r]
                won = sum(1.0 if returns[r] > o else 0.5 if returns[r] == o else 0.0 for o in others)
                rate = won / len(others) if others else 0.5
                total += (delta[r] - (rate - 0.5) / beta) ** 2 if r in acted(batch) else 0.0
        return total / len(acted(batch))

    return loss


def flowrl(*, clip: float | None, beta: float = 15.0) -> Plain:
    """With log Z at 0, where it begins."""

    def loss(logp: Array, batch: TokenBatch) -> float:
        ref, old = sums(batch.column("ref_T"), batch), sums(batch.column("old_T"), batch)
        tokens, returns = sums(torch.ones_like(batch.logprob_T), batch), listed(batch.return_R)
        total = 0.0
        for group in rivals(batch):
            own = [returns[r] for r in group]
            spread = float(np.std(own, ddof=1)) if len(own) > 1 else 0.0
            for r in set(group) & set(acted(batch)):
                weight = math.exp(min(20.0, max(-20.0, logp[r] - old[r])))
                weight = weight if clip is None else min(1 + clip, max(1 - clip, weight))
                better = (returns[r] - np.mean(own)) / (spread + 1e-6)
                total += weight * ((logp[r] - ref[r]) / tokens[r] - beta * better) ** 2
        return total / len(acted(batch))

    return loss


def paced(logp: Array, batch: TokenBatch) -> float:
    old, returns = sums(batch.column("old_T"), batch), listed(batch.return_R)
    return float(np.mean([(logp[r] - old[r] - returns[r] / 0.05) ** 2 for r in acted(batch)]))


def log1p_exp(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


LOSSES: list[tuple[WholeLoss, Plain]] = [
    (Oapl(beta1=0.5, beta2=0.1), oapl(0.5, 0.1)),
    (Oapl(beta1=3.0, beta2=0.7, scaled=True), oapl(3.0, 0.7, scaled=True)),
    (Dpo(), of_pairs(extremes, lambda w, b: log1p_exp(-0.1 * (w - b)))),
    (Dpo(beta=0.7), of_pairs(extremes, lambda w, b: log1p_exp(-0.7 * (w - b)))),
    (Ipo(), of_pairs(extremes, lambda w, b: (w - b - 5.0) ** 2)),
    (Ipo(beta=0.5, normalised=True), of_pairs(extremes, lambda w, b: (w - b - 1.0) ** 2, mean=True)),
    (Spin(), of_pairs(demonstrated, lambda w, b: log1p_exp(-0.1 * (w - b)))),
    (Kto(), kto(good=1.0, bad=1.0)),
    (Kto(desirable=1.3, undesirable=0.8, drift="mismatched"), kto(good=1.3, bad=0.8, column="mismatched_R")),
    (Sppo(beta=0.5), of_pairs(extremes, lambda w, b: (w - 1.0) ** 2 + (b + 1.0) ** 2)),
    (Sppo(beta=0.5, form="rates"), rates(0.5)),
    (FlowRl(partition="table"), flowrl(clip=0.2)),
    (FlowRl(partition="mlp", clip=None, beta=2.0), flowrl(clip=None, beta=2.0)),
    (PacedRl(partition="table"), paced),
]
NAMES = [repr(loss) for loss, _ in LOSSES]


@pytest.mark.parametrize(("loss", "plain"), LOSSES, ids=NAMES)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_loss_is_what_its_formula_says(loss: WholeLoss, plain: Plain, seed: int) -> None:
    batch = many(seed)
    logp_R = at_now(batch)
    assert float(loss(logp_R, batch)) == pytest.approx(plain(numbers(logp_R), batch), rel=1e-10, abs=1e-12)


DIFFERENTIABLE = [
    FlowRl(partition="mlp", clip=0.0),
    *(loss for loss, _ in LOSSES if not isinstance(loss, Kto | FlowRl)),
]
"""The others have weights and baselines that move with the log-probabilities, and have no gradient."""


@pytest.mark.parametrize("loss", DIFFERENTIABLE, ids=repr)
def test_a_slope_is_that_of_central_differences(loss: WholeLoss) -> None:
    batch = many(3)
    logp_R = at_now(batch)
    found_R = slope(loss, logp_R, batch)
    for r in range(batch.trajectories):
        step = torch.zeros_like(logp_R)
        step[r] = 1e-5
        expected = (loss(logp_R + step, batch) - loss(logp_R - step, batch)) / 2e-5
        assert float(found_R[r]) == pytest.approx(float(expected), rel=1e-5, abs=1e-6)


def test_the_weight_of_flowrl_has_no_gradient_and_is_clipped() -> None:
    batch = many(3)
    logp_R = at_now(batch)
    weight_R = (logp_R - token_sum(batch.column("old_T"), batch)).exp()
    plain_R = slope(FlowRl(partition="table", clip=0.0), logp_R, batch)
    for clip, expected_R in ((None, weight_R), (0.3, weight_R.clamp(0.7, 1.3))):
        found_R = slope(FlowRl(partition="table", clip=clip), logp_R, batch)
        torch.testing.assert_close(found_R, expected_R * plain_R, rtol=1e-12, atol=1e-14)


def test_flowrl_is_at_rest_where_likelihoods_are_in_proportion() -> None:
    """logp = T (beta A + mean ref - log Z), with log Z at 0."""
    batch = returning([1, 0, 0, 1], task_R=[1] * 4)
    better_R = reals([1, -1, -1, 1]) * 0.5 / (3**-0.5 + 1e-6)
    logp_R = 2 * (1.5 * better_R) + token_sum(batch.column("ref_T"), batch)
    assert float(slope(FlowRl(partition="table", beta=1.5), logp_R, batch).abs().max()) < 1e-12


@pytest.mark.parametrize("loss", [loss for loss, _ in LOSSES], ids=NAMES)
@pytest.mark.parametrize("far", [0.0, 60.0, -60.0, 1e4, -1e4])
def test_losses_and_slopes_are_finite_however_far_off(loss: WholeLoss, far: float) -> None:
    batch = many(5)
    logp_R = at_now(batch) + far * torch.linspace(-1, 1, batch.trajectories, dtype=torch.float64)
    assert math.isfinite(float(loss(logp_R, batch)))
    assert bool(slope(loss, logp_R, batch).isfinite().all())


@pytest.mark.parametrize("loss", [loss for loss, _ in LOSSES], ids=NAMES)
def test_one_trajectory_and_nothing_trained_are_no_fault(loss: WholeLoss) -> None:
    whole = many(6)
    for batch in (whole.select([0]), replace(whole, trained_T=torch.zeros_like(whole.trained_T)), whole.select([])):
        assert math.isfinite(float(loss(at_now(batch), batch)))
        assert bool(slope(loss, at_now(batch), batch).isfinite().all())


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Oapl(beta1=0, beta2=1), "beta1=0"),
        (lambda: Oapl(beta1=1, beta2=0), "beta2=0"),
        (lambda: Oapl(beta1=1, beta2=math.inf), "beta2=inf"),
        (lambda: Dpo(beta=0), "beta=0"),
        (lambda: Ipo(beta=-1), "beta=-1"),
        (lambda: Spin(beta=math.inf), "beta=inf"),
        (lambda: Kto(beta=0), "beta=0"),
        (lambda: Kto(undesirable=-1), "undesirable=-1"),
        (lambda: Sppo(beta=0), "beta=0"),
        (lambda: FlowRl(partition="table", beta=-1), "beta=-1"),
        (lambda: FlowRl(partition="table", clip=2.0), "clip=2.0"),
        (lambda: FlowRl(partition="table", rate=0), "rate=0"),
        (lambda: PacedRl(partition="mlp", width=0), "width=0"),
        (lambda: PacedRl(partition="table", beta=0), "beta=0"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(make: Callable[[], WholeLoss], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make()
