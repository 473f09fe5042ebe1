"""Figures of a batch under the trained weights: closed forms, bounds, and what they must not depend on."""

import math
from dataclasses import replace
from random import Random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from palaestra.trainers.data.batch import NO_TURN, TokenBatch
from palaestra.trainers.monitors import policy_metrics
from palaestra.trainers.monitors.policy import turn_in_trajectory
from palaestra.trainers.objectives.rates import effective_share

RATIOS = st.lists(st.floats(-8, 8), min_size=1, max_size=40)


def batch(logprobs: list[float], *, versions: list[int], turns: list[int], trajectories: list[int]) -> TokenBatch:
    """A prompt token for each of `trajectories`' first turns, then one trained token for each entry.

    Args:
        logprobs: When they were drawn.
        versions: That drew them.
        turns: The turn of each token, over all trajectories, ascending.
        trajectories: The trajectory of each turn.
    """
    trained: list[bool] = []
    turn_of: list[int] = []
    segment_of: list[int] = []
    logprob: list[float] = []
    version: list[int] = []
    for value, drawn_by, number in zip(logprobs, versions, turns, strict=True):
        trajectory = trajectories[number]
        if trajectory not in segment_of:
            trained.append(False)
            turn_of.append(NO_TURN)
            segment_of.append(trajectory)
            logprob.append(0.0)
            version.append(0)
        trained.append(True)
        turn_of.append(number)
        segment_of.append(trajectory)
        logprob.append(value)
        version.append(drawn_by)
    count, of = len(trained), 1 + max(trajectories)
    return TokenBatch(
        ids_T=torch.zeros(count, dtype=torch.long),
        position_T=torch.arange(count),
        trained_T=torch.tensor(trained),
        logprob_T=torch.tensor(logprob),
        version_T=torch.tensor(version),
        part_T=torch.zeros(count, dtype=torch.long),
        advantage_T=torch.zeros(count),
        weight_T=torch.zeros(count),
        segment_T=torch.tensor(segment_of),
        turn_T=torch.tensor(turn_of),
        trajectory_S=torch.arange(of),
        trajectory_U=torch.tensor(trajectories),
        reward_U=torch.zeros(len(trajectories)),
        group_R=torch.zeros(of, dtype=torch.long),
        return_R=torch.zeros(of),
    )


def single(count: int, *, version: int = 0) -> TokenBatch:
    """One trajectory of one turn, every token drawn with certainty."""
    return batch([0.0] * count, versions=[version] * count, turns=[0] * count, trajectories=[0])


def under(one: TokenBatch, log_ratios: list[float]) -> Tensor:
    """Log-probabilities that give these log-ratios at the trained tokens, and nonsense elsewhere."""
    logp_T = torch.full_like(one.logprob_T, math.nan)
    logp_T[one.trained_T] = one.logprob_T[one.trained_T] + torch.tensor(log_ratios)
    return logp_T


def entropy(one: TokenBatch, value: float = 0.5) -> Tensor:
    return torch.where(one.trained_T, value, math.nan)


def test_under_the_weights_that_drew_them_tokens_have_ratio_one_no_kl_and_count_fully() -> None:
    one = batch([-0.5, -2.0, -0.1], versions=[3, 3, 3], turns=[0, 0, 1], trajectories=[0, 0])
    metrics = policy_metrics(one, under(one, [0.0, 0.0, 0.0]), entropy(one), version=3)
    assert metrics["policy/ratio_mean"] == metrics["policy/ratio_min"] == metrics["policy/ratio_max"] == 1
    assert metrics["policy/kl"] == metrics["policy/kl_k1"] == 0
    assert metrics["policy/ess"] == metrics["ess/lag/0"] == metrics["ess/turn/0"] == metrics["ess/turn/1"] == 1
    assert metrics["policy/entropy"] == 0.5
    assert metrics["staleness/mean"] == metrics["staleness/max"] == 0
    assert metrics["staleness/lag/0"] == 1


def test_ratios_one_and_three_in_closed_form() -> None:
    """(1 + 3)^2 / (2 (1 + 9)) = 0.8; k1 = -log(3) / 2; k3 = (0 + 2 - log 3) / 2."""
    one = single(2)
    metrics = policy_metrics(one, under(one, [0.0, math.log(3)]), entropy(one), version=0)
    assert metrics["policy/ess"] == pytest.approx(0.8)
    assert metrics["policy/kl_k1"] == pytest.approx(-math.log(3) / 2)
    assert metrics["policy/kl"] == pytest.approx((2 - math.log(3)) / 2)
    assert metrics["policy/ratio_mean"] == pytest.approx(2)
    assert metrics["policy/ratio_min"] == pytest.approx(1)
    assert metrics["policy/ratio_max"] == pytest.approx(3)


def test_both_estimates_of_kl_come_to_its_true_value_over_all_that_could_have_been_drawn() -> None:
    """Ten tokens drawn as 0.6, 0.3, 0.1 say, exactly, make the mean over them an expectation."""
    drew, trained = [0.6, 0.3, 0.1], [0.5, 0.2, 0.3]
    true = sum(p * math.log(p / q) for p, q in zip(drew, trained, strict=True))
    picks = [0] * 6 + [1] * 3 + [2]
    one = batch([math.log(drew[i]) for i in picks], versions=[0] * 10, turns=[0] * 10, trajectories=[0])
    log_ratios = [math.log(trained[i] / drew[i]) for i in picks]
    metrics = policy_metrics(one, under(one, log_ratios), entropy(one), version=0)
    assert metrics["policy/kl_k1"] == pytest.approx(true, abs=1e-6)
    assert metrics["policy/kl"] == pytest.approx(true, abs=1e-6)


def test_each_lag_has_its_own_effective_share_and_its_share_of_the_tokens() -> None:
    one = batch([0.0] * 5, versions=[5, 5, 3, 3, 0], turns=[0] * 5, trajectories=[0])
    log_ratios = [0.0, 0.0, 0.0, math.log(3), 2.0]
    metrics = policy_metrics(one, under(one, log_ratios), entropy(one), version=5)
    assert metrics["ess/lag/0"] == 1
    assert metrics["ess/lag/2"] == pytest.approx(0.8)
    assert metrics["ess/lag/4-7"] == 1
    assert {name: value for name, value in metrics.items() if name.startswith("staleness/lag/")} == pytest.approx(
        {"staleness/lag/0": 0.4, "staleness/lag/2": 0.4, "staleness/lag/4-7": 0.2}
    )
    assert metrics["staleness/mean"] == pytest.approx((2 * 2 + 5) / 5)
    assert metrics["staleness/max"] == 5


def test_turns_are_counted_from_the_beginning_of_their_own_trajectory() -> None:
    one = batch([0.0] * 6, versions=[0] * 6, turns=[0, 0, 1, 2, 3, 4], trajectories=[0, 0, 1, 1, 1])
    assert turn_in_trajectory(one).tolist() == [NO_TURN, 0, 0, 1, NO_TURN, 0, 1, 2]
    log_ratios = [0.0, 0.0, 0.0, 0.0, math.log(3), 7.0]
    metrics = policy_metrics(one, under(one, log_ratios), entropy(one), version=0)
    assert metrics["ess/turn/0"] == 1
    assert metrics["ess/turn/1"] == pytest.approx(0.8)
    assert metrics["ess/turn/2"] == 1


def test_late_turns_are_taken_together_in_doubling_ranges() -> None:
    turns = list(range(18))
    one = batch([0.0] * 18, versions=[0] * 18, turns=turns, trajectories=[0] * 18)
    metrics = policy_metrics(one, under(one, [0.0] * 18), entropy(one), version=0)
    names = [name.removeprefix("ess/turn/") for name in metrics if name.startswith("ess/turn/")]
    assert names == ["0", "1", "2", "3", "4-7", "8-15", "16-31"]


def test_a_mismatch_is_of_tokens_that_the_same_weights_drew() -> None:
    """Of lag 0 are differences of 0, -2 and 1: k3 is (0 + (e^-2 - 1 + 2) + (e - 1 - 1)) / 3."""
    one = batch([0.0] * 4, versions=[2, 2, 1, 2], turns=[0] * 4, trajectories=[0])
    metrics = policy_metrics(one, under(one, [0.0, -2.0, 5.0, 1.0]), entropy(one), version=2)
    assert metrics["mismatch/max"] == 2
    assert metrics["mismatch/mean"] == 1
    assert metrics["mismatch/zero_share"] == pytest.approx(1 / 3)
    assert metrics["mismatch/kl"] == pytest.approx((math.exp(-2) + 1 + math.e - 2) / 3)


def test_a_batch_that_older_weights_drew_has_no_mismatch() -> None:
    one = single(3, version=1)
    metrics = policy_metrics(one, under(one, [0.0, 1.0, 2.0]), entropy(one), version=2)
    assert not [name for name in metrics if name.startswith("mismatch/")]


def test_a_batch_without_a_trained_token_has_no_figures() -> None:
    one = single(3)
    untrained = replace(one, trained_T=one.trained_T & False)
    assert policy_metrics(untrained, one.logprob_T, one.logprob_T, version=0) == {}


def test_figures_take_no_gradient_along() -> None:
    one = single(2)
    logp_T = torch.zeros_like(one.logprob_T, requires_grad=True)
    assert policy_metrics(one, logp_T, logp_T, version=0)["policy/ess"] == 1


def test_a_token_of_weights_that_are_still_to_come_is_our_own_mistake() -> None:
    one = single(1, version=4)
    with pytest.raises(AssertionError, match="version 4 under weights of version 3"):
        policy_metrics(one, under(one, [0.0]), entropy(one), version=3)


@given(log_ratios=RATIOS)
def test_an_effective_share_lies_above_a_single_token_and_at_most_at_all(log_ratios: list[float]) -> None:
    share = effective_share(torch.tensor(log_ratios, dtype=torch.float64))
    assert 1 / len(log_ratios) * (1 - 1e-9) <= share <= 1


@given(log_ratios=RATIOS, factor=st.floats(-500, 500), order=st.randoms(use_true_random=False))
def test_neither_order_nor_a_common_factor_changes_an_effective_share(
    log_ratios: list[float], factor: float, order: Random
) -> None:
    share = effective_share(torch.tensor(log_ratios, dtype=torch.float64))
    order.shuffle(log_ratios)
    assert effective_share(torch.tensor(log_ratios, dtype=torch.float64) + factor) == pytest.approx(share)


@given(log_ratio=st.floats(-5, 5), count=st.integers(1, 30))
def test_equal_weights_count_fully(log_ratio: float, count: int) -> None:
    assert effective_share(torch.full((count,), log_ratio, dtype=torch.float64)) == pytest.approx(1)


@given(log_ratios=RATIOS, order=st.randoms(use_true_random=False))
def test_the_order_of_tokens_changes_no_figure_of_a_batch_and_kl_is_never_negative(
    log_ratios: list[float], order: Random
) -> None:
    one = single(len(log_ratios))
    metrics = policy_metrics(one, under(one, log_ratios), entropy(one), version=0)
    assert metrics["policy/kl"] >= 0
    order.shuffle(log_ratios)
    again = policy_metrics(one, under(one, log_ratios), entropy(one), version=0)
    assert again == pytest.approx(metrics, rel=1e-6, abs=1e-9)
