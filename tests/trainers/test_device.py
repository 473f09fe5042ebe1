"""Names of devices are resolved as torch has them here, or refused with the way out."""

from typing import Any

import pytest
import torch

from palaestra.errors import ConfigError
from palaestra.trainers.device import resolve_device, resolve_precision
from palaestra.trainers.engines.native import NativeConfig, NativeEngine
from palaestra.trainers.learner import Learner, LearnerConfig
from palaestra.trainers.loops import read_config
from palaestra.trainers.loops.placement import place, placements
from palaestra.trainers.model.checkpoint import fresh
from palaestra.trainers.model.shape import DecoderShape

COUNT = torch.cuda.device_count() if torch.cuda.is_available() else 0
SHAPE = DecoderShape(vocabulary=50, hidden=32, layers=1, heads=1, kv_heads=1, head_dim=32, mlp=64, context=64)


def test_auto_is_cuda_where_there_is_one() -> None:
    assert resolve_device("auto") == ("cuda" if COUNT else "cpu")


@pytest.mark.parametrize("name", ["gpu", "", "cuda:x"])
def test_a_device_that_torch_does_not_know_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=r'torch knows no such device; write grpo.learner.device = "auto"'):
        resolve_device(name, setting="grpo.learner.device")


def test_a_device_that_is_not_there_is_refused() -> None:
    with pytest.raises(ConfigError, match=rf"device='cuda:{COUNT}': torch .* finds .* here; write device = \"auto\""):
        resolve_device(f"cuda:{COUNT}")


def test_learner_and_engine_take_auto() -> None:
    model = fresh(SHAPE, seed=0)
    there = "cuda" if COUNT else "cpu"
    Learner(model, LearnerConfig(lr=1e-3, device="auto"))
    assert model.lm_head.weight.device.type == there
    assert NativeEngine(model, NativeConfig(device="auto", capacity=64))._core._device.type == there


def test_the_run_s_device_is_every_part_s_that_has_none_of_its_own() -> None:
    table = {"device": "meta", "sft": {}, "grpo": {"objective": {"preset": "ppo"}, "engine": {"device": "cpu"}}}
    found = {one.part: one for one in placements(place(read_config(table)))}
    assert {part: one.device for part, one in found.items()} == {
        "sft learner": "meta",
        "grpo learner": "meta",
        "critic": "meta",
        "engine": "cpu",
    }
    assert "layout shared" in found["grpo learner"].detail
    assert "layout packed" in found["sft learner"].detail


def test_a_critic_is_where_its_policy_is() -> None:
    config = place(read_config({"device": "cpu", "grpo": {"learner": {"device": "meta"}}}))
    assert config.grpo is not None
    assert config.grpo.critic.learner.device == "meta"
    assert config.grpo.engine.device == "cpu"


@pytest.mark.parametrize("section", ["sft.learner", "grpo.learner", "grpo.critic.learner", "grpo.engine"])
def test_the_setting_whose_device_is_missing_is_named(section: str) -> None:
    table: dict[str, Any] = {"sft": {}, "grpo": {}}
    inner = table
    for part in section.split("."):
        inner = inner.setdefault(part, {})
    inner["device"] = f"cuda:{COUNT}"
    with pytest.raises(ConfigError, match=rf"{section}.device='cuda:{COUNT}'"):
        place(read_config(table))


@pytest.mark.parametrize(
    ("capabilities", "precision"),
    [
        ({}, "fp32"),
        ({"avx512_f": True, "avx512_bf16": False}, "fp32"),
        ({"avx512_bf16": True}, "bf16"),
        ({"amx_bf16": True}, "bf16"),
    ],
)
def test_auto_is_half_precision_where_the_processor_multiplies_in_it(
    capabilities: dict[str, bool], precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
    assert resolve_precision("auto", "cpu") == precision
    assert resolve_precision("bf16", "cpu") == "bf16"  # what is asked for by name is done, however slowly
    assert resolve_precision("fp32", "cpu") == "fp32"
    settings = {
        "grpo": {"learner": {"precision": "auto", "lr": 1e-3}, "engine": {"precision": "auto"}},
        "device": "cpu",
    }
    placed = placements(place(read_config(settings)))
    assert [one.precision for one in placed if one.part != "critic"] == [precision] * 2
    learner = Learner(fresh(SHAPE, seed=0), LearnerConfig(lr=1e-3, precision="auto"))
    assert learner._working.lm_head.weight.dtype == (torch.bfloat16 if precision == "bf16" else torch.float32)


@pytest.mark.parametrize("capability", [(8, 0), (8, 9)])
def test_fp8_needs_a_gpu_that_multiplies_it(capability: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"cuda": capability}
    monkeypatch.setattr(torch.cuda, "get_device_capability", found.__getitem__)
    with pytest.raises(ConfigError, match=rf"this device of compute capability {capability[0]}.{capability[1]}; write"):
        resolve_precision("fp8", "cuda")
    assert resolve_precision("fp8-block", "cuda") == "fp8-block"  # multiplied in bfloat16
    found["cuda"] = (9, 0)
    assert resolve_precision("fp8", "cuda") == "fp8"


def test_fp8_is_of_processors_and_cuda_alone() -> None:
    assert resolve_precision("fp8", "cpu") == "fp8"
    with pytest.raises(ConfigError, match=r"precision='fp8', device='meta': .* not on this device; write"):
        resolve_precision("fp8", "meta")


def test_auto_is_single_precision_on_a_device_that_is_none() -> None:
    assert resolve_precision("auto", "meta") == "fp32"
