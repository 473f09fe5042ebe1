"""Losses of whole trajectories against loops in numpy, and the identities that their papers rest on.

Log-probabilities stand for sums over trained tokens; D and Delta are how far they are from what drew the trajectories,
and from the reference.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import pytest
import torch
from torch import Tensor

from graded import Array, many, numbers, reals, returning, sums
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.parts import WholeLoss
from palaestra.trainers.objectives.whole import (
    Dpo,
    FlowRl,
    Ipo,
    Kto,
    Oapl,
    Paced,
    Spin,
    Sppo,
    best_and_worst,
    soft_best,
    sum_trained,
    win_rates,
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
    (Paced(partition="table"), paced),
]
NAMES = [repr(loss) for loss, _ in LOSSES]


def at_now(batch: TokenBatch) -> Tensor:
    return sum_trained(batch.column("now_T"), batch)


def slope(loss: WholeLoss, logp_R: Tensor, batch: TokenBatch) -> Tensor:
    own_R = logp_R.detach().clone().requires_grad_()
    return torch.autograd.grad(loss(own_R, batch), own_R, allow_unused=True, materialize_grads=True)[0]


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
    weight_R = (logp_R - sum_trained(batch.column("old_T"), batch)).exp()
    plain_R = slope(FlowRl(partition="table", clip=0.0), logp_R, batch)
    for clip, expected_R in ((None, weight_R), (0.3, weight_R.clamp(0.7, 1.3))):
        found_R = slope(FlowRl(partition="table", clip=clip), logp_R, batch)
        torch.testing.assert_close(found_R, expected_R * plain_R, rtol=1e-12, atol=1e-14)


def test_flowrl_is_at_rest_where_likelihoods_are_in_proportion() -> None:
    """logp = T (beta A + mean ref - log Z), with log Z at 0."""
    batch = returning([1, 0, 0, 1], task_R=[1] * 4)
    better_R = reals([1, -1, -1, 1]) * 0.5 / (3**-0.5 + 1e-6)
    logp_R = 2 * (1.5 * better_R) + sum_trained(batch.column("ref_T"), batch)
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


@pytest.mark.parametrize(("beta", "value"), [(0.1, 0.930690), (1.0, 0.620115), (10.0, 0.512495)])
def test_golden_values_of_oapl(beta: float, value: float) -> None:
    """beta log((2 exp(1 / beta) + 2) / 4)."""
    found_R = soft_best(reals([1, 0, 0, 1]), torch.zeros(4, dtype=torch.long), beta=beta)
    assert found_R.tolist() == pytest.approx([value] * 4, abs=1e-6)


def test_the_value_of_oapl_runs_from_the_mean_to_the_greatest_return() -> None:
    return_R, group_R = reals([3, -1, 0.5, 7, 7]), torch.tensor([4, 4, 4, 9, 9])
    values = [soft_best(return_R, group_R, beta=beta) for beta in (math.inf, 1e9, 10, 1, 0.1, 1e-9)]
    torch.testing.assert_close(values[0], reals([2.5 / 3] * 3 + [7, 7]), rtol=1e-12, atol=0)
    torch.testing.assert_close(values[1], values[0], rtol=1e-8, atol=0)
    torch.testing.assert_close(values[-1], reals([3, 3, 3, 7, 7]), rtol=1e-8, atol=0)
    assert all(bool((low <= high + 1e-12).all()) for low, high in pairwise(values))


@pytest.mark.parametrize("beta", [0.1, 1.0, 10.0])
def test_the_targets_of_oapl_are_a_distribution_on_the_group(beta: float) -> None:
    return_R = reals([1, 0, 0.3, -0.8])
    value_R = soft_best(return_R, torch.zeros(4, dtype=torch.long), beta=beta)
    assert float(((return_R - value_R) / beta).exp().mean()) == pytest.approx(1, rel=1e-12)


def test_at_the_policy_that_drew_them_oapl_is_a_centred_reinforce() -> None:
    """The gradient is -2 beta2 (R - V), or -(R - V) where it is scaled; with V the mean, Dr.GRPO's."""
    batch = returning([1, 0, 0, 1, 5, 5], groups=[0, 0, 0, 0, 1, 1])
    logp_R = sum_trained(batch.logprob_T, batch)
    off_R = reals([0.5, -0.5, -0.5, 0.5, 0, 0])
    plain, scaled = Oapl(beta1=math.inf, beta2=0.3), Oapl(beta1=math.inf, beta2=0.3, scaled=True)
    torch.testing.assert_close(slope(plain, logp_R, batch), -0.6 * off_R / 6, rtol=1e-12, atol=1e-15)
    torch.testing.assert_close(slope(scaled, logp_R, batch), -off_R / 6, rtol=1e-12, atol=1e-15)


def test_oapl_is_at_rest_where_log_ratios_are_what_returns_are_worth() -> None:
    batch = many(8)
    value_R = soft_best(batch.return_R, batch.group_R, beta=0.7)
    logp_R = sum_trained(batch.logprob_T, batch) + (batch.return_R - value_R) / 0.2
    moved = [r for r in range(batch.trajectories) if r in acted(batch)]
    assert float(slope(Oapl(beta1=0.7, beta2=0.2), logp_R, batch)[moved].abs().max()) < 1e-12


def test_oapl_pulls_a_group_of_equal_returns_back_to_what_drew_it() -> None:
    batch = returning([0, 0, 0])
    drew_R = sum_trained(batch.logprob_T, batch)
    loss = Oapl(beta1=1.0, beta2=0.5)
    assert not slope(loss, drew_R, batch).any()
    assert bool((slope(loss, drew_R + 1, batch) > 0).all())


def test_pairs_are_the_best_and_the_worst_of_each_group() -> None:
    """The first of several; nothing of equal returns or of a single trajectory."""
    pairs = best_and_worst(reals([1, 3, 3, 0, 0, 2, 2, 9]), torch.tensor([5, 5, 5, 5, 5, 1, 1, 0]))
    assert (pairs.chosen_P.tolist(), pairs.rejected_P.tolist()) == ([1], [3])


@pytest.mark.parametrize("loss", [Dpo(beta=0.4), Spin(beta=0.4)], ids=repr)
def test_at_the_reference_a_pair_costs_log_2_and_pushes_both_alike(loss: WholeLoss) -> None:
    """-beta/2 (grad w - grad l)."""
    batch = returning([1, 0], chosen_R=[1, 0])
    logp_R = sum_trained(batch.column("ref_T"), batch)
    assert float(loss(logp_R, batch)) == pytest.approx(math.log(2), rel=1e-12)
    torch.testing.assert_close(slope(loss, logp_R, batch), reals([-0.2, 0.2]), rtol=1e-12, atol=0)


@pytest.mark.parametrize("loss", [Dpo(), Ipo(), Spin(), Sppo(beta=0.5), Sppo(beta=0.5, form="rates"), Kto()], ids=repr)
def test_at_the_reference_two_swapped_trajectories_swap_the_gradient(loss: WholeLoss) -> None:
    one = returning([1, 0], chosen_R=[1, 0], passed_R=[1, 0])
    other = returning([0, 1], chosen_R=[0, 1], passed_R=[0, 1])
    logp_R = sum_trained(one.column("ref_T"), one)
    torch.testing.assert_close(slope(loss, logp_R, one), -slope(loss, logp_R, other), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("loss", [Dpo(), Ipo(), Spin()], ids=repr)
def test_a_swapped_pair_has_the_opposite_margin(loss: WholeLoss) -> None:
    """Exchanging both roles and both log-ratios changes nothing."""
    one = returning([1, 0], chosen_R=[1, 0])
    other = returning([0, 1], chosen_R=[0, 1])
    ref_R, delta_R = sum_trained(one.column("ref_T"), one), reals([0.9, -0.4])
    here, there = loss(ref_R + delta_R, one), loss(ref_R + delta_R.flip(0), other)
    assert float(here) == pytest.approx(float(there), rel=1e-12)


def test_with_next_to_no_beta_dpo_is_flat() -> None:
    batch = returning([1, 0])
    assert float(slope(Dpo(beta=1e-9), at_now(batch), batch).abs().max()) < 1e-9


def test_ipo_is_at_rest_at_its_margin() -> None:
    batch = returning([1, 0])
    logp_R = sum_trained(batch.column("ref_T"), batch) + reals([3, -2])
    assert not slope(Ipo(beta=0.1), logp_R, batch).any()


def test_spin_has_nothing_to_learn_of_a_policy_that_writes_what_is_shown() -> None:
    """Demonstrations and own trajectories from one distribution: at the reference the mean gradient is 0.

    Of a softmax over three texts, over all pairs, each weighed with its likelihood.
    """
    logits_3 = reals([0.3, -1.0, 0.6]).requires_grad_()
    log_3 = logits_3.log_softmax(0)
    total = torch.zeros(3, dtype=torch.float64)
    for w in range(3):
        for own in range(3):
            batch = returning([0, 0], chosen_R=[1, 0])
            batch = batch.with_columns({"ref_T": _spread(log_3.detach()[[w, own]], batch)})
            (gradient_3,) = torch.autograd.grad(Spin()(log_3[[w, own]], batch), logits_3, retain_graph=True)
            total += (log_3[w] + log_3[own]).exp().detach() * gradient_3
    assert float(total.abs().max()) < 1e-15


def _spread(sum_R: Tensor, batch: TokenBatch) -> Tensor:
    """Shared out over two tokens for each trajectory."""
    return (sum_R[batch.trajectory_T] / 2).masked_fill(~batch.trained_T, 0.0)


def test_in_kto_right_and_wrong_are_opposite() -> None:
    """1 - s(x) and 1 - s(-x) make 1, whatever z: so do losses whose passes are exchanged."""
    batch = many(9)
    other = batch.with_columns({"passed_R": 1 - batch.column("passed_R")})
    logp_R = at_now(batch)
    assert float(Kto()(logp_R, batch) + Kto()(logp_R, other)) == pytest.approx(1, rel=1e-12)
    torch.testing.assert_close(slope(Kto(), logp_R, batch), -slope(Kto(), logp_R, other), rtol=1e-10, atol=1e-15)


def test_the_z_of_kto_has_no_gradient_and_is_not_negative() -> None:
    """The slope is -+ w beta s (1 - s) / n, with z as if it were given."""
    for shift, z in ((0.5, 0.5), (-0.5, 0.0)):
        batch = returning([1, 0], passed_R=[1, 0])
        logp_R = sum_trained(batch.column("ref_T"), batch) + shift
        s = sigmoid(0.1 * (shift - z))
        expected = reals([-0.1 * s * (1 - s) / 2, 2 * 0.1 * s * (1 - s) / 2])
        torch.testing.assert_close(slope(Kto(undesirable=2.0), logp_R, batch), expected, rtol=1e-10, atol=1e-15)


def test_kto_says_which_columns_its_settings_read() -> None:
    assert Kto().requires == {"ref_T", "passed_R"}
    assert Kto(drift="mismatched").requires == {"ref_T", "passed_R", "mismatched_R"}


def test_win_rates_count_equal_returns_by_half() -> None:
    found_R = win_rates(reals([2, 1, 1, 0, 5]), torch.tensor([3, 3, 3, 3, 0]))
    torch.testing.assert_close(found_R, reals([1, 0.5, 0.5, 0, 0.5]), rtol=1e-12, atol=0)


def test_of_two_trajectories_the_rates_of_sppo_are_half_of_the_hard_form() -> None:
    batch = returning([1, 0, 0, 4], groups=[0, 0, 1, 1])
    logp_R = at_now(batch)
    hard, soft = Sppo(beta=0.3)(logp_R, batch), Sppo(beta=0.3, form="rates")(logp_R, batch)
    assert float(hard) == pytest.approx(2 * float(soft), rel=1e-12)


def test_sppo_by_rates_is_oapl_on_win_rates_with_a_value_of_a_half() -> None:
    """beta^2 (Delta - (P - 1/2) / beta)^2 = (beta Delta - (P - 1/2))^2; of no ties the mean rate is 1/2."""
    batch = returning([4, 1, 3, 2])
    batch = batch.with_columns({"ref_T": batch.logprob_T})
    rate_R = win_rates(batch.return_R, batch.group_R)
    logp_R = at_now(batch)
    whole = Oapl(beta1=math.inf, beta2=0.3)(logp_R, replace(batch, return_R=rate_R))
    assert 0.09 * float(Sppo(beta=0.3, form="rates")(logp_R, batch)) == pytest.approx(float(whole), rel=1e-12)


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
        (lambda: Paced(partition="mlp", width=0), "width=0"),
        (lambda: Paced(partition="table", beta=0), "beta=0"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(make: Callable[[], WholeLoss], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make()
