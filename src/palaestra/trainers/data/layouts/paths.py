"""Attention along paths: each sequence sees the tokens that it shares with another sequence, then its own.

A sequence that shares nothing is a path of its own tokens. If a path shares a prefix with the path before it, these
tokens are not processed again: their keys and values are taken from there, and their gradients add up.

Axes: N tokens of the pass, L a path's own tokens, P all tokens of a path, H heads, G key-value heads, D head dimension.
"""

from collections.abc import Callable, Sequence
from functools import cached_property

import torch
from torch import Tensor
from torch.nn import functional

from palaestra.trainers.data.path import PrefixPath

_FLASH_DIM = 8
"""Flash attention takes heads whose dimension is a multiple of this."""


class PathAttention:
    """An `Attend`: on a CPU one call for each path, on a GPU in half precision one call for all.

    Neither pads. On a CPU this is faster than buckets of similar lengths, which copy and pad, and than a mask over the
    whole tree, which is mostly empty.

    Args:
        paths: The paths that make up the pass, in order.
        device: The device of the pass.
    """

    def __init__(self, paths: Sequence[PrefixPath], device: torch.device) -> None:
        self._paths = paths
        self._own = [path.own for path in paths]
        self._band = _Band([path for path in paths if path.common], device)
        self._at_once = _varlen(paths, device) if device.type == "cuda" else None

    def __call__(self, layer: int, q_NHD: Tensor, k_NGD: Tensor, v_NGD: Tensor, /) -> Tensor:
        """The attention output of each token over its path, up to itself, [N, H, D]."""
        del layer
        if self._at_once and q_NHD.dtype in {torch.float16, torch.bfloat16} and q_NHD.shape[-1] % _FLASH_DIM == 0:
            return self._at_once(q_NHD, k_NGD, v_NGD)
        own = (x_N.split(self._own) for x_N in (q_NHD, k_NGD, v_NGD))
        seen: list[Tensor] = []
        k_P, v_P = k_NGD[:0], v_NGD[:0]
        for path, q_L, k_L, v_L in zip(self._paths, *own, strict=True):
            k_P = torch.cat((k_P[: path.common], k_L)) if path.common else k_L
            v_P = torch.cat((v_P[: path.common], v_L)) if path.common else v_L
            seen.append(_attend(q_L, k_P, v_P, self._band.of(path) if path.common else None))
        return torch.cat(seen)


def _varlen(paths: Sequence[PrefixPath], device: torch.device) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    from palaestra.trainers.data.layouts.varlen import Varlen  # noqa: PLC0415  it takes torch a second to import

    return Varlen([(path.common, path.own) for path in paths], device)


class _Band:
    """The masks of all paths with a shared prefix: views of one matrix, 0 for tokens that are seen, otherwise -inf.

    The matrix is made at its first use, since it may be large and half precision on a GPU does not read it.
    """

    def __init__(self, paths: Sequence[PrefixPath], device: torch.device) -> None:
        self._common = max((path.common for path in paths), default=0)
        self._longest = max((path.own for path in paths), default=0)
        self._device = device

    @cached_property
    def _mask(self) -> Tensor:
        unseen = torch.full((self._longest, self._common + self._longest), -torch.inf, device=self._device)
        return unseen.triu(self._common + 1)

    def of(self, path: PrefixPath) -> Tensor:
        """The mask of the whole path for each of the path's own tokens, [L, P]."""
        first = self._common - path.common
        return self._mask[: path.own, first : self._common + path.own]


def _attend(q_LHD: Tensor, k_PGD: Tensor, v_PGD: Tensor, mask_LP: Tensor | None) -> Tensor:
    q_HLD, k_GPD, v_GPD = (x.transpose(0, 1)[None] for x in (q_LHD, k_PGD, v_PGD))
    if mask_LP is not None and q_LHD.dtype == torch.float64:
        mask_LP = mask_LP.double()  # beside doubles, torch reads a single-precision mask as doubles
    seen_HLD = functional.scaled_dot_product_attention(
        q_HLD, k_GPD, v_GPD, attn_mask=mask_LP, is_causal=mask_LP is None, enable_gqa=True
    )
    return seen_HLD[0].transpose(0, 1)
