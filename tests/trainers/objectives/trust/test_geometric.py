"""GMPO against its formula, one loss for each trajectory, in numpy with loops; gradients by central differences."""

import math
from functools import partial

import numpy as np
import pytest
import torch

from drawn import Array, surrogate
from palaestra.trainers.objectives.trust import Gmpo, UnclippedRatio

OWNER = np.array([0, 0, 0, 1, 2, 2, 2, 2, 2])
ADVANTAGE = np.array([1.5, -0.5, -2.0])


def means(logp: Array, anchor: Array, *, clip: float) -> Array:
    """-A exp(mean of clipped log-ratios), of each trajectory."""
    losses: list[float] = []
    for owner, advantage in enumerate(ADVANTAGE):
        clipped: list[float] = []
        for place in np.flatnonzero(owner == OWNER):
            off = logp[place] - anchor[place]
            clipped.append(min(off, clip) if advantage > 0 else max(off, -clip))
        losses.append(-advantage * math.exp(sum(clipped) / len(clipped)))
    return np.array(losses)


def draws(seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    anchor = np.log(rng.uniform(0.05, 0.5, len(OWNER)))
    return anchor + rng.normal(0, 0.6, len(OWNER)), anchor


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("clip", [0.4, math.inf])
def test_the_mean_over_tokens_is_the_loss_of_the_trajectory(seed: int, clip: float) -> None:
    logp, anchor = draws(seed)
    share = 1 / np.bincount(OWNER)[OWNER] / len(ADVANTAGE)
    given, logp_N = surrogate(logp, anchor, ADVANTAGE[OWNER], trajectory=OWNER)
    loss = (torch.from_numpy(share) * Gmpo(low=clip, high=clip)(given)).sum()
    reference = partial(means, anchor=anchor, clip=clip)
    assert loss.item() == pytest.approx(reference(logp).mean(), abs=1e-12)
    (found_N,) = torch.autograd.grad(loss, logp_N)
    for place in range(len(OWNER)):
        step = 1e-6 * np.eye(len(OWNER))[place]
        slope = (reference(logp + step).mean() - reference(logp - step).mean()) / 2e-6
        assert found_N[place].item() == pytest.approx(slope, abs=1e-8)


def test_one_token_without_a_clip_is_the_ratio_itself() -> None:
    logp, anchor = draws(0)
    given, _ = surrogate(logp, anchor, ADVANTAGE[OWNER])
    found_N = Gmpo(low=math.inf, high=math.inf)(given)
    torch.testing.assert_close(found_N, UnclippedRatio()(given), rtol=1e-12, atol=0)


def test_what_is_clipped_itself_is_silent_and_the_other_side_is_not() -> None:
    given, logp_N = surrogate(
        np.array([0.5, -0.5, 0.5, -0.5]), np.zeros(4), np.array([1.0, 1.0, -1.0, -1.0]), trajectory=np.arange(4) // 2
    )
    (found_N,) = torch.autograd.grad(Gmpo()(given).sum(), logp_N)
    assert (found_N == 0).tolist() == Gmpo().silenced_tokens(given).tolist() == [True, False, False, True]
    assert found_N[1].item() == pytest.approx(-math.exp(-0.05))  # the mean of 0.4 and -0.5


def test_nothing_is_finite() -> None:
    given, _ = surrogate(np.zeros(0), np.zeros(0), np.zeros(0))
    assert Gmpo()(given).sum().item() == 0


def test_a_negative_distance_is_refused() -> None:
    with pytest.raises(ValueError, match=r"low=-0\.1, high=0\.4: distances"):
        Gmpo(low=-0.1)
