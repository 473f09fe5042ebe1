"""The engine with weights in 4 bits: new weights are adapters, and the frozen ones are never replaced."""

import asyncio
from dataclasses import replace
from functools import cache

import pytest
import torch
from torch import Tensor

from decoders import tiny
from engines.plain import telling
from palaestra.errors import CheckpointError
from palaestra.trainers.engines.native import NativeConfig, NativeEngine
from palaestra.trainers.engines.native.core import Core
from palaestra.trainers.loops.weight_noise import WeightNoise, WeightNoiseConfig
from palaestra.trainers.model.decoder import Decoder
from palaestra.trainers.products import Nvfp4Products, frozen_bytes
from unified import Played, draw_together, draw_turns

SHAPE = tiny(hidden=37, head_dim=16, mlp=51)
CONFIG = NativeConfig(rows=8, capacity=4_000, precision="nvfp4")
RANK = 3


@cache
def decoder() -> Decoder:
    return telling(SHAPE, seed=0)


def update(seed: int) -> dict[str, Tensor]:
    """Adapters of two products of each block, and gains."""
    generator = torch.Generator().manual_seed(seed)
    weights = {name: one.detach() for name, one in decoder().named_parameters() if one.dim() == 1}
    for name, one in decoder().named_parameters():
        base = name.removesuffix(".weight")
        if base.endswith(("q_proj", "down_proj")):
            rows, columns = one.shape
            weights[f"{base}.adapter.down"] = torch.randn(RANK, columns, generator=generator)
            weights[f"{base}.adapter.up"] = 0.1 * torch.randn(rows, RANK, generator=generator)
    return weights


def draw_after(*updates: dict[str, Tensor]) -> list[Played]:
    """With an engine that had the first of these from the beginning, and was given the others one after the other."""

    async def play() -> list[Played]:
        engine = NativeEngine(decoder().with_adapters(updates[0]), CONFIG)
        for version, weights in enumerate(updates[1:], 1):
            await engine.update_weights(weights, version)
        drawn = await asyncio.gather(*(draw_turns(engine, number) for number in range(4)))
        await engine.close()
        return list(drawn)

    return asyncio.run(play())


def test_new_adapters_are_drawn_with() -> None:
    one, other = update(0), update(1)
    assert draw_after(one, other) == draw_after(other)
    assert draw_after(one) != draw_after(other)
    assert draw_after(one, other, one) == draw_after(one), "and nothing is left of those before"


def test_it_draws_what_the_rounded_weights_with_adapters_worked_in_say() -> None:
    """Up to what bfloat16 rounds otherwise: the log-probabilities of the same tokens, in an engine of whole weights."""
    weights = update(0)
    merged = decoder().share()
    merged.freeze(Nvfp4Products())
    merged = merged.unfrozen()
    with torch.no_grad():
        for name, one in merged.named_parameters():
            base = name.removesuffix(".weight")
            if f"{base}.adapter.up" in weights:
                one.add_(weights[f"{base}.adapter.up"] @ weights[f"{base}.adapter.down"])
    whole = draw_together(merged, range(4), replace(CONFIG, precision="fp32"))
    for played, expected in zip(draw_after(weights), whole.values(), strict=True):
        same = next((i for i, (a, b) in enumerate(zip(played.ids, expected.ids, strict=True)) if a != b), None)
        end = len(played.ids) if same is None else same
        found = [abs(a - b) for a, b in zip(played.logprobs[:end], expected.logprobs[:end], strict=True)]
        assert max(found, default=0.0) < 0.4


def test_weights_of_projections_are_held_in_4_bits_alone_and_shared_on_one_device() -> None:
    model = decoder().share()
    model.freeze(Nvfp4Products())
    core = Core(model.with_adapters(update(0)), CONFIG)
    adapters = sum(one.numel() for name, one in update(0).items() if ".adapter." in name)
    rest = SHAPE.parameters - SHAPE.projection_parameters
    assert core.weight_bytes == frozen_bytes(SHAPE) + 2 * (rest + adapters)
    for one, other in zip(core._model.projections(), model.projections(), strict=True):
        assert one.packed is not None
        assert other.packed is not None
        assert [part.data_ptr() for part in one.packed] == [part.data_ptr() for part in other.packed]


def test_an_engine_that_is_closed_leaves_the_shared_weights_alone() -> None:
    model = decoder().share()
    model.freeze(Nvfp4Products())
    before = next(model.projections()).whole_weight()
    Core(model, CONFIG).free()
    assert torch.equal(next(model.projections()).whole_weight(), before)


def test_it_draws_without_adapters() -> None:
    frozen = decoder().share()
    frozen.freeze(Nvfp4Products())
    assert draw_together(decoder(), range(4), CONFIG) == draw_together(frozen, range(4), CONFIG)


def test_what_does_not_fit_is_refused_and_changes_nothing() -> None:
    core = Core(decoder().with_adapters(update(0)), CONFIG)
    gain, q_proj = "model.norm.weight", "model.layers.0.self_attn.q_proj"
    before = core._model.state_dict()[f"{q_proj}.adapter.up"].clone()
    new = update(1)
    refused = {
        "q_proj.weight is frozen": {**new, f"{q_proj}.weight": decoder().state_dict()[f"{q_proj}.weight"]},
        "q_proj.adapter.up is missing": {name: one for name, one in new.items() if name != f"{q_proj}.adapter.up"},
        "model.norm.weight is missing": {name: one for name, one in new.items() if name != gain},
        "k_proj.adapter.up is unknown": {**new, "model.layers.0.self_attn.k_proj.adapter.up": before},
        "should be": {**new, f"{q_proj}.adapter.down": torch.zeros(RANK + 1, 37)},
    }
    for says, weights in refused.items():
        with pytest.raises(CheckpointError, match=says):
            core.update(weights, 1, "keep")
        assert torch.equal(core._model.state_dict()[f"{q_proj}.adapter.up"], before)
    core.update(new, 1, "keep")
    assert not torch.equal(core._model.state_dict()[f"{q_proj}.adapter.up"], before)


def test_noise_on_the_gains_goes_with_it_and_does_not_add_up() -> None:
    noise = WeightNoise(WeightNoiseConfig(start=0.5, end=0.1, levels=3, hold=1), "stage", 0)
    weights = update(0)
    once, twice = noise.add(weights, 2), noise.add(noise.add(weights, 1), 2)
    assert draw_after(weights, dict(noise.add(weights, 1)), dict(once)) == draw_after(weights, dict(once))
    assert draw_after(weights, dict(once)) != draw_after(weights)
    assert draw_after(weights, dict(once)) != draw_after(weights, dict(twice))


def test_the_invariant_mode_is_refused() -> None:
    with pytest.raises(ValueError, match=r"precision='nvfp4', invariant=True: .* write precision = .bf16."):
        NativeConfig(precision="nvfp4", invariant=True)
