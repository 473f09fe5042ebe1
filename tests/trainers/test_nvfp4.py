"""What NVFP4 does to a matrix, against closed forms and plain Python. Axes: N rows, C columns, K blocks of a row."""

import math
from fractions import Fraction

import pytest
import torch
from torch import Tensor

from palaestra.trainers.nvfp4 import (
    BLOCK_COLUMNS,
    MAGNITUDES,
    Nvfp4Matrix,
    dequantise_nvfp4,
    nvfp4_bytes,
    quantise_to_nvfp4,
    round_to_nvfp4,
)
from palaestra.trainers.quantisation import E4M3

SCALES = sorted(
    float(x) for x in torch.arange(128, dtype=torch.uint8).view(E4M3).float() if math.isfinite(x) and x >= 2**-6
)
"""Every normal number of E4M3 that is above 0."""
DTYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])


def matrix(rows: int = 40, columns: int = 117, *, seed: int = 0) -> Tensor:
    """Numbers of many sizes, of zeros too; blocks of a row are of unlike sizes, and the last is a smaller one."""
    generator = torch.Generator().manual_seed(seed)
    x_NC = torch.randn(rows, columns, generator=generator)
    x_NC *= torch.exp2(torch.randint(-9, 9, (rows, -(-columns // 8)), generator=generator)).repeat_interleave(8, 1)[
        :, :columns
    ]
    x_NC[::7, ::5] = 0
    return x_NC


def nearest(value: Fraction, grid: list[Fraction]) -> Fraction:
    """The nearest of the grid's numbers, of two the one at an even place."""
    return min(enumerate(grid), key=lambda one: (abs(one[1] - value), one[0] % 2))[1]


def round_plainly(x_NC: Tensor) -> list[list[Fraction]]:
    """The same by Fractions, number by number."""
    rows = [[Fraction(float(x)) for x in row] for row in x_NC]
    largest = max(abs(x) for row in rows for x in row)
    whole = Fraction(1)
    while largest / 6 / whole > 448:
        whole *= 2
    while largest and largest / 6 / (whole / 2) <= 448:
        whole /= 2
    grid = [Fraction(x) for x in MAGNITUDES]
    found: list[list[Fraction]] = []
    for row in rows:
        out: list[Fraction] = []
        for begin in range(0, len(row), BLOCK_COLUMNS):
            block = row[begin : begin + BLOCK_COLUMNS]
            wanted = max(abs(x) for x in block) / 6 / whole
            scale = nearest(wanted, [Fraction(x) for x in SCALES])
            out += [nearest(abs(x) / whole / scale, grid) * whole * scale * (1 if x >= 0 else -1) for x in block]
        found.append(out)
    return found


@DTYPES
@pytest.mark.parametrize("seed", range(3))
def test_it_is_what_plain_python_rounds_to(dtype: torch.dtype, seed: int) -> None:
    x_NC = matrix(12, seed=seed).to(dtype)
    found = [[Fraction(float(x)) for x in row] for row in round_to_nvfp4(x_NC)]
    assert found == round_plainly(x_NC)


def test_every_code_is_met_and_stands_for_its_number() -> None:
    """With the largest magnitude 6 and 2688 in the matrix all scales are 1 and the codes are what they say."""
    signed = [*MAGNITUDES, *(-x for x in MAGNITUDES)]
    x_NC = torch.tensor([signed, [6.0 * 448] + [0.0] * 15])
    found = quantise_to_nvfp4(x_NC)
    assert float(found.scale) == 1
    assert found.scale_NK.float().tolist() == [[1.0], [448.0]]
    low, high = found.codes_NB[0] & 15, found.codes_NB[0] >> 4
    assert torch.stack((low, high), -1).flatten().tolist() == list(range(16))
    assert torch.equal(dequantise_nvfp4(found, 16, torch.float32), x_NC)


def test_the_earlier_of_two_columns_is_in_the_lower_half_of_a_byte() -> None:
    found = quantise_to_nvfp4(torch.tensor([[6.0, 3.0, *[0.0] * 14]]))
    assert int(found.codes_NB[0, 0]) == 7 + (5 << 4)


def test_a_tie_goes_to_the_even_code() -> None:
    middles = [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0]
    even = [0.0, 1.0, 1.0, 2.0, 2.0, 4.0, 4.0]
    row = torch.tensor([[6.0, *middles, *(-x for x in middles), 0.0], [6.0 * 448, *[0.0] * 15]])
    assert round_to_nvfp4(row)[0].tolist() == [6.0, *even, *(-x for x in even), 0.0]
    beside = torch.tensor(middles).nextafter(torch.tensor(9.0))
    row[0, 1:8] = beside
    assert round_to_nvfp4(row)[0, 1:8].tolist() == [0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]


def test_the_error_is_within_the_closed_form() -> None:
    """1/5 of a number's size, as of 5 between 4 and 6, or a quarter of the scale of a smaller one."""
    x_NC = matrix()
    quantised = quantise_to_nvfp4(x_NC)
    scale_NC = (quantised.scale_NK.float() * quantised.scale).repeat_interleave(BLOCK_COLUMNS, 1)[:, : x_NC.shape[1]]
    bound_NC = torch.maximum(x_NC.abs() / 5, scale_NC / 4)
    assert bool(((round_to_nvfp4(x_NC) - x_NC).abs() <= bound_NC).all())


@DTYPES
def test_to_quantise_again_changes_nothing(dtype: torch.dtype) -> None:
    for seed in range(5):
        once_NC = round_to_nvfp4(matrix(seed=seed).to(dtype))
        assert torch.equal(round_to_nvfp4(once_NC), once_NC)


def test_bfloat16_holds_it_exactly() -> None:
    quantised = quantise_to_nvfp4(matrix())
    half, single = (dequantise_nvfp4(quantised, 117, dtype) for dtype in (torch.bfloat16, torch.float32))
    assert torch.equal(half.float(), single)


def test_a_power_of_two_and_a_sign_pass_through() -> None:
    x_NC = matrix()
    for factor in (2.0**-30, 2.0**30, -1.0):
        assert torch.equal(round_to_nvfp4(x_NC * factor), round_to_nvfp4(x_NC) * factor)


def test_a_block_does_not_depend_on_others_that_leave_the_matrix_its_scale() -> None:
    x_NC = matrix(8, 64)
    x_NC[0, 0] = 2.0**14  # the largest either way
    changed = x_NC.clone()
    changed[3, 16:32] = 0
    before, after = round_to_nvfp4(x_NC), round_to_nvfp4(changed)
    before[3, 16:32] = 0
    assert torch.equal(before, after)


def test_zeros_stay_zeros() -> None:
    quantised = quantise_to_nvfp4(torch.zeros(3, 40))
    assert float(quantised.scale) == 1
    assert not quantised.codes_NB.any()
    assert not dequantise_nvfp4(quantised, 40, torch.bfloat16).any()


@pytest.mark.parametrize("fault", [math.inf, -math.inf, math.nan])
def test_what_is_not_finite_makes_the_matrix_nan(fault: float) -> None:
    x_NC = matrix(4, 40)
    x_NC[1, 30] = fault
    assert bool(round_to_nvfp4(x_NC).isnan().all())


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 16), (5, 17), (2, 160)])
def test_bytes_are_counted_as_they_are_held(rows: int, columns: int) -> None:
    quantised = quantise_to_nvfp4(torch.full((rows, columns), 6.0))
    assert quantised.bytes == nvfp4_bytes(rows, columns)
    assert torch.equal(dequantise_nvfp4(quantised, columns, torch.float32), torch.full((rows, columns), 6.0))


def test_a_large_matrix_takes_four_and_a_half_bits_a_number() -> None:
    assert 8 * nvfp4_bytes(4096, 4096) / 4096**2 == pytest.approx(4.5, rel=1e-5)


def test_normal_numbers_are_off_by_about_a_tenth() -> None:
    x_NC = torch.randn(256, 512, generator=torch.Generator().manual_seed(0))
    assert 0.09 < float((round_to_nvfp4(x_NC) - x_NC).norm() / x_NC.norm()) < 0.1


def test_what_never_changes_is_shared_by_copies() -> None:
    from copy import deepcopy

    quantised = quantise_to_nvfp4(matrix())
    copied: Nvfp4Matrix = deepcopy(quantised)
    assert copied.codes_NB.data_ptr() == quantised.codes_NB.data_ptr()
