"""Axes: N tokens, C hidden, V vocabulary."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from palaestra.trainers.learner import TokenScores, score_tokens


def drawn(n: int = 7, c: int = 5, v: int = 11, *, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    hidden_NC = torch.randn(n, c, generator=generator, dtype=torch.float64).to(dtype)
    weight_VC = torch.randn(v, c, generator=generator, dtype=torch.float64).to(dtype)
    return hidden_NC.requires_grad_(), weight_VC.requires_grad_(), torch.randint(0, v, (n,), generator=generator)


def plainly(hidden_NC: Tensor, weight_VC: Tensor, token_N: Tensor, *, temperature: float) -> TokenScores:
    """All logits at once."""
    logp_NV = (hidden_NC @ weight_VC.T / temperature).log_softmax(-1)
    logp_N = logp_NV.gather(-1, token_N[:, None])[:, 0]
    return TokenScores(logp_N, -(logp_NV.exp() * logp_NV).sum(-1))


chunks, temperatures = st.integers(1, 9), st.sampled_from([0.5, 1.0, 2.0])


@given(chunk=chunks, temperature=temperatures, n=st.integers(0, 8))
def test_scores_are_those_of_all_logits_at_once(chunk: int, temperature: float, n: int) -> None:
    hidden_NC, weight_VC, token_N = drawn(n)
    found = score_tokens(hidden_NC, weight_VC, token_N, temperature=temperature, chunk=chunk)
    expected = plainly(hidden_NC, weight_VC, token_N, temperature=temperature)
    assert torch.allclose(found.logp, expected.logp, atol=1e-12)
    assert torch.allclose(found.entropy, expected.entropy, atol=1e-12)


@given(chunk=chunks, temperature=temperatures, of=st.sampled_from(["logp", "entropy", "both"]))
def test_gradients_are_those_of_all_logits_at_once(chunk: int, temperature: float, of: str) -> None:
    hidden_NC, weight_VC, token_N = drawn()
    along_N = torch.linspace(-1, 2, len(token_N), dtype=torch.float64)

    def gradients(scores: TokenScores) -> tuple[Tensor, ...]:
        logp, entropy = (along_N * scores.logp).sum(), (along_N.flip(0) * scores.entropy).sum()
        value = {"logp": logp, "entropy": entropy, "both": logp + entropy}[of]
        return torch.autograd.grad(value, (hidden_NC, weight_VC))

    found = gradients(score_tokens(hidden_NC, weight_VC, token_N, temperature=temperature, chunk=chunk))
    expected = gradients(plainly(hidden_NC, weight_VC, token_N, temperature=temperature))
    assert all(torch.allclose(one, other, atol=1e-12) for one, other in zip(found, expected, strict=True))


def test_gradients_are_those_of_finite_differences() -> None:
    hidden_NC, weight_VC, token_N = drawn(3, 4, 6)

    def scores(hidden_NC: Tensor, weight_VC: Tensor) -> Any:
        return tuple(score_tokens(hidden_NC, weight_VC, token_N, temperature=0.7, chunk=2))

    assert torch.autograd.gradcheck(scores, (hidden_NC, weight_VC))


def test_an_even_distribution_has_the_greatest_entropy_and_the_logarithm_of_its_size() -> None:
    hidden_NC, weight_VC, token_N = drawn(4, 5, 13)
    found = score_tokens(torch.zeros_like(hidden_NC), weight_VC, token_N, temperature=1.0, chunk=3)
    assert torch.allclose(found.entropy, torch.tensor(13.0, dtype=torch.float64).log())
    assert torch.allclose(found.logp, -torch.tensor(13.0, dtype=torch.float64).log())


def test_an_output_layer_that_is_not_trained_gets_no_gradient() -> None:
    hidden_NC, weight_VC, token_N = drawn()
    score_tokens(hidden_NC, weight_VC.detach(), token_N, temperature=1.0, chunk=2).logp.sum().backward()
    assert hidden_NC.grad is not None
    assert weight_VC.grad is None


def test_in_half_precision_probabilities_and_the_weights_gradient_are_single() -> None:
    hidden_NC, weight_VC, token_N = drawn(64, 32, 50, dtype=torch.float32)
    half_NC = hidden_NC.detach().bfloat16().requires_grad_()
    found = score_tokens(half_NC, weight_VC, token_N, temperature=1.0, chunk=8)
    assert found.logp.dtype == found.entropy.dtype == torch.float32
    expected = plainly(half_NC.float(), weight_VC.bfloat16().float(), token_N, temperature=1.0)
    assert torch.allclose(found.logp, expected.logp, atol=0.1)  # products of about 20 are rounded to 1 / 16
    found.logp.sum().backward()
    assert weight_VC.grad is not None
    assert weight_VC.grad.dtype == torch.float32


# Memory


@contextmanager
def greatest() -> Generator[list[int]]:
    """Notes the size of the greatest tensor that any operation makes meanwhile."""
    found = [0]

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = func(*args, **(kwargs or {}))
            for one in out if isinstance(out, tuple | list) else (out,):
                if isinstance(one, Tensor):
                    found[0] = max(found[0], one.numel())
            return out

    with Watch():  # type: ignore[no-untyped-call]
        yield found


@pytest.mark.parametrize("n", [40, 400])
def test_no_tensor_is_made_that_is_larger_than_a_chunks_logits(n: int) -> None:
    hidden_NC, weight_VC, token_N = drawn(n, 3, 200)
    with greatest() as found:
        scores = score_tokens(hidden_NC, weight_VC, token_N, temperature=0.9, chunk=10)
        (scores.logp.sum() + scores.entropy.sum()).backward()
    assert found[0] == 10 * 200


@pytest.mark.parametrize("n", [40, 400])
def test_what_is_kept_for_the_way_back_is_what_came_in(n: int) -> None:
    hidden_NC, weight_VC, token_N = drawn(n, 3, 200)
    kept: list[int] = []

    def keep(tensor: Tensor) -> Tensor:
        kept.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        score_tokens(hidden_NC, weight_VC, token_N, temperature=0.9, chunk=10)
    assert sum(kept) == hidden_NC.numel() + weight_VC.numel() + token_N.numel()
