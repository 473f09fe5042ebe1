"""The mismatch of engine and learner by flow, measured small: equal where it must be, and reported where it is not."""

from collections.abc import Sequence

import pytest

from palaestra.benchmarks.mismatch import (
    FLOW_PAIRS,
    MismatchFigures,
    MismatchScale,
    find_flow_pairs,
    measure_mismatch,
    mismatch_markdown,
    mismatch_tables,
)
from palaestra.benchmarks.mismatch.flows import WITH_ADAPTERS
from palaestra.errors import UnknownNameError
from palaestra.trainers.learner import LoraConfig
from palaestra.trainers.model.shape import DecoderShape
from palaestra.trainers.products import frozen_bytes

SHAPE = DecoderShape(vocabulary=64, hidden=32, layers=2, heads=2, kv_heads=1, head_dim=16, mlp=48, context=96)
SCALE = MismatchScale(tokens=120, rounds=2, shape=SHAPE, group_size=4, prompt=20, turn=8, turns=2, answer=4, rows=8)


@pytest.fixture(scope="module")
def figures() -> Sequence[MismatchFigures]:
    return measure_mismatch(FLOW_PAIRS, SCALE)


def test_a_unified_invariant_flow_has_no_mismatch_and_lower_rollouts_have(figures: Sequence[MismatchFigures]) -> None:
    for one in figures:
        assert one.tokens >= SCALE.tokens
        if one.pair.is_unified and one.pair.invariant:
            assert (one.mismatch["mismatch/max"], one.mismatch["mismatch/zero_share"]) == (0.0, 1.0)
        if not one.pair.is_unified:
            assert one.mismatch["mismatch/mean"] > 1e-4
            assert one.mismatch["mismatch/kl"] > 0


def test_a_pair_says_what_its_flows_are() -> None:
    pairs = {pair.name: pair for pair in FLOW_PAIRS}
    engine, learner = pairs["fp8-block rollouts, bf16 training, invariant"].flows
    assert (engine.name, learner.name) == ("fp8-block invariant", "bf16 invariant")
    assert engine.fixed_order
    assert engine.operands is not None
    assert learner.operands is None
    engine, learner = pairs["bf16 + fp8 KV rollouts, bf16 training, free"].flows
    assert (engine.name, learner.name) == ("bf16 free, fp8 keys and values", "bf16 free")
    assert engine.rounds_keys_and_values
    assert not learner.rounds_keys_and_values


def test_flows_are_found_by_name_once_each_and_another_name_is_refused() -> None:
    wanted = ("bf16 unified, invariant", "fp32 unified, invariant", "bf16 unified, invariant")
    assert [pair.name for pair in find_flow_pairs(wanted)] == ["fp32 unified, invariant", "bf16 unified, invariant"]
    assert find_flow_pairs(()) == FLOW_PAIRS
    with pytest.raises(UnknownNameError, match=r"unknown flow 'fp32 unified'; did you mean 'fp32 unified, free'"):
        find_flow_pairs(["bf16 unified, free", "fp32 unified"])


def test_a_price_is_the_median_of_its_rounds_against_the_free_flow() -> None:
    free, own = (MismatchFigures(pair=pair) for pair in FLOW_PAIRS[:2])
    free.draw_seconds, own.draw_seconds = [1.0, 2.0, 4.0], [2.0, 3.0, 20.0]
    free.step_seconds, own.step_seconds = [1.0], [1.5]
    assert (own.draw_price(free), own.step_price(free)) == (2.0, 1.5)


def test_tables_have_a_row_for_each_flow_and_a_price_for_each_unified_one(figures: Sequence[MismatchFigures]) -> None:
    mismatch, prices, held, adapters = mismatch_tables(figures)
    assert [row[0] for row in mismatch.rows] == [pair.name for pair in FLOW_PAIRS]
    assert [row[0] for row in prices.rows] == [
        f"{one} unified, invariant"
        for one in ("fp32", "bf16", "fp8", "fp8-block", "fp32 + fp8 KV", "bf16 + fp8 KV", "fp8 + fp8 KV")
    ]
    byte = SHAPE.head_dim + 1
    assert [row[:2] for row in held.rows] == [
        (f"{one} + fp8 KV unified, {sums}", f"{byte / (number * SHAPE.head_dim):.3f}")
        for one, number in (("fp32", 4), ("bf16", 2), ("fp8", 2))
        for sums in ("free", "invariant")
    ]
    assert [row[0] for row in adapters.rows] == [f"{one} + adapters unified, free" for one in WITH_ADAPTERS]
    assert "| fp32 unified, invariant | 128 | 0 | 0 | 100.0% | 0 |" in mismatch_markdown(figures)


def test_weights_in_4_bits_are_fewer_bytes_and_so_are_their_updates(figures: Sequence[MismatchFigures]) -> None:
    half, frozen = (one for one in figures if one.pair.training.adapters)
    rest, rank = SHAPE.parameters - SHAPE.projection_parameters, LoraConfig().rank
    adapters = rank * SHAPE.layers * sum(rows + columns for rows, columns in SHAPE.projections)
    assert frozen.weight_bytes == frozen_bytes(SHAPE) + 2 * (rest + adapters)
    assert half.weight_bytes == 2 * SHAPE.parameters
    gains = SHAPE.hidden + SHAPE.layers * (2 * SHAPE.hidden + 2 * SHAPE.head_dim)
    assert (frozen.update_bytes, half.update_bytes) == (4 * (adapters + gains), 4 * SHAPE.parameters)
    assert 0 < frozen.mismatch["mismatch/mean"] < 2 * half.mismatch["mismatch/mean"]
