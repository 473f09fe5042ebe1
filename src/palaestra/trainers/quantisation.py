"""Numbers in E4M3 with a scale for each block of a matrix: 4 bits of exponent, 3 of mantissa, magnitudes up to 448.

A scale is the least power of two that brings the largest magnitude of its block to 448 or less. Multiplication by it is
exact, so a number is rounded once; values times scales are exact in bfloat16; and quantising them again changes
nothing. A scale that brings the largest magnitude to exactly 448 has none of these three properties.

The format is from Micikevicius et al. 2022 (arXiv:2209.05433). Axes: R rows, C columns, r blocks of rows, c blocks of
columns.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from palaestra.record import record

E4M3 = torch.float8_e4m3fn
LARGEST = 448.0
"""The largest number of E4M3: 0.875 times 2 to the power of 9."""
_MANTISSA, _EXPONENT = 0.875, 9
_LEAST = -117
"""The exponent of the least scale; times this scale, E4M3's least number, 2 to the power of -9, is still normal."""


@record
class BlockShape:
    """The part of a matrix that shares a scale; blocks at the edges are smaller."""

    rows: int
    columns: int | None = None
    """The number of columns; `None` means all."""


class QuantisedMatrix(NamedTuple):
    """A matrix in E4M3."""

    values_RC: Tensor
    """The values, in `E4M3`."""
    scale_rc: Tensor
    """The scale of each block, in single precision."""

    @property
    def bytes(self) -> int:
        """The bytes of values and scales."""
        return self.values_RC.nbytes + self.scale_rc.nbytes


def quantise(x_RC: Tensor, block: BlockShape) -> QuantisedMatrix:
    """Quantise a matrix to E4M3, rounded to the nearest; a block of zeros has a scale of 1.

    The error of a normal result is at most 1/16 of its magnitude; that of a smaller result is at most 2 to the power of
    -10 times its scale. If a number is not finite, its whole block becomes NaN.

    Args:
        x_RC: The matrix, in single precision or bfloat16.
        block: The shape of the blocks that share a scale.
    """
    scale_rc = least_power_of_two(_largest(x_RC, block))
    inverse_RC = _spread(scale_rc.reciprocal(), x_RC, block)
    return QuantisedMatrix((x_RC * inverse_RC.to(x_RC.dtype)).to(E4M3), scale_rc)


def dequantise(quantised: QuantisedMatrix, block: BlockShape, dtype: torch.dtype) -> Tensor:
    """Values times scales, [R, C]; exact in bfloat16 and single precision."""
    values_RC = quantised.values_RC.to(dtype)
    return values_RC * _spread(quantised.scale_rc, values_RC, block).to(dtype)


def round_to_e4m3(x_RC: Tensor, block: BlockShape) -> Tensor:
    """A matrix rounded to E4M3, in its own type."""
    return dequantise(quantise(x_RC, block), block, x_RC.dtype)


def least_power_of_two(largest_rc: Tensor) -> Tensor:
    """The least powers of two that bring magnitudes to `LARGEST` or less; 1 for 0, and NaN for NaN and infinity."""
    mantissa_rc, exponent_rc = torch.frexp(largest_rc)
    exponent_rc = (exponent_rc - _EXPONENT + (mantissa_rc > _MANTISSA)).clamp(min=_LEAST)
    power_rc = (exponent_rc + 127).bitwise_left_shift(23).view(torch.float32)  # exact, unlike `pow`
    scale_rc = power_rc.masked_fill(largest_rc == 0, 1.0)
    return scale_rc.masked_fill(~largest_rc.isfinite(), torch.nan)


def _largest(x_RC: Tensor, block: BlockShape) -> Tensor:
    """The largest magnitude of each block, [r, c]."""
    size_RC = x_RC.abs()
    rows, columns = x_RC.shape
    wide = block.columns or columns
    if block.rows == 1 and wide == columns:
        return size_RC.amax(-1, keepdim=True).float()
    padded = functional.pad(size_RC, (0, -columns % wide, 0, -rows % block.rows))
    largest_rc: Tensor = padded.unflatten(1, (-1, wide)).unflatten(0, (-1, block.rows)).amax((1, 3)).float()
    return largest_rc


def _spread(scale_rc: Tensor, x_RC: Tensor, block: BlockShape) -> Tensor:
    """The scale of each number, in a shape that broadcasts over the matrix."""
    if block.rows > 1:
        scale_rc = scale_rc.repeat_interleave(block.rows, 0)[: x_RC.shape[0]]
    if block.columns is not None:
        scale_rc = scale_rc.repeat_interleave(block.columns, 1)[:, : x_RC.shape[1]]
    return scale_rc
