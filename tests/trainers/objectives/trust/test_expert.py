"""LUFFY: the coefficient of an expert's tokens, and the plain ratio of all others."""

import numpy as np
import pytest
import torch

from drawn import surrogate
from palaestra.trainers.objectives.trust import Luffy, UnclippedRatio


def test_tokens_have_the_coefficient_of_whoever_wrote_them() -> None:
    rng = np.random.default_rng(0)
    anchor, p = np.log(rng.uniform(0.01, 0.9, 100)), rng.uniform(1e-4, 0.999, 100)
    advantage, expert = rng.normal(0, 1, 100), (rng.random(100) < 0.5).astype(np.float64)
    given, logp_N = surrogate(np.log(p), anchor, advantage, columns={"expert_T": expert})
    loss_N = Luffy()(given)
    (found_N,) = torch.autograd.grad(loss_N.sum(), logp_N)
    for place in range(100):
        ratio = p[place] / np.exp(anchor[place])
        value, coefficient = ratio, ratio
        if expert[place]:
            value, coefficient = p[place] / (p[place] + 0.1), p[place] * 0.1 / (p[place] + 0.1) ** 2
        assert loss_N[place].item() == pytest.approx(-advantage[place] * value, rel=1e-10)
        assert found_N[place].item() == pytest.approx(-advantage[place] * coefficient, rel=1e-9)


def test_an_expert_is_learnt_from_fastest_at_probability_gamma() -> None:
    p = np.linspace(0.01, 0.99, 99)
    given, logp_N = surrogate(np.log(p), np.zeros(99), np.ones(99), columns={"expert_T": np.ones(99)})
    (found_N,) = torch.autograd.grad(Luffy(gamma=0.2)(given).sum(), logp_N)
    assert p[int(found_N.argmin())] == pytest.approx(0.2)
    assert found_N.min().item() == pytest.approx(-0.25)


def test_for_a_large_gamma_an_expert_has_the_probability_itself() -> None:
    given, logp_N = surrogate(np.log([0.1, 0.7]), np.zeros(2), np.ones(2), columns={"expert_T": np.ones(2)})
    (found_N,) = torch.autograd.grad(1e6 * Luffy(gamma=1e6)(given).sum(), logp_N)
    np.testing.assert_allclose(found_N.numpy(), [-0.1, -0.7], rtol=1e-5)


def test_without_an_expert_it_is_the_plain_ratio() -> None:
    rng = np.random.default_rng(0)
    anchor = np.log(rng.uniform(0.01, 0.9, 50))
    given, _ = surrogate(anchor + rng.normal(0, 1, 50), anchor, rng.normal(0, 1, 50), columns={"expert_T": 0 * anchor})
    assert torch.equal(Luffy()(given), UnclippedRatio()(given))


def test_what_an_expert_was_drawn_with_may_be_anything() -> None:
    anchor = np.array([-np.inf, -1.0])
    given, logp_N = surrogate(np.array([-1.0, -1.0]), anchor, np.ones(2), columns={"expert_T": np.array([1.0, 0.0])})
    loss_N = Luffy()(given)
    (found_N,) = torch.autograd.grad(loss_N.sum(), logp_N)
    assert loss_N.isfinite().all()
    assert found_N.isfinite().all()


def test_a_gamma_of_0_is_refused() -> None:
    with pytest.raises(ValueError, match="gamma=0: at 0"):
        Luffy(gamma=0)
