"""The learner over weights in 4 bits: adapters learn, the weights beside them never change, and nobody rounds again."""

from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from decoders import in_transformers, tiny
from engines.plain import telling
from learning import sequences, weighed
from palaestra.errors import CheckpointError, ConfigError
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.engines.native import NativeConfig
from palaestra.trainers.learner import Learner, LearnerConfig, LoraConfig
from palaestra.trainers.model.decoder import Decoder
from palaestra.trainers.model.shape import DecoderShape, ExpertShape
from palaestra.trainers.nvfp4 import round_to_nvfp4
from palaestra.trainers.objectives import SupervisedObjective
from palaestra.trainers.products import Nvfp4Products, frozen_bytes
from unified import batch_of, draw_together

SHAPES = {
    "Qwen3": tiny(hidden=37, head_dim=16, mlp=51),
    "Qwen2.5": tiny(hidden=48, heads=3, kv_heads=1, head_dim=16, mlp=51, qk_norm=False, qkv_bias=True),
    "Qwen3-MoE": tiny(hidden=37, head_dim=16, mlp=20, experts=ExpertShape(count=4, chosen=2, normalised=True)),
}
SHAPE = SHAPES["Qwen3"]
PLAIN = LearnerConfig(lr=1e-2, weight_decay=0.0, precision="nvfp4", lora=LoraConfig(rank=4, alpha=8))
ENGINE = NativeConfig(rows=64, capacity=40_000, prefill=24, precision="nvfp4")


@cache
def decoder(shape: DecoderShape = SHAPE) -> Decoder:
    return telling(shape, seed=0)


def train(learner: Learner, steps: int = 6) -> list[float]:
    return [learner.step(SupervisedObjective().prepare(weighed(sequences())))["loss"] for _ in range(steps)]


def trained(config: LearnerConfig = PLAIN, shape: DecoderShape = SHAPE) -> Learner:
    learner = Learner(decoder(shape), config)
    train(learner)
    return learner


def mismatch(learner: Learner, batch: TokenBatch) -> Tensor:
    return (learner.logprobs(batch).logp - batch.logprob_T)[batch.trained_T].abs()


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_drawn_tokens_have_about_the_log_probabilities_that_they_were_drawn_with(shape: DecoderShape) -> None:
    """As near as with adapters worked into weights in bfloat16; without the adapters they are far off."""
    learner = trained(shape=shape)
    batch = batch_of(draw_together(decoder(shape).with_adapters(learner.rollout_weights()), range(24), ENGINE))
    unified = mismatch(learner, batch)
    half = trained(replace(PLAIN, precision="bf16"), shape)
    merged = deepcopy(decoder(shape))
    merged.load_state_dict(dict(half.weights()), strict=False)
    merged.tie()
    of_half = mismatch(half, batch_of(draw_together(merged, range(24), replace(ENGINE, precision="bf16"))))
    assert unified.mean() < 1.5 * of_half.mean()
    assert mismatch(Learner(decoder(shape), PLAIN), batch).mean() > 20 * unified.mean()


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_it_learns_and_leaves_the_decoder_that_was_given_as_it_was(shape: DecoderShape) -> None:
    model = telling(shape, seed=0)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    losses = train(Learner(model, PLAIN), 8)
    assert losses[-1] < 0.7 * losses[0]
    assert all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_the_whole_policy_is_the_rounded_weights_with_adapters_worked_in(shape: DecoderShape) -> None:
    """Nothing is rounded behind the adapters, so that their small updates are kept."""
    learner = trained(shape=shape)
    whole, update = learner.weights(), learner.rollout_weights()
    for name, weight in decoder(shape).named_parameters():
        base = name.removesuffix(".weight")
        if f"{base}.adapter.up" in update:
            added = update[f"{base}.adapter.up"] @ update[f"{base}.adapter.down"]
            assert float(added.abs().max()) > 0
            torch.testing.assert_close(whole[name], round_to_nvfp4(weight.detach()) + added, rtol=0, atol=1e-5)
        elif name != "lm_head.weight":
            assert torch.equal(whole[name], weight)
    merged = deepcopy(decoder(shape))
    merged.load_state_dict(dict(whole), strict=False)
    merged.tie()
    batch = weighed(sequences())
    found = Learner(merged, LearnerConfig(lr=1.0, precision="bf16")).logprobs(batch).logp
    assert float((found - learner.logprobs(batch).logp).abs().mean()) < 0.05


def test_adapters_that_learnt_little_would_be_lost_if_they_were_rounded() -> None:
    """Why an engine is given them apart: rounding what they were worked into takes most of a small update away."""
    learner = Learner(decoder(), replace(PLAIN, lr=1e-5))
    train(learner, 2)
    moved, lost = 0, 0
    for one, (name, weight) in zip(decoder().projections(), _projections(learner), strict=True):
        del name
        base = round_to_nvfp4(one.weight.detach())
        moved += int((weight != base).sum())
        lost += int(((weight != base) & (round_to_nvfp4(weight) == base)).sum())
    assert moved > 1000
    assert lost > 0.95 * moved


def _projections(learner: Learner) -> list[tuple[str, Tensor]]:
    names = {f"{name}.weight" for name, one in decoder().named_modules() if one in set(decoder().projections())}
    return [(name, weight) for name, weight in learner.weights().items() if name in names]


def test_an_update_is_gains_and_adapters_alone() -> None:
    update = trained().rollout_weights()
    assert all("norm.weight" in name or ".adapter." in name for name in update)
    rank, shape = 4, SHAPE
    adapters = sum(rank * (rows + columns) for rows, columns in shape.projections) * shape.layers
    assert sum(weight.numel() for name, weight in update.items() if ".adapter." in name) == adapters


def test_weights_of_projections_are_held_in_4_bits_alone_and_shared_with_the_model() -> None:
    model = deepcopy(decoder())
    model.freeze(Nvfp4Products())
    learner = Learner(model, PLAIN)
    held = [part.data_ptr() for one in model.projections() for part in one.packed or ()]
    for decoder_ in (learner._model, learner._working):
        assert [part.data_ptr() for one in decoder_.projections() for part in one.packed or ()] == held
        assert all(one.weight.is_meta for one in decoder_.projections())
    step = learner.step(SupervisedObjective().prepare(weighed(sequences())))
    assert step["memory/learner_quantised"] == frozen_bytes(SHAPE)
    assert "speed/learner_quantise_ms" not in step


def test_a_frozen_model_and_one_that_is_not_come_to_the_same() -> None:
    frozen = deepcopy(decoder())
    frozen.freeze(Nvfp4Products())
    one, other = Learner(frozen, PLAIN), Learner(decoder(), PLAIN)
    assert train(one, 3) == train(other, 3)
    assert all(torch.equal(weight, other.weights()[name]) for name, weight in one.weights().items())


def test_adapters_begin_as_beside_weights_that_are_not_frozen() -> None:
    config = replace(PLAIN, precision="bf16")
    one, other = (Learner(decoder(), each).state()["weights"] for each in (PLAIN, config))
    assert one.keys() == other.keys()
    assert all(one[name].shape == other[name].shape for name in one)
    assert all(not weight.any() for name, weight in one.items() if ".lora_B." in name)
    again = Learner(decoder(), PLAIN).state()["weights"]
    assert all(torch.equal(weight, again[name]) for name, weight in one.items())


def test_a_learner_goes_on_from_its_state() -> None:
    first, second = trained(), Learner(decoder(), PLAIN)
    second.restore(first.state())
    assert train(first, 2) == train(second, 2)


@pytest.mark.parametrize(
    "changes",
    [{"checkpointing": True}, {"micro_tokens": 60}, {"layout": "shared"}],
    ids=["checkpoints", "micro", "shared"],
)
def test_how_a_batch_is_put_through_changes_little(changes: dict[str, Any]) -> None:
    one, other = (
        Learner(decoder(), replace(PLAIN, **more)).step(SupervisedObjective().prepare(weighed(sequences())), lr=0.0)
        for more in ({}, changes)
    )
    assert one["loss"] == pytest.approx(other["loss"], rel=2e-2)
    assert one["gradient_norm"] == pytest.approx(other["gradient_norm"], rel=0.1)


def test_keys_and_values_in_e4m3_go_with_it() -> None:
    config = replace(PLAIN, keys_and_values="fp8")
    learner = Learner(decoder(), config)
    train(learner, 3)
    drawn = decoder().with_adapters(learner.rollout_weights())
    batch = batch_of(draw_together(drawn, range(24), replace(ENGINE, keys_and_values="fp8")))
    restored = Learner(decoder(), replace(config, keys_and_values="states"))
    restored.restore(learner.state())
    assert mismatch(learner, batch).mean() < mismatch(restored, batch).mean() / 2


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")  # peft asks transformers
def test_peft_reads_what_is_saved_over_the_rounded_weights(tmp_path: Path) -> None:
    from peft import PeftModel

    learner = trained()
    assert learner.adapters is not None
    learner.adapters.save(tmp_path / "adapters", learner.state()["weights"])
    base = deepcopy(decoder())
    base.freeze(Nvfp4Products())
    adapted = PeftModel.from_pretrained(in_transformers(base.unfrozen(), tmp_path / "base"), tmp_path / "adapters")
    merged = deepcopy(decoder())
    merged.load_state_dict(dict(learner.weights()), strict=False)
    merged.tie()
    ids = torch.tensor([sequences()[-1].ids])
    with torch.no_grad():
        expected = in_transformers(merged, tmp_path / "merged")(input_ids=ids).logits
        assert torch.allclose(adapted(input_ids=ids).logits, expected, atol=1e-4)


# What may not happen


def test_what_cannot_be_had_is_refused_with_the_way_out() -> None:
    with pytest.raises(ValueError, match=r"precision='nvfp4': .* too coarse to be trained, .* give a section lora"):
        LearnerConfig(lr=1e-3, precision="nvfp4")
    with pytest.raises(ValueError, match="invariant=True, lora"):
        replace(PLAIN, invariant=True)
    with pytest.raises(ConfigError, match=r"flow 'nvfp4 free': .* train in one process"):
        Learner(decoder(), PLAIN, mesh=object())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_the_state_of_a_learner_of_all_weights_is_refused() -> None:
    with pytest.raises(CheckpointError, match="not trained here"):
        Learner(decoder(), PLAIN).restore(Learner(deepcopy(decoder()), LearnerConfig(lr=1e-3)).state())
