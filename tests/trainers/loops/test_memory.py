"""Estimates of memory, held to what models, adapters, engines and saves take."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from crash.loops import POLICY, demonstrations, run
from palaestra.trainers.branching import GrpoBranchingConfig
from palaestra.trainers.engines.native import NativeConfig
from palaestra.trainers.engines.native.core import Core
from palaestra.trainers.engines.native.pages import PagedMemory, page_count
from palaestra.trainers.flow import flow_of
from palaestra.trainers.learner import Learner, LearnerConfig, LoraConfig
from palaestra.trainers.loops import GrpoConfig, SaveConfig, SftConfig, SftLoop, initial_policy
from palaestra.trainers.loops.memory import activation_bytes, cache_bytes, estimate_memory, trained_parameters
from palaestra.trainers.model.checkpoint import fresh
from palaestra.trainers.model.shape import DecoderShape
from palaestra.trainers.objectives import ObjectiveConfig
from palaestra.trainers.rollouts.budget import PlayConfig
from palaestra.trainers.rollouts.pool import PoolConfig
from palaestra.trainers.rollouts.staleness import Staleness

SHAPE = DecoderShape(vocabulary=500, hidden=64, layers=4, heads=4, kv_heads=2, head_dim=32, mlp=192, context=512)
TOKENS = 300
SINGLE = flow_of("fp32", invariant=False)


def attend(layer: int, q_THD: torch.Tensor, k_TGD: torch.Tensor, v_TGD: torch.Tensor) -> torch.Tensor:
    del layer
    q, k, v = (x.transpose(0, 1)[None] for x in (q_THD, k_TGD, v_TGD))
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)[0].transpose(0, 1)


def kept_bytes(config: LearnerConfig) -> float:
    """Bytes of a token that the way back needs, counted: storages that autograd keeps, weights left out."""
    model = Learner(fresh(SHAPE, seed=0), config)._working
    kept: list[torch.Tensor] = []

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        kept.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        model(torch.arange(TOKENS), torch.arange(TOKENS), attend)
    packed = [part for one in model.projections() for part in one.packed or ()]
    own = {weight.untyped_storage().data_ptr() for weight in [*model.parameters(), *packed]}
    sizes = {x.untyped_storage().data_ptr(): x.untyped_storage().nbytes() for x in kept}
    return sum(size for place, size in sizes.items() if place not in own) / TOKENS


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp8"])
def test_activations_are_what_autograd_keeps(precision: str) -> None:
    config = LearnerConfig(lr=1e-3, precision=precision)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert 1 <= kept_bytes(config) / activation_bytes(SHAPE, config) < 1.05


def test_checkpointing_keeps_the_states_between_blocks_and_one_block() -> None:
    config = LearnerConfig(lr=1e-3, checkpointing=True)
    between, number = kept_bytes(config), 4
    assert 1 <= between / (number * SHAPE.layers * SHAPE.hidden) < 1.3
    whole = activation_bytes(SHAPE, replace(config, checkpointing=False))
    assert activation_bytes(SHAPE, config) == number * SHAPE.layers * SHAPE.hidden + whole / SHAPE.layers


@pytest.mark.parametrize("lora", [None, LoraConfig(rank=3), LoraConfig(rank=2, targets=("q_proj", "down_proj"))])
def test_what_is_trained_is_counted_as_the_learner_has_it(lora: LoraConfig | None) -> None:
    learner = Learner(fresh(SHAPE, seed=0), LearnerConfig(lr=1e-3, lora=lora))
    assert trained_parameters(SHAPE, lora) == sum(weight.numel() for weight in learner._trained.values())


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("held", ["states", "fp8"])
def test_keys_and_values_take_what_the_engine_allocates(precision: Any, held: Any) -> None:
    flow = flow_of(precision, invariant=False, keys_and_values=held)
    memory = PagedMemory(
        SHAPE,
        tokens=200,
        sequences=3,
        places=16,
        dtype=flow.states,
        device=torch.device("cpu"),
        quantised=flow.rounds_keys_and_values,
    )
    assert memory.bytes == page_count(200, 3, 16) * 16 * cache_bytes(SHAPE, flow)


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp8", "fp8-block"])
def test_weights_of_the_engine_take_what_it_holds(precision: str) -> None:
    config = NativeConfig(precision=precision)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    core = Core(fresh(SHAPE, seed=0), config)
    assert sizes(GrpoConfig(engine=config))["weights of the engine"] == core.weight_bytes


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp8", "fp8-block"])
def test_in_the_invariant_mode_it_holds_no_more_than_that(precision: str) -> None:
    config = NativeConfig(precision=precision, invariant=True)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    learner = LearnerConfig(lr=1e-3, precision=precision, invariant=True)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    core = Core(fresh(replace(SHAPE, vocabulary=512), seed=0), config)  # a vocabulary that fills the kernels' panels
    estimate = {
        item.what: item.bytes for item in estimate_memory(GrpoConfig(engine=config, learner=learner), core._model.shape)
    }
    assert 0.9 * estimate["weights of the engine"] < core.weight_bytes <= estimate["weights of the engine"]


def sizes(config: SftConfig | GrpoConfig) -> dict[str, int]:
    return {item.what: item.bytes for item in estimate_memory(config, SHAPE)}


def test_the_parts_of_a_stage_follow_from_its_settings() -> None:
    weights = 4 * SHAPE.parameters
    plain = sizes(GrpoConfig(play=PlayConfig(context=300, turn=24), pool=PoolConfig(agents=10)))
    assert plain["weights"] == plain["gradients"] == plain["the policy at the start"] == weights
    assert plain["optimiser, two moments"] == 2 * weights
    assert plain["weights of the engine"] == weights
    assert plain["copy for a save"] == 3 * weights
    assert plain["keys and values, at most"] == 10 * (300 + 64) * cache_bytes(SHAPE, SINGLE)
    on_a_gpu = sizes(GrpoConfig(engine=NativeConfig(device="cuda", capacity=1024, rows=4)))
    assert on_a_gpu["keys and values, at most"] == (4 + 4 + 2) * 256 * cache_bytes(SHAPE, SINGLE)
    assert "reference policy" not in plain

    adapted = LearnerConfig(lr=1e-3, lora=LoraConfig(rank=2), precision="bf16")
    kl = ObjectiveConfig(preset="grpo_kl")
    lean = sizes(
        GrpoConfig(
            objective=kl, learner=adapted, save=SaveConfig(background=False), engine=NativeConfig(precision="bf16")
        )
    )
    assert lean["reference policy"] == weights // 2  # its weights are those that adapters adapt
    assert lean["weights of the engine"] == weights // 2
    assert "the policy at the start" not in lean
    assert "copy for a save" not in lean
    assert lean["gradients"] < weights / 20

    critic = sizes(GrpoConfig(objective=ObjectiveConfig(preset="ppo")))
    assert critic["critic, with gradients and moments"] == 4 * weights

    small = GrpoConfig(group_size=2, limits=Staleness(per_step=1), play=PlayConfig(context=300, turn=24))
    branching = GrpoBranchingConfig(pivots=("best", "naming"), continuations=3)
    of_branched, of_plain = sizes(replace(small, branching=branching)), sizes(small)
    activations = "activations of a micro-batch, at most"
    assert of_branched[activations] == of_plain[activations] * (2 + 2 * 3) // 2, "all fit into a micro-batch"


@pytest.mark.parametrize("lora", [None, LoraConfig(rank=4)])
def test_two_saves_take_the_disk_that_was_estimated(lora: LoraConfig | None, tmp_path: Path) -> None:
    seen = list(demonstrations())
    policy = initial_policy(POLICY, seen, seed=0)
    config = SftConfig(steps=2, batch=2, learner=LearnerConfig(lr=2e-3, lora=lora), save=SaveConfig(every=1))
    run(SftLoop(config, seen, seed=0, start=policy), tmp_path / "sft")
    found = sum(path.stat().st_size for path in (tmp_path / "sft").rglob("*.safetensors"))
    estimate = {item.what: item for item in estimate_memory(config, policy.model.shape)}["two saves"]
    assert estimate.where == "disk"
    assert 1 <= found / estimate.bytes < 1.1
