"""What a byte a number does to keys and values: closed forms of the error, and each vector by itself.

Axes: T tokens, G key-value heads, D head dimension.
"""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from palaestra.trainers.quantisation import E4M3, LARGEST
from palaestra.trainers.quantised_vectors import decode_vectors, encode_vectors, round_vectors

DTYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])


def heads(tokens: int = 40, *, dtype: torch.dtype = torch.float32) -> Tensor:
    """Keys of many sizes, [T, 2, 24]; one is of zeros."""
    generator = torch.Generator().manual_seed(tokens)
    x_TGD = torch.randn(tokens, 2, 24, generator=generator)
    x_TGD *= torch.exp2(torch.randint(-20, 20, (tokens, 2, 24), generator=generator))
    x_TGD[3, 1] = 0
    return x_TGD.to(dtype)


@DTYPES
def test_a_vector_takes_a_byte_for_each_number_and_one_for_its_scale(dtype: torch.dtype) -> None:
    encoded = encode_vectors(heads(dtype=dtype))
    assert (encoded.dtype, tuple(encoded.shape)) == (torch.uint8, (40, 2, 25))
    assert encoded.nbytes == 40 * 2 * (24 + 1)


@DTYPES
def test_bytes_hold_what_rounding_gives_in_either_precision(dtype: torch.dtype) -> None:
    x_TGD = heads(dtype=dtype)
    encoded = encode_vectors(x_TGD)
    assert torch.equal(decode_vectors(encoded, dtype), round_vectors(x_TGD))
    assert torch.equal(decode_vectors(encoded, torch.bfloat16).float(), decode_vectors(encoded, torch.float32))
    assert torch.equal(round_vectors(round_vectors(x_TGD)), round_vectors(x_TGD))


def test_each_vector_has_the_least_power_of_two_that_fits_it() -> None:
    x_TGD = heads()
    exponents = encode_vectors(x_TGD)[..., -1].int() - 127
    for (token, group), exponent in zip(
        [(t, g) for t in range(40) for g in range(2)], exponents.flatten().tolist(), strict=True
    ):
        largest = float(x_TGD[token, group].abs().max())
        assert exponent == (0 if largest == 0 else math.ceil(math.log2(largest / LARGEST)))


@given(st.lists(st.floats(-1e4, 1e4, width=32), min_size=1, max_size=40))
def test_a_number_is_off_by_a_sixteenth_or_by_the_largest_over_two_hundred_thousand(values: list[float]) -> None:
    """3 bits of mantissa: half a step is a sixteenth. Below 2 to the power of -6 steps are even: half of one is 2 to
    the power of -10 of the scale, and a scale is less than the largest magnitude over 224."""
    x_D = torch.tensor([values])
    off_D = (round_vectors(x_D) - x_D).abs().double()
    least = max(float(x_D.abs().max()) / 224 * 2**-10, 2.0**-127)
    assert bool((off_D <= (x_D.abs().double() / 16).clamp(min=least)).all())


def test_a_score_is_off_by_a_sixteenth_of_its_terms_at_most() -> None:
    generator = torch.Generator().manual_seed(0)
    q_TD, k_TD = torch.randn(2, 500, 64, generator=generator, dtype=torch.float64).float().double()
    found_TD = round_vectors(k_TD.float()).double()
    off_T = (q_TD * (found_TD - k_TD)).sum(-1).abs()
    terms_T = (q_TD * k_TD).abs().sum(-1)
    tiny_T = q_TD.abs().sum(-1) * k_TD.abs().amax(-1) / 224 * 2**-10
    assert bool((off_T <= terms_T / 16 + tiny_T).all())
    assert 0 < float((off_T / terms_T).mean()) < 1 / 64, "errors of numbers do not cancel"


@DTYPES
def test_a_vector_does_not_depend_on_the_others(dtype: torch.dtype) -> None:
    x_TGD = heads(dtype=dtype)
    encoded = encode_vectors(x_TGD)
    order = torch.randperm(40, generator=torch.Generator().manual_seed(0))
    assert torch.equal(encode_vectors(x_TGD[order]), encoded[order])
    assert torch.equal(encode_vectors(x_TGD.flip(1)), encoded.flip(1))
    for token in (0, 17, 39):
        assert torch.equal(encode_vectors(x_TGD[token : token + 1]), encoded[token : token + 1])


def test_every_number_of_the_format_passes() -> None:
    grid = torch.arange(256, dtype=torch.uint8).view(E4M3).float()
    grid = grid[grid.isfinite()]
    assert torch.equal(round_vectors(grid[None])[0], grid)


@pytest.mark.parametrize("fault", [math.inf, -math.inf, math.nan])
def test_what_is_not_finite_makes_its_vector_nan_and_no_other(fault: float) -> None:
    x_TGD = heads()
    wanted = round_vectors(x_TGD)
    x_TGD[5, 1, 7] = fault
    found = decode_vectors(encode_vectors(x_TGD), torch.float32)
    assert bool(found[5, 1].isnan().all())
    found[5, 1] = wanted[5, 1]
    assert torch.equal(found, wanted)


@DTYPES
def test_pages_that_were_never_written_to_are_zeros(dtype: torch.dtype) -> None:
    assert torch.equal(decode_vectors(torch.zeros(3, 9, dtype=torch.uint8), dtype), torch.zeros(3, 8, dtype=dtype))
