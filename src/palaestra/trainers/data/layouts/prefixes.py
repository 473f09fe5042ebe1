"""Common prefixes of sequences: in sorted order, each sequence shares its longest prefix with the one before it.

A sequence is compared by its key: bytes that sort as the tokens do, and that have a common prefix if the tokens do.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

_WIDTH = 8
"""The number of bytes of a token in a key."""


def segment_keys(ids_K: Tensor, length_S: Tensor) -> list[bytes]:
    """The key of each segment.

    Args:
        ids_K: The tokens of all segments, concatenated.
        length_S: The number of tokens in each segment.
    """
    whole = ids_K.cpu().numpy().astype(">u8").tobytes()
    ends: list[int] = (length_S.cumsum(0) * _WIDTH).tolist()
    return [whole[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def length(key: bytes) -> int:
    """The number of tokens in a sequence."""
    return len(key) // _WIDTH


def common(one: bytes, other: bytes) -> int:
    """The length of two sequences' common prefix, in tokens."""
    shorter = min(length(one), length(other))
    differ = np.flatnonzero(_words(one, shorter) != _words(other, shorter))
    return int(differ[0]) if len(differ) else shorter


def _words(key: bytes, count: int) -> npt.NDArray[Any]:
    return np.frombuffer(key, dtype=np.uint64, count=count)
