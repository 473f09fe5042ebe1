"""Regularisers: their values by hand, and the expected gradients of the estimators, by adding up over all tokens."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
import torch
from torch import Tensor

from drawn import batch_of, surrogate
from palaestra.trainers.objectives.aggregation import Aggregation
from palaestra.trainers.objectives.composed import surrogate_of
from palaestra.trainers.objectives.parts import Regulariser, TokenPool
from palaestra.trainers.objectives.ratio import RatioConfig
from palaestra.trainers.objectives.regularisers import Entropy, Kl, MovePenalty, PositiveNll, divergence
from palaestra.trainers.objectives.regularisers.divergence import Estimator
from palaestra.trainers.objectives.term import Term, term_losses, term_weights

ESTIMATORS: tuple[Estimator, ...] = get_args(Estimator)
LOGITS_V = torch.tensor([0.3, -1.2, 0.8, 0.1, -0.4], dtype=torch.float64)
REF_V = torch.tensor([-0.5, 0.2, 0.4, 0.9, -1.0], dtype=torch.float64).log_softmax(0)


def slope(loss: Callable[[Tensor], Tensor]) -> Tensor:
    """The gradient of a loss of log-probabilities, in the logits."""
    logits_V = LOGITS_V.clone().requires_grad_()
    (found_V,) = torch.autograd.grad(loss(logits_V.log_softmax(0)), logits_V)
    return found_V


def expected(estimator: Estimator) -> Tensor:
    """The mean gradient of an estimator over the tokens that the policy draws, all of them enumerated."""

    def loss(logp_V: Tensor) -> Tensor:
        drawn_V = logp_V.detach()
        return (drawn_V.exp() * divergence(logp_V - REF_V, logp_V - drawn_V, estimator)).sum()

    return slope(loss)


REVERSE_V = slope(lambda logp_V: (logp_V.exp() * (logp_V - REF_V)).sum())
FORWARD_V = slope(lambda logp_V: (REF_V.exp() * (REF_V - logp_V)).sum())


@pytest.mark.parametrize(
    ("estimator", "gradient_V"),
    [
        ("k1", torch.zeros_like(REVERSE_V)),
        ("k2", REVERSE_V),
        ("k3", FORWARD_V),
        ("k3-plus", REVERSE_V),
        ("k3-is", REVERSE_V),
    ],
)
def test_expected_gradients_are_exactly_what_they_are_said_to_be(estimator: Estimator, gradient_V: Tensor) -> None:
    torch.testing.assert_close(expected(estimator), gradient_V, rtol=1e-12, atol=1e-12)


def test_the_two_divergences_are_not_alike() -> None:
    assert not torch.allclose(REVERSE_V, FORWARD_V, atol=1e-2)


def test_on_what_another_policy_drew_the_weighed_estimator_is_still_right() -> None:
    other_V = torch.tensor([0.1, 0.3, 0.2, 0.25, 0.15], dtype=torch.float64).log()
    found_V = slope(lambda logp_V: (other_V.exp() * divergence(logp_V - REF_V, logp_V - other_V, "k3-is")).sum())
    torch.testing.assert_close(found_V, REVERSE_V, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("estimator", ["k1", "k3", "k3-plus", "k3-is"])
def test_expected_values_are_the_divergence(estimator: Estimator) -> None:
    logp_V = LOGITS_V.log_softmax(0)
    value = (logp_V.exp() * divergence(logp_V - REF_V, torch.zeros_like(logp_V), estimator)).sum()
    assert value.item() == pytest.approx((logp_V.exp() * (logp_V - REF_V)).sum().item(), abs=1e-12)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_values_are_those_of_a_loop(estimator: Estimator) -> None:
    rng = np.random.default_rng(0)
    logp, anchor, ref = (np.log(rng.uniform(0.05, 0.9, 40)) for _ in range(3))
    given, _ = surrogate(logp, anchor, np.zeros(40), columns={"ref_T": ref})
    found_N = Kl(estimator=estimator, coefficient=0.04)(given)
    for place in range(40):
        d = logp[place] - ref[place]
        third = min(math.exp(-d) + d - 1, 10.0)
        value = {
            "k1": d,
            "k2": 0.5 * d * d,
            "k3": third,
            "k3-plus": third,
            "k3-is": math.exp(logp[place] - anchor[place]) * third,
        }[estimator]
        assert found_N[place].item() == pytest.approx(0.04 * value, rel=1e-10)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("off", [-1e3, -60.0, 0.0, 60.0, 1e3])
def test_estimates_and_gradients_are_finite_however_far_off(estimator: Estimator, off: float) -> None:
    for most in (10.0, math.inf):
        given, logp_N = surrogate(
            np.array([-1.0]), np.array([-1.0 - off]), np.zeros(1), columns={"ref_T": np.array([-1.0 - off])}
        )
        loss_N = Kl(estimator=estimator, coefficient=1.0, most=most)(given)
        (found_N,) = torch.autograd.grad(loss_N.sum(), logp_N)
        assert loss_N.isfinite().all()
        assert found_N.isfinite().all()


def test_beyond_its_bound_k3_pulls_no_more() -> None:
    given, logp_N = surrogate(
        np.array([-6.0, -3.0]), np.zeros(2), np.zeros(2), columns={"ref_T": np.array([-1.0, -1.0])}
    )
    loss_N = Kl(estimator="k3", coefficient=1.0)(given)
    (found_N,) = torch.autograd.grad(loss_N.sum(), logp_N)
    np.testing.assert_allclose(loss_N.detach().numpy(), [10.0, math.exp(2) - 3], rtol=1e-12)
    np.testing.assert_allclose(found_N.numpy(), [0.0, 1 - math.exp(2)], rtol=1e-12)


def test_a_move_costs_its_square_and_entropy_pays() -> None:
    given, logp_N = surrogate(np.array([-1.0, -2.0]), np.array([-2.0, -2.0]), np.ones(2))
    (found_N,) = torch.autograd.grad(MovePenalty()(given).sum(), logp_N)
    np.testing.assert_allclose(MovePenalty(coefficient=0.5)(given).detach().numpy(), [0.5, 0.0])
    np.testing.assert_allclose(found_N.numpy(), [0.002, 0.0])
    entropy_N = torch.tensor([0.5, 1.5], requires_grad=True)
    bonus = replace(given, entropy_N=entropy_N)
    loss_N = Entropy(coefficient=0.1)(bonus)
    loss_N.sum().backward()
    torch.testing.assert_close(loss_N.detach(), torch.tensor([-0.05, -0.15]))
    torch.testing.assert_close(entropy_N.grad, torch.tensor([-0.1, -0.1]))


def step(regulariser: Regulariser, passed: list[float]) -> tuple[float, Tensor]:
    """The loss of a regulariser of two trajectories of 2 and 6 tokens, a mean over tokens, and its gradient."""
    batch = batch_of((2, 6), prompt=1, turns=1).with_columns({"passed_R": torch.tensor(passed)})
    terms = (Term(regulariser=regulariser, aggregation=Aggregation(name="token-mean")),)
    batch = batch.with_columns(term_weights(terms, batch, batch.trained_T, otherwise=Aggregation()))
    logp_T = batch.column("now_T").clone().requires_grad_()
    given = surrogate_of(logp_T, torch.zeros_like(logp_T), batch, ratio=RatioConfig(), requires=frozenset())
    loss = term_losses(terms, given, batch)
    if not loss.requires_grad:
        return loss.item(), torch.zeros_like(logp_T)
    (found_T,) = torch.autograd.grad(loss, logp_T)
    return loss.item(), found_T[batch.trained_T]


def test_what_passed_is_imitated_over_its_own_tokens() -> None:
    assert isinstance(PositiveNll(), TokenPool)
    loss, gradient_N = step(PositiveNll(), [1.0, 0.0])
    now_N = batch_of((2, 6), prompt=1, turns=1).column("now_T")
    own_N = now_N[batch_of((2, 6), prompt=1, turns=1).trained_T]
    assert loss == pytest.approx(-0.1 * own_N[:2].mean().item(), abs=1e-12)
    np.testing.assert_allclose(gradient_N.numpy(), [-0.05] * 2 + [0.0] * 6)
    np.testing.assert_allclose(step(PositiveNll(), [1.0, 1.0])[1].numpy(), [-0.1 / 8] * 8)


def test_where_nothing_passed_nothing_is_imitated() -> None:
    loss, gradient_N = step(PositiveNll(), [0.0, 0.0])
    assert loss == 0
    assert not gradient_N.any()


@pytest.mark.parametrize(
    "neutral",
    [
        *(Kl(estimator=one, coefficient=0.0) for one in ESTIMATORS),
        MovePenalty(coefficient=0.0),
        Entropy(coefficient=0.0),
        PositiveNll(coefficient=0.0),
    ],
    ids=repr,
)
def test_a_coefficient_of_0_is_no_loss(neutral: Regulariser) -> None:
    given, _ = surrogate(np.array([-1.0]), np.array([-2.0]), np.ones(1), columns={"ref_T": np.array([-3.0])})
    assert neutral(given).sum().item() == 0


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Kl(estimator="k2", coefficient=-0.1), "coefficient=-0.1: below 0"),
        (lambda: Kl(estimator="k2", coefficient=0.1, most=0.0), "most=0.0"),
        (lambda: MovePenalty(coefficient=-0.1), "coefficient=-0.1: below 0"),
        (lambda: PositiveNll(coefficient=-0.1), "coefficient=-0.1: below 0"),
    ],
)
def test_settings_that_push_the_wrong_way_are_refused(make: Callable[[], Regulariser], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make()
