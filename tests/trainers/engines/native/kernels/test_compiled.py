"""The kernels against torch, which is what they are in place of, and against themselves with other threads."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from decoders import causal, tiny
from palaestra.trainers.engines.native.attention import SequenceSpan
from palaestra.trainers.engines.native.draw import draw
from palaestra.trainers.engines.native.kernels import BLOCK_PLACES, HEAD_DIMS, CompiledPass, Kernels, kernels
from palaestra.trainers.engines.native.pages import PagedMemory
from palaestra.trainers.model.decoder import Rotary, rotate

DTYPES = [torch.float32, torch.bfloat16]
ROUNDING = {torch.float32: 2e-6, torch.bfloat16: 0.02}
"""Relative to numbers about 1: a few units in the last place."""


@pytest.fixture(scope="module")
def compiled() -> Kernels:
    found = kernels()
    assert found is not None, "these tests need a C++ compiler"
    return found


@pytest.fixture
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def normal(*shape: int, seed: int, dtype: torch.dtype) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def close(found: Tensor, wanted: Tensor) -> None:
    within = ROUNDING[found.dtype]
    torch.testing.assert_close(found.float(), wanted.float(), atol=within, rtol=within)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [1, 7, 64, 250])
def test_norms_are_those_of_torch(compiled: Kernels, dtype: torch.dtype, width: int) -> None:
    x_TC, weight_C = normal(9, width, seed=0, dtype=dtype), normal(width, seed=1, dtype=dtype)
    close(compiled.norm(x_TC, weight_C, 1e-6), functional.rms_norm(x_TC.float(), (width,), weight_C.float(), 1e-6))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [2, 14, 512])
def test_gates_are_those_of_torch(compiled: Kernels, dtype: torch.dtype, width: int) -> None:
    x_TN = normal(5, width, seed=0, dtype=dtype) * 4
    gate_TN, up_TN = x_TN.float().chunk(2, -1)
    close(compiled.gate(x_TN), functional.silu(gate_TN) * up_TN)


def test_a_gate_that_is_far_from_zero_overflows_nowhere(compiled: Kernels) -> None:
    gated_TN = compiled.gate(torch.tensor([[-1e4, 1e4, -200.0, 1.0, 1.0, 1.0]]))
    torch.testing.assert_close(gated_TN, torch.tensor([[0.0, 1e4, 0.0]]), atol=1e-30, rtol=0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("norms", [False, True])
def test_heads_are_normed_and_turned_and_the_others_left_alone(
    compiled: Kernels, dtype: torch.dtype, norms: bool
) -> None:
    x_THD, norm_HD = normal(6, 5, 12, seed=0, dtype=dtype), normal(4, 12, seed=1, dtype=dtype)
    rotation = Rotary(tiny(head_dim=12))(torch.arange(6) * 7, torch.float32)
    wanted_THD = x_THD.float()
    if norms:
        wanted_THD[:, :4] = functional.rms_norm(wanted_THD[:, :4], (12,), None, 1e-6) * norm_HD.float()
    wanted_THD[:, :4] = rotate(wanted_THD[:, :4], rotation)
    cos_T1D, sin_T1D = (angle.to(dtype) for angle in rotation)
    compiled.turn(x_THD, cos_T1D, sin_T1D, heads=4, norm_HD=norm_HD if norms else None, epsilon=1e-6)
    close(x_THD, wanted_THD)


def memory(head_dim: int, *, dtype: torch.dtype = torch.float32) -> PagedMemory:
    shape = tiny(layers=2, heads=6, kv_heads=2, head_dim=head_dim, context=300)
    return PagedMemory(shape, tokens=900, sequences=2, places=BLOCK_PLACES, dtype=dtype, device=torch.device("cpu"))


def span(pages: PagedMemory, count: int) -> SequenceSpan:
    """All of a sequence, on pages that do not stand side by side."""
    own: list[int] = []
    pages.extend(own, count)
    return SequenceSpan(pages=own[::-1], place=0, count=count)


def sequence(
    length: int, head_dim: int, *, seed: int, dtype: torch.dtype = torch.float32
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values as a projection gives them: parts of one tensor."""
    q_THD, k_TGD, v_TGD = normal(length, 10, head_dim, seed=seed, dtype=dtype).split((6, 2, 2), 1)
    return q_THD, k_TGD, v_TGD


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("head_dim", HEAD_DIMS)
def test_each_token_sees_its_own_row_up_to_itself(compiled: Kernels, dtype: torch.dtype, head_dim: int) -> None:
    """Two sequences beside each other, in passes of one token and of many, against each by itself."""
    pages, layer = memory(head_dim, dtype=dtype), 1
    lengths = {3: 131, 0: 70}
    whole = {row: sequence(length, head_dim, seed=row, dtype=dtype) for row, length in lengths.items()}
    wanted = {row: causal(layer, *(part.float() for part in parts)) for row, parts in whole.items()}
    own: dict[int, list[int]] = {row: [] for row in lengths}
    for spans in [{3: (0, 1), 0: (0, 66)}, {3: (1, 130), 0: (66, 67)}, {3: (130, 131), 0: (67, 70)}]:
        for row, (_, end) in spans.items():
            pages.extend(own[row], end)
        qkv_TND = torch.cat(
            [torch.cat([part[start:end] for part in whole[row]], 1) for row, (start, end) in spans.items()]
        )
        parts = [SequenceSpan(pages=own[row], place=start, count=end - start) for row, (start, end) in spans.items()]
        attend = CompiledPass(compiled, pages, parts)
        seen_THD = attend(layer, *qkv_TND.split((6, 2, 2), 1))
        close(seen_THD, torch.cat([wanted[row][start:end] for row, (start, end) in spans.items()]))
    assert not pages.layers[0].any()


def test_scores_of_any_size_are_weighed_against_the_greatest(compiled: Kernels) -> None:
    q_THD, k_TGD, v_TGD = (part.clone() for part in sequence(200, 16, seed=0))
    parts = torch.cat((q_THD * 40, k_TGD * 40, v_TGD), 1).split((6, 2, 2), 1)
    pages = memory(16)
    attend = CompiledPass(compiled, pages, [span(pages, 200)])
    torch.testing.assert_close(attend(0, *parts), causal(0, *parts), atol=1e-3, rtol=0)


def test_what_is_no_number_stays_none_and_passes_to_nobody_else(compiled: Kernels) -> None:
    parts = torch.cat(sequence(90, 16, seed=0), 1)
    parts[40, 6] = torch.nan  # a key of the first head
    pages = memory(16)
    attend = CompiledPass(compiled, pages, [span(pages, 90)])
    seen_THD = attend(0, *parts.split((6, 2, 2), 1))
    assert seen_THD[40:, :3].isnan().all()
    assert seen_THD[:40].isfinite().all()
    assert seen_THD[:, 3:].isfinite().all()
    x_TC = torch.tensor([[1.0, torch.nan], [1.0, 2.0]])
    assert compiled.norm(x_TC, torch.ones(2), 0.0).isnan().any(1).tolist() == [True, False]
    assert compiled.gate(x_TC).isnan().flatten().tolist() == [True, False]


def test_every_result_is_the_same_with_any_number_of_threads(compiled: Kernels, threads: None) -> None:
    def results() -> list[Tensor]:
        parts = sequence(70, 32, seed=0)
        x_TC = normal(33, 64, seed=1, dtype=torch.float32)
        pages = memory(32)
        attend = CompiledPass(compiled, pages, [span(pages, 70)])
        noise_B = torch.rand(33, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
        return [
            attend(0, *parts),
            compiled.norm(x_TC, torch.ones(64), 1e-6),
            compiled.gate(x_TC),
            compiled.draw(x_TC, noise_B, None),
        ]

    torch.set_num_threads(1)
    alone = results()
    for count in (2, 3):
        torch.set_num_threads(count)
        assert all(torch.equal(one, other) for one, other in zip(alone, results(), strict=True))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("vocabulary", [1, 5, 256, 257, 2000])
@pytest.mark.parametrize("temperature", [None, 0.3, 2.0])
def test_tokens_are_those_that_torch_draws(
    compiled: Kernels, dtype: torch.dtype, vocabulary: int, temperature: float | None
) -> None:
    logits_BV = normal(400, vocabulary, seed=0, dtype=dtype) * 3
    noise_B = torch.rand(400, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    temperature_B = None if temperature is None else torch.full((400,), temperature, dtype=torch.float64)
    wanted_2B = draw(logits_BV, noise_B, temperature_B=temperature_B, top_p_B=None)
    found_2B = draw(logits_BV, noise_B, temperature_B=temperature_B, top_p_B=None, kernels=compiled)
    same_B = found_2B[0] == wanted_2B[0]
    assert same_B.float().mean() >= 0.995  # noise within rounding of a border may fall to either side
    torch.testing.assert_close(found_2B[1, same_B], wanted_2B[1, same_B], atol=2e-5, rtol=0)


def test_a_token_without_probability_is_never_drawn(compiled: Kernels) -> None:
    logits_BV = torch.full((3, 600), -torch.inf)
    logits_BV[:, 300] = 0.0
    noise_B = torch.tensor([0.0, 0.5, 1 - 2.0**-24], dtype=torch.float64)
    assert compiled.draw(logits_BV, noise_B, None).tolist() == [[300.0] * 3, [0.0] * 3]


@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_a_draw_from_logits_that_are_no_numbers_has_no_probability(compiled: Kernels, bad: float) -> None:
    logits_BV = torch.zeros(2, 300)
    logits_BV[1, 7] = bad
    ids, logprobs = compiled.draw(logits_BV, torch.tensor([0.5, 0.5], dtype=torch.float64), None).tolist()
    assert 0 <= ids[1] < 300
    assert logprobs[0] == pytest.approx(-torch.tensor(300.0).log().item())
    assert torch.tensor(logprobs[1]).isnan()
