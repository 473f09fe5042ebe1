"""Attention over sequences of mixed lengths in one call, compared with one call of SDPA per sequence.

Axes: N tokens of the pass, H heads, G key-value heads, D head dimension.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional

from palaestra.benchmarks.gpu.figures import ContactFigure
from palaestra.benchmarks.gpu.scale import ContactScale
from palaestra.benchmarks.speed.training.limits import time_median
from palaestra.trainers.data.layouts.paths import PathAttention
from palaestra.trainers.data.path import PrefixPath
from palaestra.trainers.engines.native.attention import Pass, SequenceSpan
from palaestra.trainers.engines.native.block_tables import BlockTablePass, reads_pages
from palaestra.trainers.engines.native.pages import PLACES_ON_CUDA, PagedMemory
from palaestra.trainers.model.decoder import Attend

_FAR = 2e-2
"""Maximum relative error that bfloat16 explains."""


def check_attention(device: torch.device, scale: ContactScale) -> Iterator[ContactFigure]:
    """Measure errors of output and gradients against single precision, with and without shared prefixes, and the time.

    On a processor both are the same calls, because varlen attention does not exist there.
    """
    alone = [PrefixPath(own=own, common=0) for own in scale.lengths]
    half = min(scale.lengths) // 2
    sharing = [PrefixPath(own=own, common=half * bool(place)) for place, own in enumerate(scale.lengths)]
    for name, paths in (("apart", alone), ("shared beginnings", sharing)):
        yield from _compare(name, paths, device, scale)
    yield from _check_paged(device, scale)


def _compare(name: str, paths: list[PrefixPath], device: torch.device, scale: ContactScale) -> Iterator[ContactFigure]:
    inputs = _draw(sum(path.own for path in paths), device, scale)
    exact = _outputs(PathAttention(paths, device), [x.float() for x in inputs])
    at_once = PathAttention(paths, device)
    halves = _outputs(at_once, inputs)
    for what, own, other in zip(("output", "dq", "dk", "dv"), halves, exact, strict=True):
        error = float((own.float() - other).norm() / other.norm())
        yield ContactFigure(name=f"{name}: relative error of {what}", value=error, unit="", at_most=_FAR)
    ours = time_median(lambda: _outputs(at_once, inputs), device)
    yield ContactFigure(name=f"{name}: forward and backward", value=ours * 1e3, unit="ms")
    if all(path.common == 0 for path in paths):
        theirs = time_median(lambda: _outputs(_Separate(scale.lengths), inputs), device)
        yield ContactFigure(name=f"{name}: one SDPA for each sequence, over it", value=theirs / ours, unit="times")


class _Separate:
    """An `Attend` that calls SDPA for each sequence."""

    def __init__(self, lengths: Sequence[int]) -> None:
        self._lengths = list(lengths)

    def __call__(self, layer: int, q_NHD: Tensor, k_NGD: Tensor, v_NGD: Tensor, /) -> Tensor:
        del layer
        split = (x.split(self._lengths) for x in (q_NHD, k_NGD, v_NGD))
        seen: list[Tensor] = []
        for q_N, k_N, v_N in zip(*split, strict=True):
            q_HN, k_GN, v_GN = (x.transpose(0, 1)[None] for x in (q_N, k_N, v_N))
            seen_HN = functional.scaled_dot_product_attention(q_HN, k_GN, v_GN, is_causal=True, enable_gqa=True)
            seen.append(seen_HN[0].transpose(0, 1))
        return torch.cat(seen)


def _draw(tokens: int, device: torch.device, scale: ContactScale) -> list[Tensor]:
    shape = scale.shape
    generator = torch.Generator().manual_seed(tokens)
    heads = (shape.heads, shape.kv_heads, shape.kv_heads)
    return [torch.randn(tokens, count, shape.head_dim, generator=generator).bfloat16().to(device) for count in heads]


def _outputs(attend: Attend, inputs: list[Tensor]) -> list[Tensor]:
    """The output, and the gradients of a fixed weighted sum of it."""
    leaves = [x.detach().requires_grad_() for x in inputs]
    out = attend(0, *leaves)
    weight = torch.linspace(-1, 1, out.shape[-1], device=out.device, dtype=out.dtype)
    (out * weight).sum().backward()
    grads = [leaf.grad for leaf in leaves if leaf.grad is not None]
    return [out.detach(), *grads]


def _check_paged(device: torch.device, scale: ContactScale) -> Iterator[ContactFigure]:
    """Check a decode step of the engine: with gathered pages, and with pages read in place if torch supports it."""
    shape = replace(scale.shape, layers=1)
    memory = PagedMemory(
        shape,
        tokens=sum(scale.lengths),
        sequences=len(scale.lengths),
        places=PLACES_ON_CUDA,
        dtype=torch.bfloat16,
        device=device,
    )
    generator = torch.Generator().manual_seed(0)
    for pool in (memory.keys[0], memory.values[0]):
        pool.copy_(torch.randn(pool.shape, generator=generator))
    own: list[list[int]] = [[] for _ in scale.lengths]
    for place in range(0, max(scale.lengths), PLACES_ON_CUDA):  # interleaved, so that no sequence has contiguous pages
        for pages, length in zip(own, scale.lengths, strict=True):
            memory.extend(pages, min(length, place + PLACES_ON_CUDA))
    spans = [SequenceSpan(pages=pages, place=end - 1, count=1) for pages, end in zip(own, scale.lengths, strict=True)]
    q, k, v = (
        torch.randn(len(own), count, shape.head_dim, generator=generator).bfloat16().to(device)
        for count in (shape.heads, shape.kv_heads, shape.kv_heads)
    )
    ways: dict[str, Attend] = {"gathered": Pass(memory, spans)}
    reads = reads_pages(memory)
    yield ContactFigure(name="torch reads pages where they are", value=float(reads), unit="1 if so")
    if reads:
        ways["block table"] = BlockTablePass(memory, spans)
    for name, attend in ways.items():
        found = attend(0, q, k, v)
        worst = 0.0
        for row, (pages, end) in enumerate(zip(own, scale.lengths, strict=True)):
            keys, values = (
                pool[pages].flatten(0, 1)[:end].float().transpose(0, 1)[None]
                for pool in (memory.keys[0], memory.values[0])
            )
            seen = functional.scaled_dot_product_attention(
                q[row].float()[None, :, None], keys, values, enable_gqa=True
            )[0, :, 0]
            worst = max(worst, float((found[row].float() - seen).norm() / seen.norm()))
        yield ContactFigure(name=f"pages, {name}: relative error of a decode step", value=worst, unit="", at_most=_FAR)
        seconds = time_median(partial(attend, 0, q, k, v), device)
        yield ContactFigure(name=f"pages, {name}: a decode step", value=seconds * 1e6, unit="us")
