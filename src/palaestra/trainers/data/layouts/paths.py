"""Attention along paths: each sequence sees its own tokens, and before them the runs of others that it shares.

A sequence that shares nothing is a path without a prefix. A prefix is made of runs of tokens that belong to sequences
before it, so that their keys and values are worked out once, and their gradients add up.

Axes: N tokens of the pass, L a sequence's own tokens, P its prefix and its own, H heads, G key-value heads, D head
dimension.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from palaestra.record import record


@record
class Path:
    """A sequence of a pass."""

    length: int
    """Its own tokens; they stand behind those of the path before it."""
    prefix: tuple[int, ...] = ()
    """The runs that come before its own tokens."""


class PathAttention:
    """An `Attend`: each path by itself, over views and without padding.

    One call for each path was faster on a CPU than buckets of like lengths, which have to copy.

    Args:
        paths: What the pass is cut into.
        runs: The lengths of the runs that prefixes name; they cut the pass too, from its beginning to its end.
    """

    def __init__(self, paths: Sequence[Path], runs: Sequence[int] = ()) -> None:
        self._paths = paths
        self._lengths = [path.length for path in paths]
        self._runs = list(runs)
        self._masks = [self._mask(path) for path in paths]

    def _mask(self, path: Path) -> Tensor | None:
        """Which of prefix and own tokens each own token sees, [L, P]; `None` without a prefix."""
        before = sum(self._runs[run] for run in path.prefix)
        return torch.ones(path.length, before + path.length, dtype=torch.bool).tril(before) if before else None

    def __call__(self, layer: int, q_NHD: Tensor, k_NGD: Tensor, v_NGD: Tensor, /) -> Tensor:
        """What each token takes from its path up to itself."""
        del layer
        run_k = k_NGD.split(self._runs) if self._runs else ()
        run_v = v_NGD.split(self._runs) if self._runs else ()
        own = zip(*(x.split(self._lengths) for x in (q_NHD, k_NGD, v_NGD)), strict=True)
        seen = [
            _attend(q, _behind(run_k, path, k), _behind(run_v, path, v), mask)
            for path, mask, (q, k, v) in zip(self._paths, self._masks, own, strict=True)
        ]
        return torch.cat(seen)


def _behind(runs: Sequence[Tensor], path: Path, own: Tensor) -> Tensor:
    return torch.cat((*(runs[run] for run in path.prefix), own)) if path.prefix else own


def _attend(q_LHD: Tensor, k_PGD: Tensor, v_PGD: Tensor, mask_LP: Tensor | None) -> Tensor:
    q, k, v = (x.transpose(0, 1)[None] for x in (q_LHD, k_PGD, v_PGD))
    mask = None if mask_LP is None else mask_LP.to(q.device, non_blocking=True)
    seen = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None, enable_gqa=True)
    return seen[0].transpose(0, 1)
