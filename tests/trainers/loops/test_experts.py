"""Stages of a decoder with experts, in every format and with several engines: engine and learner are one policy."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crash.loops import SYNC, figures, grpo_loop, run, sft_loop
from palaestra.trainers.engines.native import NativeConfig
from palaestra.trainers.engines.replicas import ReplicasConfig
from palaestra.trainers.learner import LearnerConfig, LoraConfig
from palaestra.trainers.loops.rollout_config import GrpoConfig
from palaestra.trainers.model.checkpoint import fresh
from palaestra.trainers.model.shape import ExpertShape
from palaestra.trainers.objectives import ObjectiveConfig
from palaestra.trainers.policy import Policy, load_policy

EXPERTS = ExpertShape(count=4, chosen=2, normalised=True)
FLIPPED = ObjectiveConfig(parts={"rewards": [{"part": "flipped", "share": 0.4}]})
"""Of a policy with new weights nothing is solved, and verdicts that are flipped give its groups unequal returns."""


def config(*, lora: LoraConfig | None = None, replicas: ReplicasConfig | None = None, **formats: Any) -> GrpoConfig:
    return replace(
        SYNC,
        steps=2,
        objective=FLIPPED,
        engine=NativeConfig(**formats),
        learner=LearnerConfig(lr=2e-3, lora=lora, **formats),
        replicas=replicas,
    )


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    start = run(sft_loop(steps=1), tmp_path_factory.mktemp("sft")).policy
    return replace(start, model=fresh(replace(start.model.shape, experts=EXPERTS), seed=0).eval())


@pytest.mark.parametrize(
    ("changes", "most"),
    [
        ({}, 1e-4),
        ({"invariant": True}, 0.0),
        ({"precision": "bf16", "invariant": True}, 0.0),
        ({"precision": "fp8", "keys_and_values": "fp8", "invariant": True}, 0.0),
        ({"precision": "bf16", "keys_and_values": "fp8"}, 0.5),
        ({"precision": "nvfp4", "lora": LoraConfig(rank=2)}, 0.5),
        ({"replicas": ReplicasConfig(count=2)}, 1e-4),
    ],
    ids=["fp32", "invariant", "bf16 invariant", "all fp8 invariant", "bf16, fp8 keys and values", "nvfp4", "replicas"],
)
def test_a_stage_trains_experts(policy: Policy, changes: dict[str, Any], most: float, tmp_path: Path) -> None:
    result = run(grpo_loop(policy, config(**changes)), tmp_path / "grpo")
    differences = [row["mismatch/max"] for row in figures(result) if "mismatch/max" in row]
    assert differences
    assert max(differences) <= most
    assert all(row["memory/engine_keys_and_values"] > 0 for row in figures(result))
    saved = load_policy(tmp_path / "grpo" / "checkpoint")
    assert saved.model.shape.experts == EXPERTS
    assert saved.digest() == result.policy.digest() != policy.digest()
