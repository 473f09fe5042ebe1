"""Axes: N tokens of a pass, H heads, G key-value heads, D head dimension."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from decoders import causal
from palaestra.trainers.data.layouts import paths, varlen
from palaestra.trainers.data.layouts.paths import PathAttention
from palaestra.trainers.data.layouts.varlen import Varlen
from palaestra.trainers.data.path import PrefixPath

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def as_documented(
    q_NHD: Tensor, k: Tensor, v: Tensor, ends_q: Tensor, ends_k: Tensor, max_q: int, max_k: int, **how: Any
) -> Tensor:
    """What torch says of its kernel, which only GPUs have: causal, aligned at the end of queries and keys."""
    assert how == {"window_size": (-1, 0), "enable_gqa": True}
    assert ends_q.dtype == ends_k.dtype == torch.int32
    assert max_q == ends_q.diff().max()
    assert max_k == ends_k.diff().max()
    seen: list[Tensor] = []
    for place in range(len(ends_q) - 1):
        own, whole = (slice(int(ends[place]), int(ends[place + 1])) for ends in (ends_q, ends_k))
        before = whole.stop - whole.start - (own.stop - own.start)
        padded_q = torch.cat((q_NHD.new_zeros(before, *q_NHD.shape[1:]), q_NHD[own]))
        seen.append(causal(0, padded_q, k[whole], v[whole])[before:])
    return torch.cat(seen)


@st.composite
def sequences(draw: st.DrawFn) -> list[tuple[int, int]]:
    drawn: list[tuple[int, int]] = []
    before = 0
    for _ in range(draw(st.integers(1, 5))):
        common, own = draw(st.integers(0, before)), draw(st.integers(1, 6))
        drawn.append((common, own))
        before = common + own
    return drawn


def drawn_qkv(count: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(count)
    return tuple(torch.randn(count, heads, 8, generator=generator) for heads in (4, 2, 2))  # type: ignore[return-value]


@settings(max_examples=40, deadline=None)
@given(given=sequences())
def test_all_sequences_at_once_are_each_path_by_itself(given: list[tuple[int, int]]) -> None:
    q, k, v = drawn_qkv(sum(own for _, own in given))
    each = PathAttention([PrefixPath(own=own, common=common) for common, own in given], torch.device("cpu"))
    if DEVICE.type == "cuda":
        q, k, v = (x.bfloat16() for x in (q, k, v))
        at_once = Varlen(given, DEVICE)(*(x.to(DEVICE) for x in (q, k, v))).cpu()
        torch.testing.assert_close(at_once, each(0, q, k, v), rtol=2e-2, atol=2e-2)
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(varlen, "varlen_attn", as_documented)
        torch.testing.assert_close(Varlen(given, DEVICE)(q, k, v), each(0, q, k, v))


def test_a_pass_that_goes_at_once_makes_no_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    def return_queries(q: Tensor, _k: Tensor, _v: Tensor) -> Tensor:
        return q

    def find_kernel(*_: object) -> Any:
        return return_queries

    monkeypatch.setattr(paths, "_varlen", find_kernel)
    attention = PathAttention([PrefixPath(own=3), PrefixPath(own=2, common=2)], torch.device("cuda"))
    q, k, v = (x.bfloat16() for x in drawn_qkv(5))
    assert attention(0, q, k, v) is q
    assert "_mask" not in vars(attention._band), "it grows with the product of both lengths"


def test_heads_that_flash_attention_does_not_take_go_path_by_path(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> Tensor:
        raise AssertionError("called with heads of 12")

    def find_kernel(*_: object) -> Any:
        return refuse

    monkeypatch.setattr(paths, "_varlen", find_kernel)
    lengths = [PrefixPath(own=3), PrefixPath(own=2)]
    q, k, v = (torch.randn(5, heads, 12, dtype=torch.bfloat16) for heads in (4, 2, 2))
    seen = PathAttention(lengths, torch.device("cuda"))(0, q, k, v)
    torch.testing.assert_close(seen, PathAttention(lengths, torch.device("cpu"))(0, q, k, v))


@pytest.mark.parametrize("given", [[(0, 3), (0, 2)], [(0, 3), (2, 2)]])
def test_torch_takes_the_call_as_it_is_made(given: list[tuple[int, int]]) -> None:
    with FakeTensorMode(allow_non_fake_inputs=True):
        q, k, v = (torch.empty(sum(own for _, own in given), heads, 8, dtype=torch.bfloat16) for heads in (4, 2, 2))
        seen = Varlen(given, torch.device("cpu"))(q, k, v)
    assert seen.shape == q.shape
    assert seen.dtype == torch.bfloat16
