"""The invariant kernels: a row's result is that of the row alone, to the bit, and it is torch's but for rounding."""

import platform
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from decoders import causal, tiny
from palaestra.errors import ConfigError
from palaestra.trainers.engines.native.kernels import (
    BLOCK_PLACES,
    HEAD_DIMS,
    InvariantKernels,
    build,
    invariant_kernels,
)
from palaestra.trainers.model.decoder import Rotary, rotate

DTYPES = st.sampled_from([torch.float32, torch.bfloat16])
ROUNDING = {torch.float32: 1e-5, torch.bfloat16: 0.02}
KERNELS = invariant_kernels()


@pytest.fixture
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def normal(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def close(found: Tensor, wanted: Tensor, dtype: torch.dtype, *, size: float = 1.0) -> None:
    torch.testing.assert_close(found.float(), wanted.float(), atol=size * ROUNDING[dtype], rtol=ROUNDING[dtype])


def seen_by(kernels: InvariantKernels, parts: tuple[Tensor, Tensor, Tensor], first: int = 0) -> Tensor:
    """What the tokens from `first` on of one sequence take from it."""
    q_THD, k_TGD, v_TGD = parts
    place_T = torch.arange(first, len(q_THD))
    _, groups, head_dim = k_TGD.shape
    return kernels.attend(
        q_THD[first:].contiguous(),
        k_TGD,
        v_TGD,
        groups=groups,
        group_stride=head_dim,
        place_stride=groups * head_dim,
        blocks_RN=torch.arange(0, len(q_THD), BLOCK_PLACES)[None] * (groups * head_dim),
        row_T=torch.zeros_like(place_T),
        place_T=place_T,
    )


# Products


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(1, 130), inputs=st.integers(1, 70), outputs=st.integers(1, 150), dtype=DTYPES, single=st.booleans()
)
def test_a_row_of_a_product_is_that_of_the_row_alone(
    rows: int, inputs: int, outputs: int, dtype: torch.dtype, single: bool
) -> None:
    x_TK, weight_NK = normal(rows, inputs, dtype=dtype), normal(outputs, inputs, seed=1, dtype=dtype)
    panels_PKW = KERNELS.pack(weight_NK)
    whole_TN = KERNELS.product(x_TK, panels_PKW, outputs, single=single)
    assert whole_TN.dtype == (torch.float32 if single else dtype)
    for row in {0, rows // 2, rows - 1}:
        assert torch.equal(KERNELS.product(x_TK[row : row + 1], panels_PKW, outputs, single=single)[0], whole_TN[row])
    close(whole_TN, x_TK.float() @ weight_NK.float().T, dtype, size=inputs**0.5)


@pytest.mark.parametrize("rows", [1, 1000])
def test_a_product_is_one_chain_of_fused_multiply_adds(rows: int) -> None:
    """In double precision a product of two floats is exact, so one rounding of each sum is a fused multiply-add."""
    x_TK, weight_NK = normal(rows, 45), normal(19, 45, seed=1)
    sum_TN = torch.zeros(rows, 19)
    for k in range(45):
        sum_TN = (x_TK[:, k, None].double() * weight_NK[:, k].double() + sum_TN.double()).float()
    found_TN = KERNELS.product(x_TK, KERNELS.pack(weight_NK), 19)
    # A sum of doubles may round twice; a different order of summation differs in most numbers.
    assert (found_TN == sum_TN).double().mean() > 0.999


# Between products


@settings(max_examples=40, deadline=None)
@given(rows=st.integers(1, 40), width=st.integers(1, 100), dtype=DTYPES)
def test_norms_and_gates_are_those_of_the_row_alone_and_of_torch(rows: int, width: int, dtype: torch.dtype) -> None:
    x_TC, y_TC = normal(rows, width, dtype=dtype), normal(rows, width, seed=1, dtype=dtype)
    weight_C = normal(width, seed=2, dtype=dtype)
    normed_TC, gated_TC = KERNELS.norm(x_TC, weight_C, 1e-6), KERNELS.gate(x_TC * 4, y_TC)
    last = slice(rows - 1, rows)
    assert torch.equal(KERNELS.norm(x_TC[last], weight_C, 1e-6), normed_TC[last])
    assert torch.equal(KERNELS.gate(x_TC[last] * 4, y_TC[last]), gated_TC[last])
    close(normed_TC, functional.rms_norm(x_TC.float(), (width,), weight_C.float(), 1e-6), dtype)
    close(gated_TC, functional.silu((x_TC * 4).float()) * y_TC.float(), dtype)


@settings(max_examples=40, deadline=None)
@given(
    places=st.lists(st.integers(0, 131_000), min_size=1, max_size=40), half=st.integers(1, 40), theta=st.floats(1, 1e6)
)
def test_a_rotation_is_that_of_the_place_alone_and_of_torch(places: list[int], half: int, theta: float) -> None:
    rotary = Rotary(tiny(head_dim=2 * half, rope_theta=theta))
    position_T = torch.tensor(places)
    cos_T1D, sin_T1D = KERNELS.rotation(position_T, rotary._frequency)
    alone = KERNELS.rotation(position_T[-1:], rotary._frequency)
    assert torch.equal(alone[0], cos_T1D[-1:])
    assert torch.equal(alone[1], sin_T1D[-1:])
    for found, wanted in zip((cos_T1D, sin_T1D), rotary(position_T, torch.float32), strict=True):
        torch.testing.assert_close(found, wanted, atol=2e-7, rtol=0)
    x_THD = normal(len(places), 3, 2 * half)
    close(KERNELS.turn(x_THD, cos_T1D, sin_T1D), rotate(x_THD, (cos_T1D, sin_T1D)), torch.float32)


# Attention


@settings(max_examples=60, deadline=None)
@given(
    length=st.integers(1, 200),
    first=st.integers(0, 199),
    groups=st.integers(1, 3),
    shared=st.integers(1, 5),
    head_dim=st.sampled_from(HEAD_DIMS),
    dtype=DTYPES,
)
def test_what_a_token_sees_does_not_depend_on_the_tokens_it_comes_with(
    length: int, first: int, groups: int, shared: int, head_dim: int, dtype: torch.dtype
) -> None:
    first = first % length
    q_THD = normal(length, groups * shared, head_dim, dtype=dtype)
    k_TGD, v_TGD = (normal(length, groups, head_dim, seed=seed, dtype=dtype) for seed in (1, 2))
    whole_THD = seen_by(KERNELS, (q_THD, k_TGD, v_TGD))
    assert torch.equal(seen_by(KERNELS, (q_THD, k_TGD, v_TGD), first), whole_THD[first:])
    # What comes later is not read: a context that is cut there gives the same.
    cut = tuple(x[: first + 1].contiguous() for x in (q_THD, k_TGD, v_TGD))
    assert torch.equal(seen_by(KERNELS, (cut[0], cut[1], cut[2]), first)[0], whole_THD[first])
    close(whole_THD, causal(0, q_THD.float(), k_TGD.float(), v_TGD.float()), dtype)


def test_scores_of_any_size_are_weighed_against_the_greatest() -> None:
    q_THD, k_TGD, v_TGD = normal(200, 4, 16) * 40, normal(200, 2, 16, seed=1) * 40, normal(200, 2, 16, seed=2)
    found_THD = seen_by(KERNELS, (q_THD, k_TGD, v_TGD))
    torch.testing.assert_close(found_THD, causal(0, q_THD, k_TGD, v_TGD), atol=1e-3, rtol=0)


def test_what_is_no_number_stays_none_and_passes_to_nobody_else() -> None:
    q_THD, k_TGD, v_TGD = normal(90, 4, 16), normal(90, 2, 16, seed=1), normal(90, 2, 16, seed=2)
    k_TGD[40, 0] = torch.nan
    seen_THD = seen_by(KERNELS, (q_THD, k_TGD, v_TGD))
    assert seen_THD[40:, :2].isnan().all()
    assert seen_THD[:40].isfinite().all()
    assert seen_THD[:, 2:].isfinite().all()


# Distributions


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(1, 20),
    vocabulary=st.integers(1, 700),
    temperature=st.sampled_from([None, 0.3, 1.0, 2.0]),
    spread=st.sampled_from([0.0, 3.0, 60.0]),
)
def test_a_drawn_token_has_the_log_probability_that_a_score_gives_it(
    rows: int, vocabulary: int, temperature: float | None, spread: float
) -> None:
    logits_BV = normal(rows, vocabulary) * spread
    noise_B = torch.rand(rows, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    temperature_B = None if temperature is None else torch.full((rows,), temperature, dtype=torch.float64)
    ids_B, drawn_B = KERNELS.draw(logits_BV, noise_B, temperature_B)
    scored_B, entropy_B = KERNELS.score(logits_BV, ids_B.long(), temperature_B)
    assert torch.equal(scored_B.double(), drawn_B)
    assert (drawn_B <= 0).all()
    wanted_BV = (logits_BV / (temperature or 1.0)).log_softmax(-1)
    torch.testing.assert_close(scored_B, wanted_BV.gather(-1, ids_B.long()[:, None])[:, 0], atol=2e-5, rtol=1e-5)
    torch.testing.assert_close(entropy_B, -(wanted_BV.exp() * wanted_BV).sum(-1), atol=2e-5, rtol=1e-4)
    last = slice(rows - 1, rows)
    alone = KERNELS.draw(logits_BV[last], noise_B[last], None if temperature_B is None else temperature_B[last])
    assert torch.equal(alone[:, 0], torch.stack((ids_B[-1], drawn_B[-1])))


def test_a_token_without_probability_is_never_drawn_and_adds_nothing_to_the_entropy() -> None:
    logits_BV = torch.full((3, 600), -torch.inf)
    logits_BV[:, 300] = 0.0
    noise_B = torch.tensor([0.0, 0.5, 1 - 2.0**-24], dtype=torch.float64)
    assert KERNELS.draw(logits_BV, noise_B, None).tolist() == [[300.0] * 3, [0.0] * 3]
    _, entropy_B = KERNELS.score(logits_BV, torch.tensor([300, 300, 300]), None)
    assert entropy_B.tolist() == [0.0] * 3


@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_a_draw_from_logits_that_are_no_numbers_has_no_probability(bad: float) -> None:
    logits_BV = torch.zeros(2, 300)
    logits_BV[1, 7] = bad
    ids, logprobs = KERNELS.draw(logits_BV, torch.tensor([0.5, 0.5], dtype=torch.float64), None).tolist()
    assert 0 <= ids[1] < 300
    assert logprobs[0] == pytest.approx(-torch.tensor(300.0).log().item())
    assert torch.tensor(logprobs[1]).isnan()


# What changes nothing


def results(kernels: InvariantKernels) -> list[Tensor]:
    """Something of every kernel, in both precisions."""
    found: list[Tensor] = []
    for dtype in (torch.float32, torch.bfloat16):
        x_TC, y_TC = normal(201, 67, dtype=dtype) * 3, normal(201, 67, seed=1, dtype=dtype)
        weight_NC = normal(131, 67, seed=2, dtype=dtype)
        parts = normal(150, 4, 80, dtype=dtype), normal(150, 2, 80, seed=1, dtype=dtype), normal(150, 2, 80, seed=2)
        rotation = kernels.rotation(torch.arange(201) * 37, Rotary(tiny(head_dim=80))._frequency)
        logits_TN = kernels.product(x_TC, kernels.pack(weight_NC), 131, single=True)
        noise_T = torch.rand(201, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
        found += [
            logits_TN,
            kernels.product(x_TC, kernels.pack(weight_NC), 131),
            kernels.norm(x_TC, y_TC[0].contiguous(), 1e-6),
            kernels.gate(x_TC, y_TC),
            *rotation,
            kernels.turn(normal(201, 4, 80, dtype=dtype), *rotation),
            seen_by(kernels, (parts[0], parts[1], parts[2].to(dtype))),
            kernels.draw(logits_TN, noise_T, torch.full((201,), 0.7, dtype=torch.float64)),
            *kernels.score(logits_TN, torch.arange(201) % 131, None),
        ]
    return found


def test_every_result_is_the_same_with_any_number_of_threads(threads: None) -> None:
    torch.set_num_threads(1)
    alone = results(KERNELS)
    for count in (2, 3):
        torch.set_num_threads(count)
        assert all(torch.equal(one, other) for one, other in zip(alone, results(KERNELS), strict=True))


OTHER = "-mno-avx2" if platform.machine() in {"x86_64", "AMD64"} else "-fno-tree-vectorize"
"""Leaves neither AVX2 nor AVX-512, so the kernels take another way."""


def test_every_result_is_the_same_with_another_instruction_set(tmp_path: Path) -> None:
    flags = (*build._INVARIANT_FLAGS, OTHER)
    path = build.library(build.compiler(), tmp_path, source=build._INVARIANT_SOURCE, flags=flags)
    other = InvariantKernels(path)
    assert all(torch.equal(one, two) for one, two in zip(results(KERNELS), results(other), strict=True))


def test_without_a_compiler_the_mode_is_refused_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    invariant_kernels.cache_clear()
    monkeypatch.setenv("CXX", "no-such-compiler")
    try:
        with pytest.raises(ConfigError, match=r"no C\+\+ compiler called no-such-compiler\. Install"):
            invariant_kernels()
    finally:
        invariant_kernels.cache_clear()
