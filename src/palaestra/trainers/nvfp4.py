"""NVFP4: numbers in E2M1 with a scale in E4M3 for each 16 of a row, and one scale for the whole matrix.

E2M1 has a sign, 2 bits of exponent and 1 of mantissa: 0, 0.5, 1, 1.5, 2, 3, 4 and 6. A block's scale brings its largest
magnitude to about 6. The matrix's scale is a power of two, and blocks' scales are normal numbers of E4M3: so values
times scales are exact in bfloat16, and quantising them again changes nothing.

The format is that of NVIDIA's Blackwell; QeRL (arXiv:2510.11696) holds a frozen base in it.

Axes: N rows, C columns, K blocks of a row, B bytes of its codes.
"""

from functools import cache
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from palaestra.trainers.quantisation import E4M3, least_power_of_two

BLOCK_COLUMNS = 16
"""That share a scale; the last block of a row may be smaller."""
MAGNITUDES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""Of E2M1, by the lower three bits of a code; the fourth is the sign."""
_MIDDLES = tuple((low + high) / 2 for low, high in pairwise(MAGNITUDES))
_SIGN = 8
_LEAST_SCALE = 2.0**-6
"""The least normal number of E4M3."""


class Nvfp4Matrix(NamedTuple):
    """A matrix in NVFP4; it never changes, so that copies of a decoder share it."""

    codes_NB: Tensor
    """Two in a byte, the earlier column in the lower half."""
    scale_NK: Tensor
    """In E4M3."""
    scale: Tensor
    """Of the whole matrix, in single precision."""

    @property
    def bytes(self) -> int:
        """Of codes and scales."""
        return self.codes_NB.nbytes + self.scale_NK.nbytes + self.scale.nbytes

    def __deepcopy__(self, memo: object) -> "Nvfp4Matrix":
        return self


def quantise_to_nvfp4(x_NC: Tensor) -> Nvfp4Matrix:
    """A matrix in NVFP4, each number rounded to the nearest, ties to the even code.

    A number is off by at most 1/5 of its size or a quarter of its block's scale, whichever is more. Where a number is
    not finite, the matrix becomes NaN as a whole, for E2M1 has no such numbers.

    Args:
        x_NC: In single precision or bfloat16.
    """
    rows, columns = x_NC.shape
    x_NKC = functional.pad(x_NC.float(), (0, -columns % BLOCK_COLUMNS)).view(rows, -1, BLOCK_COLUMNS)
    largest_NK = x_NKC.abs().amax(-1) / MAGNITUDES[-1]
    whole = least_power_of_two(largest_NK.max())
    inverse = whole.reciprocal()
    scale_NK = (largest_NK * inverse).clamp(min=_LEAST_SCALE).to(E4M3)
    code_NKC = _round(x_NKC * inverse, scale_NK.float()[..., None])
    low_NB, high_NB = code_NKC.view(rows, -1, 2).unbind(-1)
    return Nvfp4Matrix(low_NB | high_NB << 4, scale_NK, whole)


def dequantise_nvfp4(matrix: Nvfp4Matrix, columns: int, dtype: torch.dtype) -> Tensor:
    """Values times scales, [N, C]; exact in bfloat16 and single precision.

    Args:
        matrix: What is held.
        columns: Of the matrix.
        dtype: Of the result.
    """
    rows, blocks = matrix.scale_NK.shape
    x = _pairs(matrix.codes_NB.device, dtype).index_select(0, matrix.codes_NB.view(-1).int())
    scale = (matrix.scale_NK.float() * matrix.scale).to(dtype).view(-1, 1)
    spread = scale @ scale.new_ones(1, BLOCK_COLUMNS)  # a product with one term is exact, and faster than broadcasting
    return x.view(dtype).view(-1, BLOCK_COLUMNS).mul_(spread).view(rows, blocks * BLOCK_COLUMNS)[:, :columns]


def round_to_nvfp4(x_NC: Tensor) -> Tensor:
    """What a matrix is after quantisation, in its own type."""
    return dequantise_nvfp4(quantise_to_nvfp4(x_NC), x_NC.shape[1], x_NC.dtype)


def nvfp4_bytes(rows: int, columns: int) -> int:
    """Bytes of a matrix in NVFP4, scales included."""
    blocks = -(-columns // BLOCK_COLUMNS)
    return rows * blocks * (BLOCK_COLUMNS // 2 + 1) + torch.float32.itemsize


def _round(x_NKC: Tensor, scale_NK1: Tensor) -> Tensor:
    """The code of each number, in a byte; the middles of two magnitudes times a scale are exact."""
    size_NKC = x_NKC.abs()
    code_NKC = torch.zeros(x_NKC.shape, dtype=torch.uint8, device=x_NKC.device)
    for lower, middle in enumerate(_MIDDLES):
        limit_NK1 = scale_NK1 * middle
        code_NKC += size_NKC > limit_NK1 if lower % 2 == 0 else size_NKC >= limit_NK1
    return code_NKC + x_NKC.signbit().to(torch.uint8) * _SIGN


@cache
@torch.inference_mode(mode=False)
def _pairs(device: torch.device, dtype: torch.dtype) -> Tensor:
    """What each byte of codes stands for: two numbers, as one integer of their size together, [256]."""
    value_16 = torch.tensor([*MAGNITUDES, *(-value for value in MAGNITUDES)], device=device, dtype=dtype)
    byte = torch.arange(256, device=device)
    pair_2 = torch.stack((value_16[byte & 15], value_16[byte >> 4]), -1)
    return pair_2.view(torch.int32 if dtype.itemsize == 2 else torch.int64).squeeze(-1)
