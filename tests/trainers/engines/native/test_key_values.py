"""The engine with keys and values in E4M3: a byte a number, and what is computed from them."""

import asyncio
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor

from decoders import tiny
from engines.plain import Memory, distributions, telling
from palaestra.trainers.device import Precision
from palaestra.trainers.engines.engine import Sampling, TurnRequest
from palaestra.trainers.engines.native import NativeConfig, NativeEngine
from palaestra.trainers.engines.native.attention import Pass, SequenceSpan
from palaestra.trainers.engines.native.core import Core
from palaestra.trainers.engines.native.pages import PagedMemory
from palaestra.trainers.flow import flow_of
from palaestra.trainers.loops.memory import cache_bytes
from palaestra.trainers.model.decoder import Decoder
from palaestra.trainers.quantised_vectors import round_vectors
from unified import draw_together

SHAPE = tiny(hidden=37, head_dim=16, mlp=51)
PRECISIONS: tuple[Precision, ...] = ("fp32", "bf16", "fp8", "fp8-block")


@cache
def decoder(head_dim: int = 16) -> Decoder:
    return telling(replace(SHAPE, head_dim=head_dim), seed=0)


def config(precision: Precision = "fp32", **changes: Any) -> NativeConfig:
    plain = NativeConfig(rows=64, capacity=40_000, precision=precision, keys_and_values="fp8", invariant=True)
    return replace(plain, **changes)


# What is computed


class RoundedMemory(Memory):
    """The second implementation's memory, of keys and values that are rounded as they come in."""

    def __call__(self, layer: int, q_THD: Tensor, k_TGD: Tensor, v_TGD: Tensor, /) -> Tensor:
        return super().__call__(layer, q_THD, round_vectors(k_TGD), round_vectors(v_TGD))


@pytest.mark.parametrize(
    ("head_dim", "invariant"), [(8, False), (16, False), (16, True)], ids=["torch", "kernels", "invariant"]
)
def test_log_probabilities_are_those_of_a_plain_forward_pass_that_rounds(head_dim: int, invariant: bool) -> None:
    """Now and then a last bit moves a number to its neighbour in E4M3; without rounding all are farther off."""
    model, rounded, exact = decoder(head_dim), list[Tensor](), list[Tensor]()
    for played in draw_together(model, range(24), config(invariant=invariant)).values():
        ids = torch.tensor(played.ids)
        own = torch.tensor([place for span in played.spans for place in range(span.start, span.end)])
        for memory, off in ((RoundedMemory(), rounded), (Memory(), exact)):
            logp_TV = distributions(model, played.ids, memory).log_softmax(-1)
            logp_T = logp_TV[own - 1, ids[own]]
            off.append((logp_T - torch.tensor(played.logprobs)[own]).abs())
    off_T, without_T = torch.cat(rounded), torch.cat(exact)
    assert float(off_T.median()) < 1e-5
    assert float(off_T.mean()) < float(without_T.mean()) / 5
    assert float(without_T.median()) > 1e-3


@pytest.mark.parametrize("precision", PRECISIONS)
def test_it_is_another_flow_than_that_without(precision: Precision) -> None:
    states, quantised = (config(precision, keys_and_values=held) for held in ("states", "fp8"))
    assert draw_together(decoder(), range(8), states) != draw_together(decoder(), range(8), quantised)


def test_torch_reads_pages_of_another_device_through_the_same_functions() -> None:
    """On the device "meta", which has shapes alone: pages there are laid out as on a GPU."""
    meta = torch.device("meta")
    pages = PagedMemory(SHAPE, tokens=900, sequences=2, places=256, dtype=torch.bfloat16, device=meta, quantised=True)
    assert pages.keys[0].shape[1:] == (256, SHAPE.kv_heads, SHAPE.head_dim + 1)
    spans = [SequenceSpan(pages=[1], place=9, count=1), SequenceSpan(pages=[2, 3], place=200, count=90)]
    q_THD, k_TGD, v_TGD = (
        torch.empty(91, heads, SHAPE.head_dim, dtype=torch.bfloat16, device=meta)
        for heads in (SHAPE.heads, SHAPE.kv_heads, SHAPE.kv_heads)
    )
    seen_THD = Pass(pages, spans)(0, q_THD, k_TGD, v_TGD)
    assert (seen_THD.shape, seen_THD.dtype) == (q_THD.shape, torch.bfloat16)


# Memory


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("invariant", [False, True])
def test_the_pages_take_a_byte_a_number_and_one_a_vector(precision: Any, invariant: bool) -> None:
    states = Core(decoder(), config(precision, keys_and_values="states", invariant=invariant))
    quantised = Core(decoder(), config(precision, invariant=invariant))
    number, D = {"fp32": 4, "bf16": 2}[precision], SHAPE.head_dim
    assert quantised.cache_bytes * number * D == states.cache_bytes * (D + 1)
    flows = [flow_of(precision, invariant=invariant, keys_and_values=held) for held in ("states", "fp8")]
    assert [cache_bytes(SHAPE, flow) for flow in flows] == [
        2 * SHAPE.layers * SHAPE.kv_heads * size for size in (number * D, D + 1)
    ]


def touched(held: Any) -> int:
    """Bytes that the system gave for keys and values of the same turns."""
    core = Core(decoder(), config("bf16", keys_and_values=held, rows=8, capacity=2_000, prefill=1_000))
    for number in range(8):
        context = tuple((7 * place + number) % 48 for place in range(100))
        core.admit(TurnRequest(trajectory=str(number), context=context, sampling=Sampling(limit=4, stop=())))
    while core.running:
        core.step()
    return sum(int(page.any()) * page.nbytes for page in core._memory._pages)


def test_only_pages_that_were_written_to_hold_anything() -> None:
    half, quantised = touched("states"), touched("fp8")
    assert half > 0
    assert quantised * 2 * SHAPE.head_dim == half * (SHAPE.head_dim + 1)


def test_an_engine_says_how_much_it_set_aside() -> None:
    async def ask(one: NativeConfig) -> int:
        engine = NativeEngine(decoder(), one)
        found = engine.stats().cache_bytes
        await engine.close()
        return found

    plain = config("bf16", keys_and_values="states")
    sizes = [asyncio.run(ask(one)) for one in (replace(plain, precision="fp32"), plain, config("bf16"))]
    assert all(one > 1.8 * other for one, other in pairwise(sizes))
    assert sizes[1] == Core(decoder(), config("bf16", keys_and_values="states")).cache_bytes
