"""Axes: T tokens, H heads, C channels."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from decoders import causal, tiny, varied
from palaestra.trainers.learner.norms import quicken_norms, rms_norm


def drawn(*shape: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(len(shape))
    x = 3 * torch.randn(*shape, generator=generator, dtype=torch.float64)
    weight_C = torch.rand(shape[-1], generator=generator, dtype=torch.float64)
    return x.to(dtype).requires_grad_(), weight_C.to(dtype).requires_grad_()


@given(tokens=st.integers(0, 9), heads=st.integers(1, 3), epsilon=st.sampled_from([1e-6, 1e-2]))
def test_it_is_torchs_own(tokens: int, heads: int, epsilon: float) -> None:
    x_THC, weight_C = drawn(tokens, heads, 8)
    expected = nn.functional.rms_norm(x_THC, (8,), weight_C, epsilon)
    assert torch.allclose(rms_norm(x_THC, weight_C, epsilon), expected, atol=1e-12)


@pytest.mark.parametrize("shape", [(3, 5), (3, 2, 4)])
def test_its_gradients_are_those_of_finite_differences(shape: tuple[int, ...]) -> None:
    def normed(x: Tensor, weight_C: Tensor) -> Any:
        return rms_norm(x, weight_C, 1e-3)

    assert torch.autograd.gradcheck(normed, drawn(*shape))


def test_zeros_stay_zeros_and_their_gradients_finite() -> None:
    x_TC = torch.zeros(2, 4, requires_grad=True)
    out_TC = rms_norm(x_TC, torch.ones(4), 1e-6)
    out_TC.sum().backward()
    assert (out_TC == 0).all()
    assert x_TC.grad is not None
    assert torch.allclose(x_TC.grad, torch.full((2, 4), 1e3))


def test_half_precision_loses_no_more_than_its_own_rounding() -> None:
    x_TC, weight_C = drawn(64, 32, dtype=torch.bfloat16)
    found_TC = rms_norm(x_TC, weight_C, 1e-6)
    expected_TC = rms_norm(x_TC.double(), weight_C.double(), 1e-6)
    assert found_TC.dtype == torch.bfloat16
    assert torch.allclose(found_TC.double(), expected_TC, rtol=2**-8, atol=0)
    found_TC.sum().backward()
    assert x_TC.grad is not None
    assert weight_C.grad is not None
    assert x_TC.grad.dtype == weight_C.grad.dtype == torch.bfloat16


def test_a_weight_that_is_not_trained_gets_no_gradient() -> None:
    x_TC, weight_C = drawn(3, 4)
    rms_norm(x_TC, weight_C.detach(), 1e-6).sum().backward()
    assert x_TC.grad is not None
    assert weight_C.grad is None


def test_a_decoder_whose_norms_are_quickened_comes_to_the_same() -> None:
    ids = torch.arange(20)
    plain, quick = varied(tiny()), varied(tiny())
    quicken_norms(quick)
    for model in (plain, quick):
        model(ids, ids, causal).square().sum().backward()
    for (name, weight), (_, other) in zip(plain.named_parameters(), quick.named_parameters(), strict=True):
        assert weight.grad is not None
        assert other.grad is not None
        assert torch.allclose(weight.grad, other.grad, rtol=1e-4, atol=1e-4 * float(weight.grad.abs().max())), name
