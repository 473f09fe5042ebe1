"""All sequences of a pass in one call of flash attention: for GPUs, in half precision.

Axes: N tokens of the pass, P tokens of all sequences (shared ones counted for each), H heads, G key-value heads,
D head dimension.
"""

from collections.abc import Sequence
from inspect import signature
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import varlen

from palaestra.trainers.data.path import PrefixPath, path_places

varlen_attn: Any = varlen.varlen_attn  # its arguments differ between versions of torch
_ASKED = {"enable_gqa": True} if "enable_gqa" in signature(varlen_attn).parameters else {}
"""Arguments that allow fewer key heads than query heads; torch before 2.12 needs none."""


class Varlen:
    """Attention over sequences, each of which may share a prefix with the one before it.

    Args:
        sequences: For each sequence, the number of tokens that it shares with the one before it, and the number of its
            own tokens, which follow; the own tokens of all sequences are concatenated in the pass.
        device: The device of the pass.
    """

    def __init__(self, sequences: Sequence[tuple[int, int]], device: torch.device) -> None:
        self._own = [own for _, own in sequences]
        self._whole = [common + own for common, own in sequences]
        self._own_ends, self._whole_ends = (
            torch.tensor([*accumulate(lengths, initial=0)], dtype=torch.int32, device=device)
            for lengths in (self._own, self._whole)
        )
        shares = any(common for common, _ in sequences)
        paths = [PrefixPath(own=own, common=common) for common, own in sequences]
        self._token_P = path_places(paths).to(device) if shares else None

    def __call__(self, q_NHD: Tensor, k_NGD: Tensor, v_NGD: Tensor) -> Tensor:
        """The attention output of each token over its sequence, up to itself, [N, H, D]."""
        if self._token_P is not None:
            k_NGD, v_NGD = k_NGD.index_select(0, self._token_P), v_NGD.index_select(0, self._token_P)
        seen_NHD = varlen_attn(
            q_NHD, k_NGD, v_NGD, self._own_ends, self._whole_ends, max(self._own), max(self._whole),
            window_size=(-1, 0), **_ASKED,
        )  # fmt: skip
        assert isinstance(seen_NHD, Tensor), "nothing besides was asked for"
        return seen_NHD
