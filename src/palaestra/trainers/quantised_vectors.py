"""Vectors in E4M3, each with its scale in one byte after its numbers: the key or value of one head of a token.

Each vector is quantised by itself. So the rounded key does not depend on the batch, the page that holds it, or the
tokens beside it; and rounding it again changes nothing (`quantisation`). The byte is the scale's exponent, in E8M0
(Open Compute Project, Microscaling Formats 1.0). It is exact, since scales are powers of two.

Axes: D numbers of a vector, after any other axes.
"""

import torch
from torch import Tensor

from palaestra.trainers.quantisation import E4M3, BlockShape, quantise, round_to_e4m3

_VECTOR = BlockShape(rows=1)
_SCALE = torch.float8_e8m0fnu
SCALE_BYTES = 1
"""The bytes of a vector's scale."""


def encode_vectors(x_D: Tensor) -> Tensor:
    """Vectors as bytes, [..., D + 1]: the numbers in E4M3, then the scale."""
    values_RD, scale_R1 = quantise(x_D.flatten(0, -2), _VECTOR)
    encoded = torch.cat((values_RD.view(torch.uint8), scale_R1.to(_SCALE).view(torch.uint8)), -1)
    return encoded.view(*x_D.shape[:-1], -1)


def decode_vectors(encoded: Tensor, dtype: torch.dtype) -> Tensor:
    """The numbers of encoded vectors, [..., D]; exact in bfloat16 and single precision."""
    values_D = encoded[..., :-SCALE_BYTES].view(E4M3).to(dtype)
    return values_D * encoded[..., -SCALE_BYTES:].view(_SCALE).to(dtype)


def round_vectors(x_D: Tensor) -> Tensor:
    """Vectors after encoding and decoding, in their own type."""
    return round_to_e4m3(x_D.flatten(0, -2), _VECTOR).view_as(x_D)
