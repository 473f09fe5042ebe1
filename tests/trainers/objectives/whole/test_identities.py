"""What the papers on whole-trajectory losses rest on: where they are at rest, what they are at the reference.

Log-probabilities stand for sums over trained tokens.
"""

import math
from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from graded import at_now, many, reals, returning, slope
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.parts import WholeLoss
from palaestra.trainers.objectives.whole import (
    Dpo,
    Ipo,
    Kto,
    Oapl,
    Spin,
    Sppo,
    best_and_worst,
    lengths,
    soft_best,
    token_sum,
    win_rates,
)


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
    logp_R = token_sum(batch.logprob_T, batch)
    off_R = reals([0.5, -0.5, -0.5, 0.5, 0, 0])
    plain, scaled = Oapl(beta1=math.inf, beta2=0.3), Oapl(beta1=math.inf, beta2=0.3, scaled=True)
    torch.testing.assert_close(slope(plain, logp_R, batch), -0.6 * off_R / 6, rtol=1e-12, atol=1e-15)
    torch.testing.assert_close(slope(scaled, logp_R, batch), -off_R / 6, rtol=1e-12, atol=1e-15)


def test_oapl_is_at_rest_where_log_ratios_are_what_returns_are_worth() -> None:
    batch = many(8)
    value_R = soft_best(batch.return_R, batch.group_R, beta=0.7)
    logp_R = token_sum(batch.logprob_T, batch) + (batch.return_R - value_R) / 0.2
    acted = lengths(batch) > 0
    assert float(slope(Oapl(beta1=0.7, beta2=0.2), logp_R, batch)[acted].abs().max()) < 1e-12


def test_oapl_pulls_a_group_of_equal_returns_back_to_what_drew_it() -> None:
    batch = returning([0, 0, 0])
    drew_R = token_sum(batch.logprob_T, batch)
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
    logp_R = token_sum(batch.column("ref_T"), batch)
    assert float(loss(logp_R, batch)) == pytest.approx(math.log(2), rel=1e-12)
    torch.testing.assert_close(slope(loss, logp_R, batch), reals([-0.2, 0.2]), rtol=1e-12, atol=0)


@pytest.mark.parametrize("loss", [Dpo(), Ipo(), Spin(), Sppo(beta=0.5), Sppo(beta=0.5, form="rates"), Kto()], ids=repr)
def test_at_the_reference_two_swapped_trajectories_swap_the_gradient(loss: WholeLoss) -> None:
    one = returning([1, 0], chosen_R=[1, 0], passed_R=[1, 0])
    other = returning([0, 1], chosen_R=[0, 1], passed_R=[0, 1])
    logp_R = token_sum(one.column("ref_T"), one)
    torch.testing.assert_close(slope(loss, logp_R, one), -slope(loss, logp_R, other), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("loss", [Dpo(), Ipo(), Spin()], ids=repr)
def test_a_swapped_pair_has_the_opposite_margin(loss: WholeLoss) -> None:
    """Exchanging both roles and both log-ratios changes nothing."""
    one = returning([1, 0], chosen_R=[1, 0])
    other = returning([0, 1], chosen_R=[0, 1])
    ref_R, delta_R = token_sum(one.column("ref_T"), one), reals([0.9, -0.4])
    here, there = loss(ref_R + delta_R, one), loss(ref_R + delta_R.flip(0), other)
    assert float(here) == pytest.approx(float(there), rel=1e-12)


def test_with_next_to_no_beta_dpo_is_flat() -> None:
    batch = returning([1, 0])
    assert float(slope(Dpo(beta=1e-9), at_now(batch), batch).abs().max()) < 1e-9


def test_ipo_is_at_rest_at_its_margin() -> None:
    batch = returning([1, 0])
    logp_R = token_sum(batch.column("ref_T"), batch) + reals([3, -2])
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
        logp_R = token_sum(batch.column("ref_T"), batch) + shift
        s = 1 / (1 + math.exp(-0.1 * (shift - z)))
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
