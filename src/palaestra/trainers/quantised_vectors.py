"""Vectors in E4M3, each with a scale of its own in a byte behind its numbers: keys and values, a head of a token each.

A vector is quantised by itself. So what a key is rounded to does not depend on the batch, the page that holds it, or
the tokens beside it; and rounding it again changes nothing (`quantisation`). The byte is the scale's exponent, in E8M0
(Open Compute Project, Microscaling Formats 1.0): scales are powers of two, so it holds them exactly.

Axes: D numbers of a vector; axes before it are any.
"""

import torch
from torch import Tensor

from palaestra.trainers.quantisation import E4M3, BlockShape, quantise, round_to_e4m3

_VECTOR = BlockShape(rows=1)
_SCALE = torch.float8_e8m0fnu
SCALE_BYTES = 1
"""Of a vector."""


def encode_vectors(x_D: Tensor) -> Tensor:
    """Vectors as bytes, [..., D + 1]: the numbers in E4M3, then their scale."""
    values_RD, scale_R1 = quantise(x_D.flatten(0, -2), _VECTOR)
    encoded = torch.cat((values_RD.view(torch.uint8), scale_R1.to(_SCALE).view(torch.uint8)), -1)
    return encoded.view(*x_D.shape[:-1], -1)


def decode_vectors(encoded: Tensor, dtype: torch.dtype) -> Tensor:
    """What `encode_vectors` holds, [..., D]; exact in bfloat16 and single precision."""
    values_D = encoded[..., :-SCALE_BYTES].view(E4M3).to(dtype)
    return values_D * encoded[..., -SCALE_BYTES:].view(_SCALE).to(dtype)


def round_vectors(x_D: Tensor) -> Tensor:
    """What vectors are after they were encoded and decoded, in their own type."""
    return round_to_e4m3(x_D.flatten(0, -2), _VECTOR).view_as(x_D)
