from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from decoders import causal, tiny
from palaestra.trainers.engines.native.attention import Chunk, Pass, RowRun, runs_of
from palaestra.trainers.engines.native.memory import RowMemory

SHAPE = tiny(layers=2, heads=4, kv_heads=2, head_dim=8, context=64)


def memory(**changes: int) -> RowMemory:
    sizes = {"rows": 5, "context": 64, **changes}
    return RowMemory(SHAPE, **sizes, dtype=torch.float32, device=torch.device("cpu"))


def heads(count: int, *, seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(count, n, 8, generator=generator) for n in (4, 2, 2))  # type: ignore[return-value]


@pytest.mark.parametrize("layer", [0, 1])
def test_each_token_sees_its_own_row_up_to_itself(layer: int) -> None:
    """Five sequences of different lengths, in passes that mix single tokens and chunks, against each by itself."""
    lengths = [9, 14, 3, 20, 7]
    sequences = [heads(length, seed=i) for i, length in enumerate(lengths)]
    expected = [causal(layer, *sequence) for sequence in sequences]
    rows = memory()
    # The places of each row that a pass puts through; rows 0 to 4.
    passes = [
        {0: (0, 5), 1: (0, 12), 2: (0, 2), 3: (0, 1), 4: (0, 6)},
        {0: (5, 9), 1: (12, 13), 2: (2, 3), 3: (1, 20), 4: (6, 7)},
        {1: (13, 14)},
    ]
    for spans in passes:
        own = list(spans.items())
        singles = [(row, end) for row, (start, end) in own if end - start == 1]
        several = [(row, start, end) for row, (start, end) in own if end - start > 1]
        chunks, at = [], len(singles)
        for row, start, end in several:
            chunks.append(Chunk(start=at, row=row, place=start, count=end - start))
            at += end - start
        order = [(row, end - 1, end) for row, end in singles] + several
        q_THD, k_TGD, v_TGD = (
            torch.cat([sequences[row][part][start:end] for row, start, end in order]) for part in range(3)
        )
        runs = runs_of([row for row, _ in singles], [end for _, end in singles], padding=4)
        attend = Pass(rows, runs, chunks)
        assert attend.place_T.tolist() == [place for _, start, end in order for place in range(start, end)]
        seen_THD = attend(layer, q_THD, k_TGD, v_TGD)
        wanted_THD = torch.cat([expected[row][start:end] for row, start, end in order])
        torch.testing.assert_close(seen_THD, wanted_THD, atol=1e-5, rtol=0)


LENGTHS = st.lists(st.tuples(st.integers(1, 3), st.integers(1, 500)), max_size=30)


@given(LENGTHS, st.integers(0, 600))
def test_runs_are_neighbours_and_waste_no_more_than_allowed(found: list[tuple[int, int]], padding: int) -> None:
    rows = [sum(gap for gap, _ in found[: i + 1]) for i in range(len(found))]
    lengths = [length for _, length in found]
    runs = runs_of(rows, lengths, padding=padding)
    assert [row for run in runs for row in range(run.row, run.row + len(run.lengths))] == rows
    assert [length for run in runs for length in run.lengths] == lengths
    assert [run.start for run in runs] == [sum(len(one.lengths) for one in runs[:i]) for i in range(len(runs))]

    def wasted(*lengths: int) -> int:
        return len(lengths) * max(lengths) - sum(lengths)

    assert all(wasted(*run.lengths) <= padding for run in runs)
    for one, other in pairwise(runs):
        apart = one.row + len(one.lengths) != other.row
        assert apart or wasted(*one.lengths, other.lengths[0]) > padding


def test_equal_rows_are_one_run() -> None:
    assert runs_of([0, 1, 2], [7, 7, 7], padding=0) == [RowRun(start=0, row=0, lengths=[7, 7, 7])]
    assert runs_of([], [], padding=0) == []


# Memory


def test_rows_are_copied_taken_and_put_back() -> None:
    rows = memory()
    _, k_TGD, v_TGD = heads(6, seed=1)
    for layer in range(2):
        spots = rows.spots(torch.full((6,), 3), torch.arange(6))
        rows.write(layer, spots, k_TGD + layer, v_TGD - layer)
    rows.copy(3, 1, 4)
    taken = rows.take(3, 6)
    rows.wipe(3)
    assert not rows.keys[0][3].any()
    rows.put(0, taken, 5)
    for layer in range(2):
        for row, count in ((1, 4), (0, 5)):
            assert torch.equal(rows.keys[layer][row, :, :count].transpose(0, 1), k_TGD[:count] + layer)
            assert torch.equal(rows.values[layer][row, :, :count].transpose(0, 1), v_TGD[:count] - layer)
            assert not rows.keys[layer][row, :, count:].any()


def test_rows_widen_up_to_the_context_and_no_further() -> None:
    rows = memory(context=700, rows=3)
    assert rows.width == 256
    _, k_TGD, v_TGD = heads(3, seed=1)
    rows.write(1, rows.spots(torch.arange(3), torch.full((3,), 255)), k_TGD, v_TGD)
    widths = []
    for places in (256, 257, 600, 700):
        rows.widen(places, 2)
        widths.append(rows.width)
    assert widths == [256, 512, 700, 700]
    assert torch.equal(rows.keys[1][:2, :, 255], k_TGD[:2])
    assert not rows.keys[1][2].any()
