"""Attention over sequences of mixed lengths in one call, against one call of SDPA for each sequence.

Axes: N tokens of the pass, H heads, G key-value heads, D head dimension, P pages, S places of a page.
"""

from collections.abc import Iterator, Sequence
from inspect import signature
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.attention import varlen

from palaestra.benchmarks.gpu.figures import ContactFigure
from palaestra.benchmarks.gpu.scale import ContactScale
from palaestra.benchmarks.speed.training.limits import time_median
from palaestra.trainers.data.layouts.paths import PathAttention
from palaestra.trainers.data.path import PrefixPath
from palaestra.trainers.model.decoder import Attend

_FAR = 2e-2
"""Relative error that bfloat16 explains."""
_PAGE = 256


def check_attention(device: torch.device, scale: ContactScale) -> Iterator[ContactFigure]:
    """Errors of output and gradients against single precision, with and without shared beginnings, and the time.

    On a processor both are the same calls, for there is no varlen attention there.
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
    """The output, and the gradients of a fixed sum of it."""
    leaves = [x.detach().requires_grad_() for x in inputs]
    out = attend(0, *leaves)
    weight = torch.linspace(-1, 1, out.shape[-1], device=out.device, dtype=out.dtype)
    (out * weight).sum().backward()
    grads = [leaf.grad for leaf in leaves if leaf.grad is not None]
    return [out.detach(), *grads]


def _check_paged(device: torch.device, scale: ContactScale) -> Iterator[ContactFigure]:
    """Whether varlen attention takes keys from pages, as a decode step reads them."""
    call: Any = varlen.varlen_attn  # its arguments differ between versions of torch
    takes = float("block_table" in signature(call).parameters)
    yield ContactFigure(name="varlen attention takes a block table", value=takes, unit="1 if so")
    if not takes or device.type == "cpu":
        return
    shape = scale.shape
    pages_of = [-(-length // _PAGE) for length in scale.lengths]
    generator = torch.Generator().manual_seed(0)
    cut = (sum(pages_of), _PAGE, shape.kv_heads, shape.head_dim)
    keys, values = (torch.randn(cut, generator=generator).bfloat16().to(device) for _ in range(2))
    q = torch.randn(len(pages_of), shape.heads, shape.head_dim, generator=generator).bfloat16().to(device)
    order: list[int] = torch.randperm(cut[0], generator=generator).tolist()
    tables = [[order.pop() for _ in range(count)] for count in pages_of]
    width = max(pages_of)
    table = torch.tensor([[*own, *[0] * (width - len(own))] for own in tables], dtype=torch.int32, device=device)
    lengths = torch.tensor(scale.lengths, dtype=torch.int32, device=device)
    ends_q = torch.arange(len(tables) + 1, dtype=torch.int32, device=device)
    ends_k = torch.cat((lengths.new_zeros(1), lengths.cumsum(0, dtype=torch.int32)))

    def call_paged() -> Tensor:
        found: Tensor = call(
            q, keys, values, ends_q, ends_k, 1, max(scale.lengths),
            enable_gqa=True, seqused_k=lengths, block_table=table,
        )  # fmt: skip
        return found

    found = call_paged()
    worst = 0.0
    for row, (own, length) in enumerate(zip(tables, scale.lengths, strict=True)):
        k, v = (x[own].flatten(0, 1)[:length].float().transpose(0, 1)[None] for x in (keys, values))
        seen = functional.scaled_dot_product_attention(q[row].float()[None, :, None], k, v, enable_gqa=True)[0, :, 0]
        worst = max(worst, float((found[row].float() - seen).norm() / seen.norm()))
    yield ContactFigure(name="paged: relative error of a decode step", value=worst, unit="", at_most=_FAR)
    yield ContactFigure(name="paged: a decode step", value=time_median(call_paged, device) * 1e6, unit="us")
