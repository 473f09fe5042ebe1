"""LAD against its formula in numpy, and against the weights that stand in place of the advantage at ratio 1."""

import math
from typing import get_args

import numpy as np
import pytest
import torch

from drawn import Array, surrogate
from palaestra.trainers.objectives.trust import Lad
from palaestra.trainers.objectives.trust.target import Divergence

DIVERGENCES: tuple[Divergence, ...] = get_args(Divergence)


def slope(u: float, divergence: Divergence) -> float:
    """f'(u), by hand."""
    match divergence:
        case "kl":
            return math.log(u)
        case "rkl":
            return 1 - 1 / u
        case "jeffreys":
            return math.log(u) + 1 - 1 / u
        case "tv":
            return math.copysign(0.5, u - 1)
        case "hellinger":
            return 1 - 1 / math.sqrt(u)
        case "js":
            return 0.5 * math.log(2 * u / (u + 1))


def height(u: float, divergence: Divergence) -> float:
    match divergence:
        case "kl":
            return u * math.log(u) - u + 1
        case "rkl":
            return -math.log(u) + u - 1
        case "jeffreys":
            return (u - 1) * math.log(u)
        case "tv":
            return 0.5 * abs(u - 1)
        case "hellinger":
            return (math.sqrt(u) - 1) ** 2
        case "js":
            return 0.5 * (u * math.log(u) - (u + 1) * math.log((u + 1) / 2))


def gradient(region: Lad, logp: Array, anchor: Array, advantage: Array) -> tuple[Array, Array]:
    given, logp_N = surrogate(logp, anchor, advantage)
    loss_N = region(given)
    (found_N,) = torch.autograd.grad(loss_N.sum(), logp_N)
    return loss_N.detach().numpy(), found_N.numpy()


@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize("eta", [0.5, 1.0, 16.0])
def test_losses_and_gradients_are_those_of_the_formula(divergence: Divergence, eta: float) -> None:
    rng = np.random.default_rng(0)
    anchor = np.log(rng.uniform(0.01, 0.5, 60))
    logp, advantage = anchor + rng.normal(0, 0.7, 60), rng.normal(0, 1.5, 60)
    losses, slopes = gradient(Lad(divergence=divergence, eta=eta), logp, anchor, advantage)
    for place in range(60):
        asked, ratio = advantage[place] / eta, math.exp(logp[place] - anchor[place])
        u = ratio * math.exp(-asked)
        assert losses[place] == pytest.approx(math.exp(asked) * height(u, divergence), rel=1e-9, abs=1e-12)
        assert slopes[place] == pytest.approx(slope(u, divergence) * ratio, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("divergence", "good", "bad"),
    [
        ("kl", 1.0, -1.0),
        ("rkl", 1.718282, -0.632121),
        ("jeffreys", 2.718282, -1.632121),
        ("hellinger", 0.648721, -0.393469),
        ("js", 0.310057, -0.189943),
        ("tv", 0.5, -0.5),
    ],
)
def test_the_weight_in_place_of_the_advantage_at_ratio_1(divergence: Divergence, good: float, bad: float) -> None:
    anchor = np.log([0.3, 0.3])
    for eta in (1.0, 2.5):
        _, slopes = gradient(Lad(divergence=divergence, eta=eta), anchor, anchor, eta * np.array([1.0, -1.0]))
        np.testing.assert_allclose(-slopes, [good, bad], atol=1e-6)


@pytest.mark.parametrize(
    ("divergence", "bend"), [("kl", 1), ("rkl", 1), ("jeffreys", 2), ("hellinger", 0.5), ("js", 0.25)]
)
def test_for_a_large_eta_a_step_is_that_of_reinforce_up_to_a_factor(divergence: Divergence, bend: float) -> None:
    anchor, advantage = np.log([0.3, 0.1, 0.9]), np.array([1.0, -2.0, 0.5])
    _, slopes = gradient(Lad(divergence=divergence, eta=1e6), anchor, anchor, advantage)
    np.testing.assert_allclose(slopes * 1e6 / bend, -advantage, rtol=1e-5)


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_nothing_pulls_a_token_that_is_where_it_should_be(divergence: Divergence) -> None:
    anchor, advantage = np.array([-3.0, -3.0, -3.0]), np.array([1.0, -1.0, 0.0])
    losses, slopes = gradient(Lad(divergence=divergence, eta=2.0), anchor + advantage / 2, anchor, advantage)
    np.testing.assert_allclose(losses, 0, atol=1e-12)
    if divergence != "tv":  # whose slope there is a jump
        np.testing.assert_allclose(slopes, 0, atol=1e-12)


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_a_token_without_an_advantage_is_pulled_back(divergence: Divergence) -> None:
    _, slopes = gradient(Lad(divergence=divergence), np.array([-1.0, -3.0]), np.full(2, -2.0), np.zeros(2))
    assert slopes[0] > 0 > slopes[1]


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_far_off_and_large_advantages_are_finite(divergence: Divergence) -> None:
    for off in (-60.0, 0.0, 60.0):
        for advantage in (-1e3, 0.0, 1e3):
            found = gradient(
                Lad(divergence=divergence, eta=0.5), np.array([off - 70]), np.array([-70.0]), np.array([advantage])
            )
            assert all(np.isfinite(one).all() for one in found)


def test_an_eta_of_0_is_refused() -> None:
    with pytest.raises(ValueError, match="eta=0: advantages are divided by it"):
        Lad(eta=0)
