"""Claims about clips on which other claims rest: that GSPO, INTELLECT-2's delta and LOOP's bounds are settings."""

import numpy as np
import pytest
import torch

from drawn import batch_of, surrogate
from palaestra.trainers.objectives.aggregation import Aggregation
from palaestra.trainers.objectives.composed import surrogate_of
from palaestra.trainers.objectives.ratio import RatioConfig
from palaestra.trainers.objectives.trust import Clip


@pytest.mark.parametrize("dual", [1.5, 4.0])
def test_the_delta_of_intellect_2_is_the_dual_clip(dual: float) -> None:
    """min(ratio, delta) on the unclipped branch, whatever the advantage; value and gradient."""
    rng = np.random.default_rng(0)
    anchor = np.log(rng.uniform(0.01, 0.2, 2000))
    given, logp_N = surrogate(anchor + rng.normal(0, 1.5, 2000), anchor, rng.choice([-2.0, 0.0, 1.0], 2000))
    ratio_N, advantage_N = given.log_ratio_N.exp(), given.advantage_N
    delta_N = torch.maximum(-advantage_N * ratio_N.clamp_max(dual), -advantage_N * ratio_N.clamp(0.8, 1.2))
    loss_N = Clip(dual=dual)(given)
    torch.testing.assert_close(loss_N, delta_N, rtol=1e-12, atol=0)
    (found_N,) = torch.autograd.grad(loss_N.sum(), logp_N, retain_graph=True)
    (expected_N,) = torch.autograd.grad(delta_N.sum(), logp_N)
    torch.testing.assert_close(found_N, expected_N, rtol=1e-12, atol=0)
    assert (ratio_N > dual).any()


@pytest.mark.parametrize("seed", range(3))
def test_a_clip_on_the_ratio_of_sequences_is_gspo(seed: int) -> None:
    batch = batch_of((3, 7, 5, 1), seed=seed)
    logp_T = batch.column("now_T").clone().requires_grad_()
    region = Clip(low=0.05, high=0.05)
    given = surrogate_of(
        logp_T, torch.zeros_like(logp_T), batch, ratio=RatioConfig(granularity="sequence"), requires=frozenset()
    )
    weight_N = Aggregation().weights(batch, batch.trained_T)[batch.trained_T]
    loss = (weight_N * region(given)).sum()
    losses = []
    for number in range(batch.trajectories):
        own_T = batch.trained_T & (batch.trajectory_T == number)
        ratio = (logp_T[own_T] - batch.logprob_T[own_T]).mean().exp()
        advantage = batch.return_R[number]
        losses.append(torch.maximum(-advantage * ratio, -advantage * ratio.clamp(0.95, 1.05)))
    expected = torch.stack(losses).mean()
    torch.testing.assert_close(loss, expected, rtol=1e-12, atol=1e-12)
    (found_T,) = torch.autograd.grad(loss, logp_T)
    (expected_T,) = torch.autograd.grad(expected, logp_T)
    torch.testing.assert_close(found_T, expected_T, rtol=1e-12, atol=1e-12)


def test_the_bounds_of_loop_are_settings() -> None:
    """1 / 1.25 and 1.25."""
    ratios = np.array([0.79, 0.81, 1.24, 1.26])
    region = Clip(low=0.25 / 1.25, high=0.25)
    for advantage, silent in [(1.0, [False, False, False, True]), (-1.0, [True, False, False, False])]:
        given, _ = surrogate(np.log(ratios), np.zeros(4), np.full(4, advantage))
        assert region.silenced_tokens(given).tolist() == silent


def test_the_ratio_of_gspo_is_the_same_whoever_of_a_sequence_moved() -> None:
    """Every token by 0.01, or one of five by 0.05."""
    batch = batch_of((5,))
    own_T = batch.trained_T
    together_N = batch.logprob_T[own_T] + 0.01
    alone_N = batch.logprob_T[own_T] + torch.tensor([0.0, 0.05, 0.0, 0.0, 0.0])
    ratio = RatioConfig(granularity="sequence")
    for logp_N in (together_N, alone_N):
        found_N = ratio.log_ratio(logp_N, batch.logprob_T[own_T], batch)
        torch.testing.assert_close(found_N, torch.full_like(found_N, 0.01), rtol=1e-6, atol=0)
