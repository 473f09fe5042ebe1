"""What E4M3 with block scales does to a matrix, against closed forms and Fractions. Axes: R rows, C columns."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from palaestra.trainers.quantisation import E4M3, LARGEST, BlockShape, dequantise, quantise, round_to_e4m3

ROW, GROUP, BLOCK = BlockShape(rows=1), BlockShape(rows=1, columns=128), BlockShape(rows=128, columns=128)
BLOCKS = pytest.mark.parametrize("block", [ROW, GROUP, BLOCK], ids=["row", "group", "block"])
DTYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
GRID = torch.arange(256, dtype=torch.uint8).view(E4M3).float()
"""Every number of the format."""


def matrix(rows: int = 130, columns: int = 260, *, dtype: torch.dtype = torch.float32) -> Tensor:
    """Numbers of many sizes, of zeros too."""
    generator = torch.Generator().manual_seed(rows)
    x_RC = torch.randn(rows, columns, generator=generator)
    x_RC *= torch.exp2(torch.randint(-12, 12, (rows, columns), generator=generator))
    x_RC[::7, ::5] = 0
    return x_RC.to(dtype)


def blocks_of(x_RC: Tensor, block: BlockShape) -> list[tuple[slice, slice]]:
    wide = block.columns or x_RC.shape[1]
    rows, columns = range(0, x_RC.shape[0], block.rows), range(0, x_RC.shape[1], wide)
    return [(slice(r, r + block.rows), slice(c, c + wide)) for r in rows for c in columns]


@BLOCKS
@DTYPES
def test_a_scale_is_the_least_power_of_two_that_fits_the_largest_magnitude(
    block: BlockShape, dtype: torch.dtype
) -> None:
    x_RC = matrix(dtype=dtype)
    scales = quantise(x_RC, block).scale_rc.flatten().tolist()
    expected = [
        2.0 ** math.ceil(math.log2(float(x_RC[rows, columns].abs().max()) / LARGEST))
        for rows, columns in blocks_of(x_RC, block)
    ]
    assert scales == expected


@BLOCKS
@DTYPES
def test_each_number_is_rounded_to_the_nearest_of_the_format(block: BlockShape, dtype: torch.dtype) -> None:
    x_RC = matrix(20, 260, dtype=dtype)
    quantised = quantise(x_RC, block)
    found_RC = dequantise(quantised, block, torch.float32).double()
    grid = GRID[GRID.isfinite()].double()
    for place, (rows, columns) in enumerate(blocks_of(x_RC, block)):
        scale = quantised.scale_rc.flatten()[place].double()
        part = x_RC[rows, columns].double()
        nearest = (part[..., None] - grid * scale).abs().amin(-1)
        assert torch.equal((found_RC[rows, columns] - part).abs(), nearest)


@BLOCKS
def test_the_error_is_within_the_closed_form(block: BlockShape) -> None:
    """Half a unit of the last place: 2**-4 of a normal number's power of two, and 2**-10 of the scale of a smaller."""
    x_RC = matrix()
    scale_rc = quantise(x_RC, block).scale_rc
    error_RC = (round_to_e4m3(x_RC, block) - x_RC).abs()
    for place, (rows, columns) in enumerate(blocks_of(x_RC, block)):
        bound = (x_RC[rows, columns].abs() / 16).clamp(min=float(scale_rc.flatten()[place]) * 2**-10)
        assert bool((error_RC[rows, columns] <= bound).all())


@BLOCKS
@DTYPES
def test_to_quantise_again_changes_nothing(block: BlockShape, dtype: torch.dtype) -> None:
    once_RC = round_to_e4m3(matrix(dtype=dtype), block)
    assert torch.equal(round_to_e4m3(once_RC, block), once_RC)


@BLOCKS
def test_bfloat16_holds_it_exactly(block: BlockShape) -> None:
    quantised = quantise(matrix(), block)
    half, single = (dequantise(quantised, block, dtype) for dtype in (torch.bfloat16, torch.float32))
    assert torch.equal(half.float(), single)


@BLOCKS
def test_a_power_of_two_passes_through(block: BlockShape) -> None:
    x_RC = matrix()
    assert torch.equal(round_to_e4m3(x_RC * 2**-20, block), round_to_e4m3(x_RC, block) * 2**-20)
    assert torch.equal(round_to_e4m3(-x_RC, block), -round_to_e4m3(x_RC, block))


@pytest.mark.parametrize("block", [ROW, GROUP], ids=["row", "group"])
def test_a_row_does_not_depend_on_the_others(block: BlockShape) -> None:
    x_RC = matrix(40, 260)
    whole = quantise(x_RC, block)
    for row in (0, 17, 39):
        alone = quantise(x_RC[row : row + 1], block)
        assert torch.equal(alone.values_RC.view(torch.uint8), whole.values_RC[row : row + 1].view(torch.uint8))
        assert torch.equal(alone.scale_rc, whole.scale_rc[row : row + 1])


def test_rows_of_a_block_of_weights_share_a_scale() -> None:
    x_RC = matrix(40, 260)
    x_RC[0] *= 2**20
    assert not torch.equal(round_to_e4m3(x_RC, BLOCK)[1:], round_to_e4m3(x_RC[1:], BLOCK))


@BLOCKS
def test_zeros_have_a_scale_of_one_and_stay_zeros(block: BlockShape) -> None:
    quantised = quantise(torch.zeros(3, 200), block)
    assert bool((quantised.scale_rc == 1).all())
    assert bool((dequantise(quantised, block, torch.float32) == 0).all())


@pytest.mark.parametrize("fault", [math.inf, -math.inf, math.nan])
def test_what_is_not_finite_makes_its_block_nan_and_no_other(fault: float) -> None:
    x_RC = matrix(4, 300)
    x_RC[1, 130] = fault
    found_RC = round_to_e4m3(x_RC, GROUP)
    assert bool(found_RC[1, 128:256].isnan().all())
    found_RC[1, 128:256] = x_RC[1, 128:256] = 0
    assert torch.equal(found_RC, round_to_e4m3(x_RC, GROUP))


@given(st.floats(-(2.0**127), 2.0**127, width=32))
def test_any_number_of_its_own_is_off_by_a_sixteenth_at_most(value: float) -> None:
    x_RC = torch.tensor([[value]])
    found = float(round_to_e4m3(x_RC, ROW))
    assert abs(found - value) <= max(abs(value) / 16, 2.0**-127)


@pytest.mark.parametrize(("rows", "columns", "shape"), [(0, 256, (0, 2)), (1, 1, (1, 1)), (129, 257, (129, 3))])
def test_edges_are_smaller_blocks(rows: int, columns: int, shape: tuple[int, int]) -> None:
    quantised = quantise(torch.ones(rows, columns), GROUP)
    assert quantised.scale_rc.shape == shape
    assert dequantise(quantised, GROUP, torch.float32).shape == (rows, columns)
    assert quantised.bytes == rows * columns + 4 * shape[0] * shape[1]
