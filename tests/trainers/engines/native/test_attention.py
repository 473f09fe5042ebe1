"""Attention over pages against each sequence by itself, and the pages that sequences share."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from decoders import causal, tiny
from palaestra.trainers.engines.native.attention import Pass, SequenceSpan, runs_of
from palaestra.trainers.engines.native.block_tables import BlockTablePass, reads_pages
from palaestra.trainers.engines.native.pages import PagedMemory
from palaestra.trainers.model.decoder import Attend

SHAPE = tiny(layers=2, heads=4, kv_heads=2, head_dim=8, context=64)


def memory() -> PagedMemory:
    return PagedMemory(SHAPE, tokens=100, sequences=5, places=4, dtype=torch.float32, device=torch.device("cpu"))


def heads(count: int, *, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(count, n, 8, generator=generator) for n in (4, 2, 2))  # type: ignore[return-value]


def read_block_table(
    q_THD: Tensor,
    keys_PWGD: Tensor,
    values_PWGD: Tensor,
    ends_of_q: Tensor,
    ends_of_k: Tensor,
    most_q: int,
    most_k: int,
    *,
    window_size: tuple[int, int],
    enable_gqa: bool,
    seqused_k: Tensor,
    block_table: Tensor,
) -> Tensor:
    """What torch documents of its varlen attention over pages, a sequence at a time; torch has it on CUDA alone."""
    assert window_size == (-1, 0)
    assert enable_gqa
    assert block_table.dtype == seqused_k.dtype == ends_of_q.dtype == ends_of_k.dtype == torch.int32
    assert most_q == ends_of_q.diff().max()
    assert most_k >= seqused_k.max()
    assert torch.equal(ends_of_k.diff(), seqused_k)
    seen: list[Tensor] = []
    for row, (start, end) in enumerate(pairwise(ends_of_q.tolist())):
        used = int(seqused_k[row])
        k_WGD, v_WGD = (pool[block_table[row].long()].flatten(0, 1)[:used] for pool in (keys_PWGD, values_PWGD))
        own = end - start
        q_WHD = torch.cat((q_THD.new_zeros(used - own, *q_THD.shape[1:]), q_THD[start:end]))
        seen.append(causal(0, q_WHD, k_WGD, v_WGD)[used - own :])
    return torch.cat(seen)


def by_block_tables(memory: PagedMemory, spans: Sequence[SequenceSpan]) -> Attend:
    return BlockTablePass(memory, spans, attend=read_block_table)


def by_gathering(memory: PagedMemory, spans: Sequence[SequenceSpan]) -> Attend:
    return Pass(memory, spans, padding=4)


WAYS = [by_gathering, by_block_tables]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("layer", [0, 1])
def test_each_token_sees_its_own_sequence_up_to_itself(
    layer: int, way: Callable[[PagedMemory, Sequence[SequenceSpan]], Attend]
) -> None:
    """Five sequences of different lengths, in passes that mix single tokens and chunks, against each by itself."""
    lengths = [9, 14, 3, 20, 7]
    sequences = [heads(length, seed=i) for i, length in enumerate(lengths)]
    expected = [causal(layer, *sequence) for sequence in sequences]
    pages = memory()
    own: list[list[int]] = [[] for _ in lengths]
    # The places of each sequence that a pass puts through.
    passes = [
        {0: (0, 5), 1: (0, 12), 2: (0, 2), 3: (0, 1), 4: (0, 6)},
        {0: (5, 9), 1: (12, 13), 2: (2, 3), 3: (1, 20), 4: (6, 7)},
        {1: (13, 14)},
    ]
    for one in passes:
        order = sorted(((end - start > 1, row, start, end) for row, (start, end) in one.items()))
        for _, row, _, end in order:
            pages.extend(own[row], end)
        q_THD, k_TGD, v_TGD = (
            torch.cat([sequences[row][part][start:end] for _, row, start, end in order]) for part in range(3)
        )
        attend = way(
            pages, [SequenceSpan(pages=own[row], place=start, count=end - start) for _, row, start, end in order]
        )
        seen_THD = attend(layer, q_THD, k_TGD, v_TGD)
        wanted_THD = torch.cat([expected[row][start:end] for _, row, start, end in order])
        torch.testing.assert_close(seen_THD, wanted_THD, atol=1e-5, rtol=0)


@pytest.mark.parametrize("way", WAYS)
def test_what_is_no_number_in_one_sequence_reaches_no_other(
    way: Callable[[PagedMemory, Sequence[SequenceSpan]], Attend],
) -> None:
    pages = memory()
    own: list[list[int]] = [[], []]
    spans = []
    for row, count in enumerate((1, 13)):
        pages.extend(own[row], count)
        spans.append(SequenceSpan(pages=own[row], place=count - 1, count=1))
    q_THD, k_TGD, v_TGD = heads(2, seed=0)
    pages.keys[0][own[1]] = torch.nan
    pages.values[0][own[1]] = torch.nan
    seen_THD = way(pages, spans)(0, q_THD, k_TGD, v_TGD)
    assert seen_THD[0].isfinite().all()
    assert seen_THD[1].isnan().all()


@pytest.mark.parametrize("block_tables", [False, True])
def test_a_pass_that_is_moved_is_a_new_pass(block_tables: bool) -> None:
    pages = memory()
    own: list[list[int]] = [[], []]
    for row in own:
        pages.extend(row, 13)
    pages.keys[0][own[0]], pages.values[0][own[0]] = torch.randn(2, 4, 4, 2, 8)
    widest = [SequenceSpan(pages=row, place=12, count=1) for row in own]
    attend = BlockTablePass(pages, widest, attend=read_block_table) if block_tables else Pass(pages, widest)
    places = attend.place_T.data_ptr()
    q_THD, k_TGD, v_TGD = heads(2, seed=0)
    for ends in ((3, 13), (9, 1)):
        spans = [
            SequenceSpan(pages=row[: -(-end // 4)], place=end - 1, count=1) for row, end in zip(own, ends, strict=True)
        ]
        attend.move(spans)
        assert attend.place_T.tolist() == [end - 1 for end in ends]
        assert attend.place_T.data_ptr() == places
        anew = by_gathering(pages, spans)
        torch.testing.assert_close(attend(0, q_THD, k_TGD, v_TGD), anew(0, q_THD, k_TGD, v_TGD), atol=1e-6, rtol=0)


def test_torch_reads_no_pages_on_a_processor() -> None:
    assert not reads_pages(memory())


@given(st.lists(st.integers(1, 500), max_size=30), st.integers(0, 600))
def test_runs_are_neighbours_and_waste_no_more_than_allowed(lengths: list[int], padding: int) -> None:
    runs = runs_of(lengths, padding=padding)
    assert [i for run in runs for i in range(run.start, run.stop)] == list(range(len(lengths)))

    def wasted(*lengths: int) -> int:
        return len(lengths) * max(lengths) - sum(lengths)

    assert all(wasted(*lengths[run]) <= padding for run in runs)
    for one, other in pairwise(runs):
        assert wasted(*lengths[one], lengths[other.start]) > padding
