"""NVFP4: numbers in E2M1, with a scale in E4M3 for each 16 numbers of a row and one scale for the whole matrix.

E2M1 has a sign bit, 2 bits of exponent and 1 of mantissa; its magnitudes are 0, 0.5, 1, 1.5, 2, 3, 4 and 6. A block's
scale brings its largest magnitude to about 6. The matrix's scale is a power of two, and the blocks' scales are normal
numbers of E4M3. Therefore values times scales are exact in bfloat16, and quantising them again changes nothing.

NVIDIA's Blackwell has this format; QeRL (arXiv:2510.11696) holds a frozen base in it.

Axes: N rows, C columns, K blocks of a row, B bytes of a row's codes.
"""

from functools import cache
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from palaestra.trainers.quantisation import E4M3, least_power_of_two

BLOCK_COLUMNS = 16
"""The columns that share a scale; the last block of a row may be smaller."""
MAGNITUDES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""The magnitudes of E2M1, by the lower three bits of a code; the fourth bit is the sign."""
_MIDDLES = tuple((low + high) / 2 for low, high in pairwise(MAGNITUDES))
_SIGN = 8
_LEAST_SCALE = 2.0**-6
"""The least normal number of E4M3."""


class Nvfp4Matrix(NamedTuple):
    """A matrix in NVFP4. It never changes, so copies of a decoder share it."""

    codes_NB: Tensor
    """Two codes in each byte, the earlier column in the lower half."""
    scale_NK: Tensor
    """The blocks' scales, in E4M3."""
    scale: Tensor
    """The scale of the whole matrix, in single precision."""

    @property
    def bytes(self) -> int:
        """The bytes of codes and scales."""
        return self.codes_NB.nbytes + self.scale_NK.nbytes + self.scale.nbytes

    def __deepcopy__(self, memo: object) -> "Nvfp4Matrix":
        return self


def quantise_to_nvfp4(x_NC: Tensor) -> Nvfp4Matrix:
    """Quantise a matrix to NVFP4; each number is rounded to the nearest, ties to the even code.

    The error of a number is at most 1/5 of its magnitude or a quarter of its block's scale, whichever is larger. If a
    number is not finite, the whole matrix becomes NaN, since E2M1 has no such numbers.

    Args:
        x_NC: The matrix, in single precision or bfloat16.
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
        matrix: The matrix in NVFP4.
        columns: The number of columns of the matrix.
        dtype: The type of the result.
    """
    rows, blocks = matrix.scale_NK.shape
    x = _pairs(matrix.codes_NB.device, dtype).index_select(0, matrix.codes_NB.view(-1).int())
    scale = (matrix.scale_NK.float() * matrix.scale).to(dtype).view(-1, 1)
    spread = scale @ scale.new_ones(1, BLOCK_COLUMNS)  # a product with one term is exact, and faster than broadcasting
    return x.view(dtype).view(-1, BLOCK_COLUMNS).mul_(spread).view(rows, blocks * BLOCK_COLUMNS)[:, :columns]


def round_to_nvfp4(x_NC: Tensor) -> Tensor:
    """A matrix rounded to NVFP4, in its own type."""
    return dequantise_nvfp4(quantise_to_nvfp4(x_NC), x_NC.shape[1], x_NC.dtype)


def nvfp4_bytes(rows: int, columns: int) -> int:
    """Bytes of a matrix in NVFP4, scales included."""
    blocks = -(-columns // BLOCK_COLUMNS)
    return rows * blocks * (BLOCK_COLUMNS // 2 + 1) + torch.float32.itemsize


def _round(x_NKC: Tensor, scale_NK1: Tensor) -> Tensor:
    """The code of each number, in a byte; the midpoint of two magnitudes times a scale is exact."""
    size_NKC = x_NKC.abs()
    code_NKC = torch.zeros(x_NKC.shape, dtype=torch.uint8, device=x_NKC.device)
    for lower, middle in enumerate(_MIDDLES):
        limit_NK1 = scale_NK1 * middle
        code_NKC += size_NKC > limit_NK1 if lower % 2 == 0 else size_NKC >= limit_NK1
    return code_NKC + x_NKC.signbit().to(torch.uint8) * _SIGN


@cache
@torch.inference_mode(mode=False)
def _pairs(device: torch.device, dtype: torch.dtype) -> Tensor:
    """The two numbers that each byte of codes represents, as one integer of their joint size, [256]."""
    value_16 = torch.tensor([*MAGNITUDES, *(-value for value in MAGNITUDES)], device=device, dtype=dtype)
    byte = torch.arange(256, device=device)
    pair_2 = torch.stack((value_16[byte & 15], value_16[byte >> 4]), -1)
    return pair_2.view(torch.int32 if dtype.itemsize == 2 else torch.int64).squeeze(-1)
