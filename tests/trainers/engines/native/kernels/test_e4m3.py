"""Kernels over keys and values in E4M3: the bytes are torch's, and attention is that over what they stand for.

Axes: T tokens, H heads, G key-value heads, D head dimension.
"""

import platform
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import torch
from torch import Tensor

from decoders import tiny
from palaestra.trainers.engines.native.attention import SequenceSpan
from palaestra.trainers.engines.native.invariant import InvariantPass
from palaestra.trainers.engines.native.kernels import (
    BLOCK_PLACES,
    HEAD_DIMS,
    CompiledPass,
    InvariantKernels,
    Kernels,
    build,
    invariant_kernels,
    kernels,
)
from palaestra.trainers.engines.native.pages import PagedMemory
from palaestra.trainers.model.decoder import Attend
from palaestra.trainers.quantised_vectors import encode_vectors, round_vectors

DTYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
PLAIN = "-mno-avx2" if platform.machine() in {"x86_64", "AMD64"} else "-fno-tree-vectorize"
LENGTH = 150
"""Two pages and a part."""


@cache
def compiled() -> Kernels:
    found = kernels()
    assert found is not None, "these tests need a C++ compiler"
    return found


def by_compiled(memory: PagedMemory, span: SequenceSpan) -> Attend:
    return CompiledPass(compiled(), memory, [span])


def by_invariant(memory: PagedMemory, span: SequenceSpan) -> Attend:
    return InvariantPass(invariant_kernels(), memory, [span])


WAYS = pytest.mark.parametrize("way", [by_compiled, by_invariant])


def memory(head_dim: int, dtype: torch.dtype, *, quantised: bool) -> PagedMemory:
    shape = tiny(layers=2, heads=6, kv_heads=2, head_dim=head_dim, context=300)
    return PagedMemory(
        shape,
        tokens=900,
        sequences=2,
        places=BLOCK_PLACES,
        dtype=dtype,
        device=torch.device("cpu"),
        quantised=quantised,
    )


def tokens(head_dim: int, dtype: torch.dtype, *, least: int = -12, most: int = 4) -> Tensor:
    """Queries, keys and values as a projection gives them, [T, 6 + 2 + 2, D], of many sizes; some are zeros."""
    generator = torch.Generator().manual_seed(head_dim)
    qkv_TND = torch.randn(LENGTH, 10, head_dim, generator=generator)
    qkv_TND[:, 6:] *= torch.exp2(torch.randint(least, most, (LENGTH, 4, head_dim), generator=generator))
    qkv_TND[5, 6:] = 0
    return qkv_TND.to(dtype)


def pages_of(pages: PagedMemory) -> SequenceSpan:
    """All of a sequence, on pages that do not stand side by side."""
    own: list[int] = []
    pages.extend(own, LENGTH)
    return SequenceSpan(pages=own[::-1], place=0, count=LENGTH)


@DTYPES
@pytest.mark.parametrize("head_dim", HEAD_DIMS)
@pytest.mark.parametrize(("least", "most"), [(-12, 4), (-125, -100), (100, 120)], ids=["usual", "tiny", "huge"])
def test_what_is_held_are_the_bytes_that_torch_makes(dtype: torch.dtype, head_dim: int, least: int, most: int) -> None:
    pages = memory(head_dim, dtype, quantised=True)
    span, qkv_TND = pages_of(pages), tokens(head_dim, dtype, least=least, most=most)
    by_compiled(pages, span)(1, *qkv_TND.split((6, 2, 2), 1))
    table = torch.tensor(span.pages)
    for held, x_TGD in ((pages.keys[1], qkv_TND[:, 6:8]), (pages.values[1], qkv_TND[:, 8:])):
        assert torch.equal(held[table].flatten(0, 1)[:LENGTH], encode_vectors(x_TGD))


@WAYS
@DTYPES
@pytest.mark.parametrize("head_dim", HEAD_DIMS)
def test_attention_is_that_over_what_the_bytes_stand_for(
    way: Callable[[PagedMemory, SequenceSpan], Attend], dtype: torch.dtype, head_dim: int
) -> None:
    qkv_TND = tokens(head_dim, dtype)
    rounded_TND = torch.cat((qkv_TND[:, :6], round_vectors(qkv_TND[:, 6:])), 1)
    seen: list[Tensor] = []
    for parts_TND, quantised in ((qkv_TND, True), (rounded_TND, False)):
        pages = memory(head_dim, dtype, quantised=quantised)
        seen.append(way(pages, pages_of(pages))(1, *parts_TND.split((6, 2, 2), 1)))
    assert torch.equal(*seen)
    assert bool(seen[0].isfinite().all())


@WAYS
def test_what_is_no_number_stays_none_and_passes_to_nobody_else(
    way: Callable[[PagedMemory, SequenceSpan], Attend],
) -> None:
    qkv_TND = tokens(16, torch.float32)
    qkv_TND[40, 6, 3] = torch.nan  # a key of the first head
    pages = memory(16, torch.float32, quantised=True)
    seen_THD = way(pages, pages_of(pages))(0, *qkv_TND.split((6, 2, 2), 1))
    assert bool(seen_THD[40:, :3].isnan().all())
    assert bool(seen_THD[:40].isfinite().all())
    assert bool(seen_THD[:, 3:].isfinite().all())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_another_instruction_set_reads_and_writes_the_same_bytes(dtype: torch.dtype, tmp_path: Path) -> None:
    """Without AVX2 numbers are taken apart in whole numbers, and not through half precision."""
    other = Kernels(build.library(build.compiler(), tmp_path, flags=[PLAIN]))
    flags = (*build._INVARIANT_FLAGS, PLAIN)
    invariant = InvariantKernels(build.library(build.compiler(), tmp_path, source=build._INVARIANT_SOURCE, flags=flags))
    parts = tokens(80, dtype).split((6, 2, 2), 1)
    one, two = memory(80, dtype, quantised=True), memory(80, dtype, quantised=True)
    own, span = CompiledPass(other, one, [pages_of(one)]), pages_of(two)
    found = own(1, *parts)
    torch.testing.assert_close(found, by_compiled(two, span)(1, *parts), atol=2e-2, rtol=2e-2)  # sums may differ
    assert torch.equal(one.layers[1], two.layers[1])
    seen = [InvariantPass(kernels, two, [span])(1, *parts) for kernels in (invariant, invariant_kernels())]
    assert torch.equal(*seen)
