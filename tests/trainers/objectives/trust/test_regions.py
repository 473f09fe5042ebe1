"""Trust regions against their gradient coefficients, written out in numpy from the papers' formulas.

Numbers with a comment were worked out by hand from those formulas; REINFORCE at ratio 1 is an identity.
"""

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from drawn import Array, surrogate
from palaestra.trainers.objectives.trust import (
    Cispo,
    Clip,
    Dcpo,
    Dppo,
    Maspo,
    Reinforce,
    Sapo,
    SquarePenalty,
    TrustRegion,
    UnclippedRatio,
    Vespo,
)

Coefficient: TypeAlias = Callable[[Array, Array, Array], Array]
"""C of ratio, advantage and the token's probability under the anchor."""


def clip(low: float, high: float, dual: float = math.inf) -> Coefficient:
    def coefficient(r: Array, a: Array, q: Array) -> Array:
        return np.where(((a > 0) & (r > 1 + high)) | ((a < 0) & ((r < 1 - low) | (r > dual))), 0.0, r)

    return coefficient


def sapo(positive: float, negative: float) -> Coefficient:
    def coefficient(r: Array, a: Array, q: Array) -> Array:
        tau = np.where(a > 0, positive, negative)
        return np.asarray(r / np.cosh(tau * (r - 1) / 2) ** 2)

    return coefficient


def maspo(sigma: float, alpha: float, beta: float) -> Coefficient:
    def coefficient(r: Array, a: Array, q: Array) -> Array:
        wide = sigma * q**-alpha * np.where(a > 0, np.clip(1 + beta * a, 0.1, 10), 1 / np.clip(1 - beta * a, 0.1, 10))
        wide = np.minimum(wide, 10.0)
        harmful = ((a > 0) & (r > 1)) | ((a < 0) & (r < 1))
        return r * np.where(harmful, np.exp(-((r - 1) ** 2) / (2 * wide**2)), 1.0)

    return coefficient


def vespo(r: Array, a: Array, q: Array) -> Array:
    return np.where(a >= 0, np.exp(3 + 2 * np.log(r) - 3 * r), np.exp(2 + 3 * np.log(r) - 2 * r))


def dcpo(r: Array, a: Array, q: Array) -> Array:
    low = 0.5 + 0.5 * np.sqrt(np.maximum(1 - 0.64 / q, 0))
    high = np.minimum(0.5 + 0.5 * np.sqrt(1 + 0.8 / q), 10)
    return np.where(((a > 0) & (r > high)) | ((a < 0) & ((r < low) | (r > 10))), 0.0, r)


def dppo(r: Array, a: Array, q: Array) -> Array:
    moved = q * r - q
    return np.where(((a > 0) & (moved > 0.2)) | ((a < 0) & (moved < -0.2)), 0.0, np.minimum(r, 20))


REGIONS: list[tuple[TrustRegion, Coefficient]] = [
    (Reinforce(), lambda r, a, q: np.ones_like(r)),
    (UnclippedRatio(), lambda r, a, q: r),
    (Clip(), clip(0.2, 0.2)),
    (Clip(low=0.2, high=0.28, dual=10.0), clip(0.2, 0.28, dual=10.0)),
    (Cispo(), lambda r, a, q: np.minimum(r, 5.0)),
    (Cispo(low=0.5, high=1.0), lambda r, a, q: np.clip(r, 0.5, 2.0)),
    (Dcpo(), dcpo),
    (Dppo(), dppo),
    (Sapo(), sapo(1.0, 1.05)),
    (Maspo(), maspo(1.0, 0.3, 0.03)),
    (Vespo(), vespo),
    (SquarePenalty(beta=0.0), lambda r, a, q: np.ones_like(r)),
]
NAMES = [repr(region) for region, _ in REGIONS]


def gradient(region: TrustRegion, logp: Array, anchor: Array, advantage: Array) -> Array:
    given_, logp_N = surrogate(logp, anchor, advantage)
    (found_N,) = torch.autograd.grad(region(given_).sum(), logp_N)
    return found_N.numpy()


def draws(count: int, *, seed: int = 0) -> tuple[Array, Array, Array]:
    """Log-probabilities, those of the anchor, and advantages of both signs and of 0."""
    rng = np.random.default_rng(seed)
    anchor = np.log(rng.uniform(0.003, 0.999, count))
    logp = np.minimum(anchor + rng.normal(0, 0.8, count), -1e-4)
    return logp, anchor, rng.choice([-2.0, -0.5, 0.0, 0.5, 2.0], count)


@pytest.mark.parametrize(("region", "coefficient"), REGIONS, ids=NAMES)
def test_gradients_have_the_coefficient_of_the_paper(region: TrustRegion, coefficient: Coefficient) -> None:
    logp, anchor, advantage = draws(4000)
    expected = -coefficient(np.exp(logp - anchor), advantage, np.exp(anchor)) * advantage
    np.testing.assert_allclose(gradient(region, logp, anchor, advantage), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("region", [*(one for one, _ in REGIONS), SquarePenalty(beta=0.7)], ids=repr)
def test_at_ratio_1_a_step_is_that_of_reinforce(region: TrustRegion) -> None:
    _, anchor, advantage = draws(200)
    np.testing.assert_allclose(gradient(region, anchor, anchor, advantage), -advantage, rtol=1e-12, atol=0)


@pytest.mark.parametrize("region", [one for one, _ in REGIONS], ids=repr)
def test_without_an_advantage_nothing_is_learnt(region: TrustRegion) -> None:
    logp, anchor, advantage = draws(200)
    assert not gradient(region, logp, anchor, 0 * advantage).any()


@pytest.mark.parametrize("region", [*(one for one, _ in REGIONS), SquarePenalty()], ids=repr)
@given(st.floats(-20, 20), st.floats(-60, -1e-9), st.floats(-10, 10))
def test_losses_and_gradients_are_finite_however_far_off(
    region: TrustRegion, log_ratio: float, anchor: float, advantage: float
) -> None:
    given_, logp_N = surrogate(np.array([anchor + log_ratio]), np.array([anchor]), np.array([advantage]))
    loss = region(given_).sum()
    (found_N,) = torch.autograd.grad(loss, logp_N)
    assert math.isfinite(loss.item())
    assert math.isfinite(found_N.item())


@pytest.mark.parametrize(
    ("neutral", "plain"),
    [
        (Clip(low=math.inf, high=math.inf), UnclippedRatio()),
        (Maspo(sigma=math.inf), UnclippedRatio()),
        (Vespo(positive=(0.0, 0.0), negative=(0.0, 0.0)), Reinforce()),
        (SquarePenalty(beta=0.0), Reinforce()),
        (Cispo(high=math.inf), Vespo(positive=(1.0, 0.0), negative=(1.0, 0.0))),
        (Dppo(low=1.0, high=1.0, cap=math.inf), Cispo(high=math.inf)),
    ],
    ids=repr,
)
def test_a_neutral_setting_is_the_plainer_region(neutral: TrustRegion, plain: TrustRegion) -> None:
    draw = draws(500)
    np.testing.assert_allclose(gradient(neutral, *draw), gradient(plain, *draw), rtol=1e-12, atol=1e-15)


def test_a_gate_of_next_to_no_slope_is_none() -> None:
    draw = draws(500)
    flat = gradient(Sapo(positive=1e-4, negative=1e-4), *draw)
    np.testing.assert_allclose(flat, gradient(UnclippedRatio(), *draw), rtol=1e-6)


def at(ratio: float, advantage: float, *, q: float = 0.5) -> tuple[Array, Array, Array]:
    anchor = np.array([math.log(q)])
    return anchor + math.log(ratio), anchor, np.array([advantage])


GATED = {
    1.0: [(0.5, 0.470007), (0.8, 0.792053), (1.2, 1.188080), (1.5, 1.410022), (2.0, 1.572895)],
    1.05: [(0.5, 0.467070), (0.8, 0.791244), (1.2, 1.186867), (1.5, 1.401210), (2.0, 1.536220)],
}
"""SAPO's tau; the ratio, and r sech(tau (r - 1) / 2)^2."""
KERNEL = [
    (0.1, 0.148797, 0.006050),
    (0.5, 1.120422, 0.339785),
    (1.0, 1.0, 1.0),
    (1.5, 0.502043, 1.241593),
    (2.0, 0.199148, 1.082682),
    (5.0, 0.000154, 0.041933),
]
"""VESPO's W, and exp(3 + 2 ln W - 3 W), exp(2 + 3 ln W - 2 W)."""


@pytest.mark.parametrize(
    ("region", "ratio", "advantage", "expected"),
    [
        (Maspo(), 0.5, 1.0, -0.5),  # the other side has no gate
        (Clip(), 1.3, 1.0, 0.0),
        (Clip(), 0.7, 1.0, -0.7),
        (Clip(), 1.3, -1.0, 1.3),
        (Clip(), 0.7, -1.0, 0.0),
        (Clip(dual=3.0), 3.5, -1.0, 0.0),
        (Maspo(), 1.5, 1.0, -1.5 * 0.925209),
        (Maspo(), 0.5, -1.0, 0.5 * 0.916227),
        *((Sapo(), ratio, 1.0, -gated) for ratio, gated in GATED[1.0]),
        *((Sapo(), ratio, -1.0, gated) for ratio, gated in GATED[1.05]),
        *((Vespo(), w, 1.0, -good) for w, good, _ in KERNEL),
        *((Vespo(), w, -1.0, bad) for w, _, bad in KERNEL),
    ],
)
def test_golden_gradients(region: TrustRegion, ratio: float, advantage: float, expected: float) -> None:
    assert gradient(region, *at(ratio, advantage)).item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("q", "gate"), [(0.5, 0.925209), (0.01, 0.992593)])
def test_the_gate_of_maspo_is_wider_for_a_rare_token(q: float, gate: float) -> None:
    one = torch.ones(1, dtype=torch.float64)
    found = Maspo().gate(1.5 * one, math.log(q) * one, one)
    assert found.item() == pytest.approx(gate, abs=1e-6)


@pytest.mark.parametrize(
    ("q", "low", "high"),
    [(1.0, 0.8, 1.17082), (0.9, 0.768742, 1.187184), (0.5, 0.5, 1.306226), (0.1, 0.5, 2.0), (0.01, 0.5, 5.0)],
)
def test_the_bounds_of_dcpo_leave_a_rare_token_more_room(q: float, low: float, high: float) -> None:
    lower_N, upper_N = Dcpo().bounds(torch.tensor([q], dtype=torch.float64).log())
    assert lower_N.item() == pytest.approx(low, abs=1e-6)
    assert upper_N.item() == pytest.approx(high, abs=1e-5)


def test_the_kernel_of_vespo_is_highest_at_shape_over_rate() -> None:
    """2/3 and 3/2; and by central differences the slope there is 0."""
    for advantage, top, height in [(1.0, 2 / 3, 1.208), (-1.0, 1.5, 1.242)]:
        around = [abs(gradient(Vespo(), *at(top + step, advantage)).item()) for step in (-1e-4, 0.0, 1e-4)]
        assert around[1] == max(around)
        assert around[1] == pytest.approx(height, abs=1e-3)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Clip(low=-0.1), "low=-0.1"),
        (lambda: Clip(dual=1.1), "dual=1.1, high=0.2"),
        (lambda: Sapo(positive=0.0), "positive=0.0"),
        (lambda: Cispo(low=-1.0), "low=-1.0, high=4.0"),
        (lambda: Dcpo(high=-1.0), "low=0.16, high=-1.0"),
        (lambda: Dcpo(most=1.0), "most=1.0"),
        (lambda: Dppo(low=-0.1), "low=-0.1, high=0.2"),
        (lambda: Dppo(cap=0.5), "cap=0.5"),
        (lambda: Maspo(sigma=0.0), "sigma=0.0"),
        (lambda: Vespo(negative=(1.0, -1.0)), "shape 1.0, rate -1.0"),
        (lambda: SquarePenalty(beta=-1.0), "beta=-1.0"),
    ],
)
def test_a_setting_that_bounds_nothing_is_refused(make: Callable[[], TrustRegion], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make()
