"""A whole training run, from demonstrations to a policy gradient with adapters, on the device and on a processor."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from palaestra.benchmarks.gpu.figures import ContactFigure
from palaestra.benchmarks.gpu.scale import ContactScale
from palaestra.trainers import (
    ExpertConfig,
    GrpoConfig,
    LearnerConfig,
    ModelConfig,
    NativeConfig,
    PlayConfig,
    PolicyConfig,
    PoolConfig,
    SftConfig,
    StageConfig,
    Staleness,
    TrainConfig,
    WorldConfig,
    plan_run,
    read_progress,
    run,
)
from palaestra.trainers.learner import LoraConfig
from palaestra.trainers.progress import silent

_ALIKE = 2e-2
"""Maximum relative difference of losses that different orders of summation explain after a few optimiser steps."""
_COMPARED = 8
"""Number of compared steps."""
_WARM = 90
"""Number of steps after which some groups have unequal returns, from which a policy gradient can learn."""
_FAMILIES = ("cancel-order", "order-status")
_PLAY = PlayConfig(context=1024, turn=32, turns=6)
_ENGINE = NativeConfig(rows=16, capacity=16 * 2048, precision="auto")


def check_loop(device: torch.device, scale: ContactScale) -> Iterator[ContactFigure]:
    """Compare losses of imitation with those of a processor; then run every stage in the device's own precision."""
    del scale
    imitation = SftConfig(steps=_WARM, batch=8, warmup_steps=2, learner=LearnerConfig(lr=4e-3))
    with TemporaryDirectory(prefix="palaestra-gpu-") as folder:
        short = {"sft": replace(imitation, steps=_COMPARED)}
        here, compared = (
            _train(Path(folder) / f"short-{place}", place, short)["sft"] for place in ("cpu", str(device))
        )
        halves = replace(imitation, learner=LearnerConfig(lr=4e-3, precision="auto"))
        stages: dict[str, StageConfig] = {
            "sft": imitation,
            "expert": ExpertConfig(
                steps=1,
                updates=4,
                batch=8,
                limits=Staleness(per_step=4),
                learner=halves.learner,
                play=_PLAY,
                pool=PoolConfig(agents=16),
                engine=_ENGINE,
            ),
            "grpo": GrpoConfig(
                steps=2,
                group_size=8,
                limits=Staleness(per_step=4),
                learner=replace(halves.learner, layout="shared", lora=LoraConfig(rank=8)),
                play=_PLAY,
                pool=PoolConfig(agents=16),
                engine=_ENGINE,
            ),
        }
        there = _train(Path(folder) / "whole", str(device), stages)
    worst = max(abs(one - other) / abs(one) for one, other in zip(here, compared, strict=True))
    yield ContactFigure(name=f"imitation: loss against a processor's, {len(here)} steps, worst", value=worst,
                        unit="relative", at_most=_ALIKE)  # fmt: skip
    for stage, losses in there.items():
        yield ContactFigure(name=f"{stage}: steps with a finite loss", value=len(losses), unit="", at_least=1)


def _train(folder: Path, device: str, stages: Mapping[str, StageConfig]) -> dict[str, list[float]]:
    """Train the stages; return the losses of each."""
    settings = TrainConfig(
        device=device,
        world=(WorldConfig(families=_FAMILIES),),
        policy=PolicyConfig(model=ModelConfig(hidden=96, layers=2, heads=2, kv_heads=1, head_dim=64, mlp=256)),
        stages=dict(stages),
        trackers=("jsonl",),
    )
    run(plan_run(settings, bar=silent), folder, bar=silent, say=lambda _: None)
    found: dict[str, list[float]] = {}
    for stage in stages:
        rows: list[Any] = list(read_progress(folder / stage / "checkpoint").history)
        found[stage] = [float(row["loss"]) for row in rows if "loss" in row]
    return found
