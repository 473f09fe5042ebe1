"""Which sequences begin alike: sorted, each has most in common with the one before it.

A sequence is compared by its key: bytes that sort as its tokens do, and that begin with another's where its tokens do.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

_WIDTH = 8
"""Bytes of a token in a key."""


def segment_keys(ids_K: Tensor, length_S: Tensor) -> list[bytes]:
    """The key of each segment.

    Args:
        ids_K: The tokens of all segments, one behind the other.
        length_S: How many each has.
    """
    whole = ids_K.cpu().numpy().astype(">u8").tobytes()
    ends: list[int] = (length_S.cumsum(0) * _WIDTH).tolist()
    return [whole[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def length(key: bytes) -> int:
    """How many tokens a sequence has."""
    return len(key) // _WIDTH


def common(one: bytes, other: bytes) -> int:
    """How many tokens two sequences begin with alike."""
    shorter = min(length(one), length(other))
    differ = np.flatnonzero(_words(one, shorter) != _words(other, shorter))
    return int(differ[0]) if len(differ) else shorter


def _words(key: bytes, count: int) -> npt.NDArray[Any]:
    return np.frombuffer(key, dtype=np.uint64, count=count)
