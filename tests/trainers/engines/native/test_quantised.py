"""The engine in FP8: weights are quantised once for each version, and held in no other form."""

import asyncio
from functools import cache
from typing import Any

import pytest
import torch

from decoders import tiny
from engines.plain import telling
from palaestra.errors import CheckpointError, ConfigError
from palaestra.trainers.device import Precision
from palaestra.trainers.engines.native import NativeConfig, NativeEngine
from palaestra.trainers.engines.native.core import Core
from palaestra.trainers.flow import BLOCK_FORMAT, ROW_FORMAT, OperandFormat
from palaestra.trainers.model.decoder import Decoder
from palaestra.trainers.products import packed_bytes
from unified import Played, draw_together, draw_turns

SHAPE = tiny(hidden=37, head_dim=16, mlp=51)
FORMATS: dict[Precision, OperandFormat] = {"fp8": ROW_FORMAT, "fp8-block": BLOCK_FORMAT}
FLOWS = pytest.mark.parametrize("precision", FORMATS)


@cache
def decoder(seed: int = 0) -> Decoder:
    return telling(SHAPE, seed=seed)


def config(precision: Precision, **changes: Any) -> NativeConfig:
    return NativeConfig(rows=8, capacity=4_000, precision=precision, **changes)


@FLOWS
@pytest.mark.parametrize("invariant", [False, True])
def test_new_weights_are_quantised_and_drawn_with(precision: Precision, invariant: bool) -> None:
    settings, new = config(precision, invariant=invariant), decoder(3)

    async def play() -> list[Played]:
        engine = NativeEngine(decoder(), settings)
        await engine.update_weights(dict(new.state_dict()), 1)
        assert engine.stats().update_seconds > 0
        drawn = await asyncio.gather(*(draw_turns(engine, number) for number in range(4)))
        await engine.close()
        return list(drawn)

    drawn = asyncio.run(play())
    assert drawn == list(draw_together(new, range(4), settings).values())
    assert drawn != list(draw_together(decoder(), range(4), settings).values())


@FLOWS
def test_weights_of_projections_are_held_in_e4m3_alone(precision: Precision) -> None:
    core = Core(decoder(), config(precision))
    rest = SHAPE.parameters - SHAPE.projection_parameters
    assert core.weight_bytes == packed_bytes(FORMATS[precision], SHAPE) + 2 * rest
    assert core.weight_bytes < Core(decoder(), config("bf16")).weight_bytes


@FLOWS
def test_they_are_quantised_from_the_numbers_that_come_in(precision: Precision) -> None:
    """A rounding to bfloat16 in between would move numbers that lie just beside the middle of two of E4M3."""
    model = telling(SHAPE, seed=0)
    own = next(model.projections())
    beside = 1 + 2**-4 + 2**-12  # the middle of 1 and 1.125 is 1.0625, to which bfloat16 would round it
    with torch.no_grad():
        own.weight.fill_(beside)
    first = next(Core(model, config(precision))._model.projections())
    assert first.packed is not None
    values, scale = first.packed
    assert bool((values.float() * scale.flatten()[0] == 1.125).all())


@FLOWS
def test_weights_that_do_not_fit_change_nothing(precision: Precision) -> None:
    core = Core(decoder(), config(precision))
    first = next(core._model.projections())
    assert first.packed is not None
    before = first.packed[0].float()
    with pytest.raises(CheckpointError, match=r"the old weights stay"):
        core.update({**decoder(3).state_dict(), "lm_head.bias": torch.zeros(1)}, 1, "keep")
    assert torch.equal(first.packed[0].float(), before)


def test_a_decoder_that_cuda_does_not_multiply_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is copied there: the device is asked for by name, and its products by the sizes."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_device_capability", {"cuda": (9, 0)}.__getitem__)
    with pytest.raises(ConfigError, match=r"hidden=37: CUDA's product of E4M3 takes sizes that are multiples of 16"):
        Core(decoder(), config("fp8", device="cuda"))
